"""What a real run takes, predicted by the simulator out of measured costs."""
