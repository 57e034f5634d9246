"""Many points of a scenario, each simulated under its policies, in one file that can be resumed."""
