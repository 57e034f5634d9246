"""The answer: which policy, with which settings, and how sure that is."""
