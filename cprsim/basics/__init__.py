"""Units, sections, laws of durations, files, tables, random streams: what everything rests on."""
