"""Policies in training loops of your own: decisions, without any training library."""
