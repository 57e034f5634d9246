"""Units, sections, files, tables, laws and streams of random numbers: what everything rests on."""
