"""From a log to a fitted, judged failure model and the block of a scenario that holds it."""
