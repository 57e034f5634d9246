"""What the engines gave before they were rebuilt, and a command that compares."""
