"""Speed, always as a ratio of two things measured in the same run: `make bench`."""
