"""Selection of the best candidate, and the certainty of it."""
