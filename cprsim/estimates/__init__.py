"""What can be said without a simulation: CPR's decision, and what priority saving loses."""
