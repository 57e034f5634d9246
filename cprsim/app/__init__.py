"""The what-if page: a scenario is moved in a browser, on this machine alone."""
