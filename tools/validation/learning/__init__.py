"""What lost learning is worth, measured on the lab's own model."""
