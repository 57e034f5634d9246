"""The price of lost learning, measured on the lab's model."""
