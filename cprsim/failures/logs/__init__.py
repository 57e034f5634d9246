"""Failure logs: read, and looked at as gaps, as a job sees them, or node by node."""
