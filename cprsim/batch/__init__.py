"""The compiled engine: plays plans run by run, compiled by Numba."""
