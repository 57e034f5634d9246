"""What pictures are put together of: styles, axes, keys, curves, lanes."""
