"""Fleets: many jobs, each with values of its own, under the same policies."""
