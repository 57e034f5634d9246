"""The job: its model, the cluster and store it runs on, what saves and loads take."""
