"""A study of a second, in a file that needs no torch."""

SMALL = """
title = "a small one"
[job]
useful_time = "0.4 s"
samples = 2560
[model]
tables = [{ rows = 300, dim = 8 }, { rows = 100, dim = 8 }]
[cluster]
trainers = 1
parameter_servers = 2
[costs]
save = "1 ms"
load = "1 ms"
[failures]
exactly = 1
[trainer]
batch = 64
test_samples = 256
answer = "60 s"
work = "2 min"
[study]
seeds = 2
[study.parts.it]
policies = ["full", "cpr-vanilla"]
failures = [3]
[policies.full]
system = "full"
interval = "70 ms"
[policies.cpr-vanilla]
system = "cpr-vanilla"
interval = "200 ms"
"""
