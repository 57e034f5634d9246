"""The SimPy cluster: one training job, its network and store, its failures, second by second."""
