"""What users write and read, told by the code itself: keys of scenarios."""
