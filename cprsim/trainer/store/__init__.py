"""Checkpoints on disk: files that are whole or not at all, and stores of them."""
