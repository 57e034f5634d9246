"""The interpreter that plays plans compiled, run by run."""
