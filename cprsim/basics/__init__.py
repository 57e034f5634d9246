"""Units, sections, laws of durations, files, tables and streams of random numbers: what everything rests on."""
