"""One file for each page of docs/ that is computed, and those for parts of several pages."""
