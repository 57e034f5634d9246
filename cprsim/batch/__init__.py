"""The interpreter that plays a plan for many replications at once, in NumPy."""
