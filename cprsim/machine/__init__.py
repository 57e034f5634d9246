"""The job as one state machine in plain functions, driven by SimPy or compiled by Numba."""
