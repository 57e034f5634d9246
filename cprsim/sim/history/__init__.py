"""One run, phase by phase: what the job and its nodes did when."""
