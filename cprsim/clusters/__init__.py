"""Clusters: jobs that share a store, a network core, spare machines and the nodes themselves.

A job is the state machine that `cprsim run` plays; rules of one job are in `cprsim.machine`
alone. What jobs share is here: links (`links`), nodes and spare machines
(`scheduler`), failures of racks and pods (`domains`). docs/clusters.md has the model.
"""
