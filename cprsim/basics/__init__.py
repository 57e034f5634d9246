"""Units, sections, files, tables and streams of random numbers: what everything rests on."""
