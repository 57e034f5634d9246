"""What a job does: one state machine in plain functions, for SimPy and for the compiler."""
