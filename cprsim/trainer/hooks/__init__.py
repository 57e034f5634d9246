"""Saves and recoveries for a training loop of the user's own."""
