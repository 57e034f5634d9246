"""The SimPy simulator: one training job, its links and store, its failures, event by event."""
