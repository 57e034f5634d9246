"""Keys of scenarios, documented by the code itself."""
