"""Published figures of each system with those of its runs: `rows()` of each module."""
