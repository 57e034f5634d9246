"""Replications: which engine plays them, in which processes, and what comes of them."""
