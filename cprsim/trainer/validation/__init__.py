"""The comparison of what a real run takes, predicted by the simulator out of measured costs."""
