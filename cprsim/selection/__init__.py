"""Which candidate is best, and how sure that is: the one place that says so."""
