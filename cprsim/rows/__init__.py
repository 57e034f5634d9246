"""Embedding tables down to the row: how often each is accessed, and which are saved first."""
