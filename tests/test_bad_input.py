"""What a user sees who got something wrong: exit code 2, a line a fault, nothing else, no files."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from cprsim import cli, runner

JOB = 'useful_time = "10 h"\n'
CLUSTER = "trainers = 4\nparameter_servers = 4\n"
COSTS = '[costs]\nsave = "1 min"\nload = "1 min"\nreschedule = "1 min"\n'
DELAY = 'reschedule = "1 min"'
LAW = 'distribution = "exponential"\nmean = "5 h"\n'
POLICY = 'system = "full"\n'
GOOD = f"""\
[job]
{JOB}
[cluster]
{CLUSTER}
{COSTS}
[failures]
{LAW}
[policies.full]
{POLICY}"""
TRACE = 'trace = "log.csv"\n'
DURATION_UNITS = "use one of ms s min h d"
RATE_UNITS = (
    "use one of B/s kB/s MB/s GB/s TB/s PB/s KiB/s MiB/s GiB/s TiB/s "
    "bit/s kbit/s Mbit/s Gbit/s Tbit/s"
)
LAWS = "'exponential', 'gamma', 'weibull', 'lognormal', 'deterministic', 'uniform' or 'empirical'"
FIRST_TIME = 'e.g. "28 h"'


def case(
    name: str,
    edits: Mapping[str, str],
    *errors: str,
    args: Sequence[str] = (),
    log: str | None = None,
):
    """`edits` turn the good scenario bad; `errors` are stderr's lines; `log` is put in log.csv."""
    return pytest.param(edits, errors, args, log, id=name)


QUANTITIES = [
    case(
        "unknown-unit",
        {'"10 h"': '"10 hours"'},
        f"job.useful_time: '10 hours' has an unknown unit 'hours' for a duration: {DURATION_UNITS}",
    ),
    case(
        "bytes-for-a-time",
        {'"5 h"': '"5 GB"'},
        f"failures.mean: '5 GB' has an unknown unit 'GB' for a duration: {DURATION_UNITS}",
    ),
    case(
        "bits-for-a-rate",
        {CLUSTER: CLUSTER + 'nic = "25 Gbit"\n'},
        f"cluster.nic: '25 Gbit' has an unknown unit 'Gbit' for a rate: {RATE_UNITS}",
    ),
    case(
        "lone-m",
        {'save = "1 min"': 'save = "1 m"'},
        """costs.save: '1 m': a lone "m" is ambiguous; write "1 min" for minutes""",
    ),
    case(
        "bare-number",
        {'"10 h"': "10"},
        'job.useful_time: 10 has no unit: write a string with one, e.g. "10 h"',
    ),
    case(
        "bare-number-in-a-string",
        {'"10 h"': '"10"'},
        """job.useful_time: '10' has no unit: write one, e.g. "10 h\"""",
    ),
    case(
        "words",
        {'"10 h"': '"a while"'},
        f"job.useful_time: 'a while' is not a duration: write a number and a unit, {FIRST_TIME}",
    ),
    case(
        "decimal-comma",
        {'"10 h"': '"1,5 h"'},
        f"job.useful_time: '1,5 h' is not a duration: write a number and a unit, {FIRST_TIME}",
    ),
    case(
        "empty-string",
        {'"10 h"': '""'},
        f"job.useful_time: '' is not a duration: write a number and a unit, {FIRST_TIME}",
    ),
    case(
        "list",
        {'"5 h"': '["5 h"]'},
        f"failures.mean: ['5 h'] is not a duration: write a string with a unit, {FIRST_TIME}",
    ),
    case(
        "nan",
        {'"5 h"': "nan"},
        f"failures.mean: nan is not a duration: write a finite one, {FIRST_TIME}",
    ),
    case(
        "inf",
        {'"5 h"': "inf"},
        f"failures.mean: inf is not a duration: write a finite one, {FIRST_TIME}",
    ),
    case(
        "too-large-for-a-float",
        {'"5 h"': '"1e400 s"'},
        f"failures.mean: '1e400 s' is not a duration: write a finite one, {FIRST_TIME}",
    ),
    case(
        "negative-cost",
        {'save = "1 min"': 'save = "-1 min"'},
        "costs.save: '-1 min' is out of range: it must be >= 0",
    ),
    case(
        "no-time-at-all",
        {'"10 h"': '"0 h"'},
        "job.useful_time: '0 h' is out of range: it must be > 0",
    ),
]

KEYS = [
    case(
        "unknown-key",
        {DELAY: 'rescheduling = "1 min"'},
        "costs.rescheduling: unknown key; did you mean 'reschedule'?",
    ),
    case(
        "misspelt-needed-key",
        {"useful_time": "usefull_time"},
        "job.useful_time: is missing",
        "job.usefull_time: unknown key; did you mean 'useful_time'?",
    ),
    case(
        "unknown-key-unlike-any",
        {CLUSTER: CLUSTER + "gpus = 8\n"},
        "cluster.gpus: unknown key; known: nic, parameter_servers, spares, trainers",
    ),
    case(
        "unknown-key-in-a-list-of-tables",
        {COSTS: COSTS + "[[model.tables]]\nrows = 5\ndim = 2\ndtyp = 'int8'\n"},
        "model.tables.0.dtyp: unknown key; did you mean 'dtype'?",
    ),
    case(
        "unknown-key-in-weights",
        {LAW: LAW + "hits = { weights = { weight = 2 } }\n"},
        "failures.hits.weights.weight: unknown key; known: parameter_servers, trainers",
    ),
    case(
        "misspelt-section",
        {"[cluster]": "[clusters]"},
        "clusters: unknown key; did you mean 'cluster'?",
        "cluster: the table [cluster] is missing",
    ),
    case(
        "missing-section",
        {f"[failures]\n{LAW}": ""},
        "failures: the table [failures] is missing",
    ),
    case("empty-section", {JOB: ""}, "job.useful_time: is missing"),
    case(
        "section-that-is-a-value",
        {f"[cluster]\n{CLUSTER}": "", "[job]": "cluster = 4\n[job]"},
        "cluster: 4 is not a table; write [cluster]",
    ),
    case("title-that-is-a-number", {"[job]": "title = 3\n[job]"}, "title: 3 is not a string"),
    case(
        "half-a-server",
        {"parameter_servers = 4": "parameter_servers = 4.5"},
        "cluster.parameter_servers: 4.5 is not a whole number",
    ),
    case(
        "no-server",
        {"parameter_servers = 4": "parameter_servers = 0"},
        "cluster.parameter_servers: 0 is out of range: it must be >= 1",
    ),
    case(
        "more-servers-than-integers",
        {"parameter_servers = 4": "parameter_servers = 100_000_000_000_000_000_000"},
        "cluster.parameter_servers: 100000000000000000000 is out of range: it must be <= 1e+06",
    ),
    case(
        "a-number-in-a-string",
        {"parameter_servers = 4": 'parameter_servers = "4"'},
        "cluster.parameter_servers: '4' is not a whole number",
    ),
    case(
        "neither-true-nor-false",
        {JOB: JOB + 'final_save = "maybe"\n'},
        "job.final_save: 'maybe' is not true or false",
    ),
    case(
        "a-word-for-true",
        {JOB: JOB + 'final_save = "yes"\n'},
        "job.final_save: 'yes' is not true or false",
    ),
]

POLICIES = [
    case(
        "misspelt-system",
        {'"full"': '"ful"'},
        "policies.full.system: unknown system 'ful'; did you mean 'full'?",
    ),
    case(
        "no-system",
        {POLICY: 'interval = "1 h"\n'},
        'policies.full.system: is missing; write e.g. system = "full"',
    ),
    case(
        "system-that-is-a-number",
        {POLICY: "system = 3\n"},
        """policies.full.system: 3 is not a string; write e.g. system = "full\"""",
    ),
    case(
        "policy-that-is-a-value",
        {f"[policies.full]\n{POLICY}": '[policies]\nfull = "full"\n'},
        "policies.full: 'full' is not a table; write [policies.full]",
    ),
    case(
        "no-policies",
        {f"[policies.full]\n{POLICY}": ""},
        'policies: there are none; write e.g. [policies.full] with system = "full"',
    ),
    case(
        "misspelt-policies",
        {"[policies.full]": "[policy.full]"},
        "policy: unknown key; did you mean 'policies'?",
        'policies: there are none; write e.g. [policies.full] with system = "full"',
    ),
    case(
        "key-of-another-system",
        {POLICY: POLICY + "target_pls = 0.1\n"},
        "policies.full.target_pls: unknown key; known: interval, system",
    ),
    case(
        "negative-interval",
        {POLICY: POLICY + 'interval = "-5 min"\n'},
        "policies.full.interval: '-5 min' is out of range: an interval must be > 0",
    ),
    case(
        "zero-interval",
        {POLICY: POLICY + 'interval = "0 s"\n'},
        "policies.full.interval: '0 s' is out of range: an interval must be > 0",
    ),
    case(
        "interval-without-a-unit",
        {POLICY: POLICY + "interval = 45\n"},
        'policies.full.interval: 45 has no unit: write a string with one, e.g. "45 h"; '
        "or 'optimal' or 'exact'",
    ),
    case(
        "misspelt-rule-for-an-interval",
        {POLICY: POLICY + 'interval = "optimum"\n'},
        "policies.full.interval: 'optimum' is not a duration: write a number and a unit, "
        f"{FIRST_TIME}; or 'optimal' or 'exact'",
    ),
    case(
        "more-copies-than-servers",
        {POLICY: 'system = "replication"\ncopies = 5\n'},
        "policies.full: copies = 5 is more than the 4 parameter servers; "
        "each copy of a shard needs a server of its own",
    ),
    case(
        "copies-that-are-true",
        {POLICY: 'system = "replication"\ncopies = true\n'},
        "policies.full.copies: True is not a whole number",
    ),
    case(
        "target-of-nothing",
        {POLICY: 'system = "cpr-vanilla"\ntarget_pls = 0\n'},
        "policies.full.target_pls: 0 is out of range: it must be > 0",
    ),
    case(
        "target-in-percent",
        {POLICY: 'system = "cpr-vanilla"\ntarget_pls = "10%"\n'},
        "policies.full.target_pls: '10%' is not a number",
    ),
    case(
        "free-snapshots-of-free-saves",
        {POLICY: 'system = "async"\n', 'save = "1 min"': 'save = "0 s"'},
        "policies.full: neither the snapshot nor the save takes any time, so no interval is "
        'optimal; give one, e.g. interval = "10 min"',
    ),
    case(
        "free-saves",
        {'save = "1 min"': 'save = "0 s"'},
        "policies.full: the save takes no time, so no interval is optimal; "
        'give one, e.g. interval = "10 min"',
    ),
    case(
        "saves-of-nothing",
        {COSTS: '[model]\nembedding = "0 B"\n[storage]\nwrite = "1 GB/s"\nread = "1 GB/s"\n'},
        "policies.full: the save takes no time, so no interval is optimal; "
        'give one, e.g. interval = "10 min"',
    ),
    case(
        "free-saves-under-cpr",
        {POLICY: 'system = "cpr-vanilla"\n', 'save = "1 min"': 'save = "0 s"'},
        "policies.full: the save takes no time, so no interval is optimal; "
        'give one, e.g. interval = "10 min"',
    ),
]

FAILURES = [
    case(
        "no-source",
        {LAW: ""},
        "failures: give one of distribution, exactly, trace; found none",
    ),
    case(
        "two-sources",
        {LAW: LAW + "exactly = 2\n"},
        "failures: give one of distribution, exactly, trace; found distribution and exactly",
    ),
    case(
        "zero-mtbf",
        {'"5 h"': '"0 h"'},
        "failures.mean: '0 h' is out of range: it must be > 0",
    ),
    case(
        "unknown-distribution",
        {"exponential": "weibul"},
        f"failures.distribution: 'weibul' is not one of {LAWS}",
    ),
    case(
        "no-shape",
        {"exponential": "gamma"},
        "failures: distribution 'gamma' needs 'shape': e.g. shape = 0.675",
    ),
    case(
        "shape-0",
        {"exponential": "gamma", LAW.split("\n")[1]: 'mean = "5 h"\nshape = 0'},
        "failures.shape: 0 is out of range: it must be > 0",
    ),
    case(
        "shape-nan",
        {"exponential": "weibull", LAW.split("\n")[1]: 'mean = "5 h"\nshape = nan'},
        "failures.shape: nan is not a finite number",
    ),
    case(
        "shape-inf",
        {"exponential": "weibull", LAW.split("\n")[1]: 'mean = "5 h"\nshape = inf'},
        "failures.shape: inf is not a finite number",
    ),
    case(
        "shape-of-a-law-without",
        {LAW: LAW + "shape = 1\n"},
        "failures: distribution 'exponential' takes no 'shape'; leave it out",
    ),
    case(
        "mean-beside-a-number",
        {LAW: 'exactly = 2\nmean = "5 h"\n'},
        "failures: 'mean' goes with distribution, not with exactly; leave it out",
    ),
    case(
        "fewer-failures-than-none",
        {LAW: "exactly = -1\n"},
        "failures.exactly: -1 is out of range: it must be >= 0",
    ),
    case(
        "no-durations",
        {LAW: 'distribution = "empirical"\ndurations = []\n'},
        'failures.durations: is empty; write e.g. durations = ["3 h", "17 h"]',
    ),
    case(
        "durations-that-are-one",
        {LAW: 'distribution = "empirical"\ndurations = "3 h"\n'},
        "failures.durations: '3 h' is not a list",
    ),
    case(
        "more-servers-hit-than-there-are",
        {LAW: LAW + "hits = { parameter_servers = 5 }\n"},
        "failures.hits.parameter_servers: 5 is more than cluster.parameter_servers = 4; "
        "a failure can hit 4 at most",
    ),
    case(
        "nobody-hit",
        {LAW: LAW + "hits = { parameter_servers = 0 }\n"},
        "failures.hits: a failure that hits no node is none; hit at least one",
    ),
    case(
        "more-than-all-hit",
        {LAW: LAW + 'hits = { parameter_servers = "120%" }\n'},
        "failures.hits.parameter_servers: '120%' is not a share: "
        'write a percentage from 0% to 100%, e.g. "25%"',
    ),
    case(
        "a-server-and-a-half-hit",
        {LAW: LAW + "hits = { parameter_servers = 1.5 }\n"},
        "failures.hits.parameter_servers: 1.5 is neither a number of nodes (>= 0) "
        'nor a share such as "25%"',
    ),
    case(
        "weights-of-nothing",
        {LAW: LAW + "hits = { weights = { trainers = 0 } }\n"},
        "failures.hits.weights: at least one must be > 0",
    ),
    case(
        "failures-per-rack",
        {LAW: LAW + 'per = "rack"\n'},
        "failures.per: 'rack' is not one of 'job' or 'node'",
    ),
    case(
        "hits-per-node",
        {LAW: LAW + 'per = "node"\nhits = { parameter_servers = 2 }\n'},
        "failures: 'hits' does not go with per = 'node', which says itself which nodes fail; "
        "leave it out",
    ),
    case(
        "window-without-a-log",
        {LAW: LAW + 'window = "0.5:1"\n'},
        "failures: 'window' goes with trace; leave it out",
    ),
    case(
        "reader-without-a-log",
        {LAW: LAW + 'reader = "lanl"\n'},
        "failures: 'reader' goes with trace; leave it out",
    ),
]

LOGS = [
    case(
        "missing-log",
        {LAW: TRACE},
        "failures.trace: {folder}/log.csv: no such file",
    ),
    case(
        "empty-log",
        {LAW: TRACE},
        "failures.trace: {folder}/log.csv: holds no failure",
        log="",
    ),
    case(
        "log-of-a-header",
        {LAW: TRACE},
        "failures.trace: {folder}/log.csv: holds no failure",
        log="time_s,node\n",
    ),
    case(
        "log-out-of-order",
        {LAW: TRACE},
        "failures.trace: {folder}/log.csv:3: time_s 3.0 comes after 5.0; sort the log by time_s",
        log="time_s,node\n5,0\n3,1\n",
    ),
    case(
        "log-without-its-columns",
        {LAW: TRACE},
        "failures.trace: {folder}/log.csv:1: has no column time_s; the header is 'when,node'",
        log="when,node\n5,0\n",
    ),
    case(
        "log-of-a-server-that-is-not-there",
        {LAW: TRACE},
        "failures.trace: {folder}/log.csv: names parameter server 4, but the cluster has 4 "
        "(0 to 3)",
        log="time_s,node,kind\n5,4,ps\n",
    ),
    case(
        "log-of-a-node-that-is-not-there",
        {LAW: TRACE},
        "failures.trace: {folder}/log.csv: names node 8, but the cluster has 8 (0 to 7)",
        log="time_s,node\n5,7\n6,8\n",
    ),
    case(
        "log-of-one-instant",
        {LAW: TRACE},
        "failures.trace: {folder}/log.csv: its failures all strike at second 0; "
        "a mean time between failures needs a later one",
        log="time_s,node\n0,1\n",
    ),
    case(
        "lanl-without-its-system",
        {LAW: TRACE + 'reader = "lanl"\n'},
        "failures: reader 'lanl' needs 'system': the LANL system number, e.g. 20",
        log="",
    ),
    case(
        "lanl-without-that-system",
        {LAW: TRACE + 'reader = "lanl"\nsystem = 20\n'},
        "failures.trace: {folder}/log.csv: has no failures of system 20; it has 7",
        log="System,nodes,nodenumz,Prob Started\n7,9,0,9/26/2003 16:40\n",
    ),
    case(
        "lanl-system-that-is-too-small",
        {LAW: TRACE + 'reader = "lanl"\nsystem = 7\n'},
        "failures.system: system 7 has 5 nodes, the job needs 8; "
        "choose a larger system or a smaller cluster",
        log="System,nodes,nodenumz,Prob Started\n7,5,0,9/26/2003 16:40\n7,5,0,9/27/2003 16:40\n",
    ),
    case(
        "system-of-a-plain-log",
        {LAW: TRACE + "system = 20\n"},
        "failures: 'system' goes with reader = 'lanl'; leave it out",
        log="time_s,node\n5,0\n",
    ),
    case(
        "unknown-reader",
        {LAW: TRACE + 'reader = "fta"\n'},
        "failures.reader: 'fta' is not one of 'csv' or 'lanl'",
        log="",
    ),
    case(
        "window-the-wrong-way-round",
        {LAW: TRACE + 'window = "1:0.5"\n'},
        "failures.window: '1:0.5' is not a window: write two shares of the log, e.g. \"0.5:1\"",
        log="time_s,node\n5,0\n",
    ),
    case(
        "hits-beside-a-log",
        {LAW: TRACE + "hits = { parameter_servers = 2 }\n"},
        "failures: 'hits' does not go with a trace, which says itself which nodes fail; "
        "leave it out",
        log="time_s,node\n5,0\n",
    ),
]

MODEL_AND_COSTS = [
    case(
        "costs-neither-measured-nor-derivable",
        {COSTS: ""},
        "costs.save: is missing and can't be derived without [model]; "
        'write e.g. save = "2 min", or give [model] and [storage]',
        "costs.load: is missing and can't be derived without [model]; "
        'write e.g. load = "2 min", or give [model] and [storage]',
    ),
    case(
        "costs-not-derivable-without-a-store",
        {COSTS: '[model]\nembedding = "1 GB"\n[costs]\nsave = "1 min"\n'},
        "costs.load: is missing and can't be derived without [storage]; "
        'write e.g. load = "2 min", or give [model] and [storage]',
    ),
    case(
        "negative-delay",
        {DELAY: 'reschedule = "-1 min"'},
        "costs.reschedule: '-1 min' is out of range: it must be >= 0",
    ),
    case(
        "delay-with-a-wrong-key",
        {DELAY: 'reschedule = { distribution = "lognormal", mean = "1 min", cvv = 1.5 }'},
        "costs.reschedule.cvv: unknown key; did you mean 'cv'?",
    ),
    case(
        "delay-with-two-faults",
        {DELAY: 'reschedule = { distribution = "gamma", mean = "1 m", shape = 0 }'},
        """costs.reschedule.mean: '1 m': a lone "m" is ambiguous; write "1 min" for minutes""",
        "costs.reschedule.shape: 0 is out of range: it must be > 0",
    ),
    case(
        "delay-without-its-spread",
        {DELAY: 'reschedule = { distribution = "lognormal", mean = "1 min" }'},
        "costs.reschedule: distribution 'lognormal' needs 'cv': "
        "standard deviation / mean, e.g. cv = 1.5",
    ),
    case(
        "model-by-two-sizes",
        {COSTS: COSTS + '[model]\nembedding = "1 GB"\npreset = "criteo-kaggle"\n'},
        "model: give one of preset, tables, embedding; found preset and embedding",
    ),
    case(
        "model-of-no-tables",
        {COSTS: COSTS + "[model]\ntables = []\n"},
        "model.tables: is empty; give each table, e.g. [[model.tables]] with rows and dim",
    ),
    case(
        "model-without-a-size",
        {COSTS: COSTS + '[model]\ndense = "1 MB"\n'},
        "model: give one of preset, tables, embedding; found none",
    ),
    case(
        "unknown-preset",
        {COSTS: COSTS + '[model]\npreset = "kaggle"\n'},
        "model.preset: 'kaggle' is not one of 'criteo-kaggle' or 'criteo-terabyte'",
    ),
    case(
        "traffic-beyond-the-cards",
        {JOB: JOB + 'network = "5 GB/s"\n', CLUSTER: CLUSTER + 'nic = "1.2 GB/s"\n'},
        "job.network: 5 GB/s over 4 parameter_servers is more than cluster.nic = 1.2 GB/s "
        "each; useful_time is at full speed, so the demand must fit",
        "job.network: 5 GB/s over 4 trainers is more than cluster.nic = 1.2 GB/s "
        "each; useful_time is at full speed, so the demand must fit",
    ),
    case(
        "several-faults",
        {'"10 h"': "10", '"5 h"': '"0 h"', '"full"': '"fulll"', "save =": "sav ="},
        'job.useful_time: 10 has no unit: write a string with one, e.g. "10 h"',
        "costs.sav: unknown key; did you mean 'save'?",
        "failures.mean: '0 h' is out of range: it must be > 0",
        "policies.full.system: unknown system 'fulll'; did you mean 'full'?",
    ),
]

COMMANDS = [
    case(
        "unknown-policy",
        {},
        "policy 'ful': the scenario has none of that name; did you mean 'full'?",
        args=["--policy", "ful", "--policy", "full"],
    ),
    case(
        "set-without-a-value",
        {},
        """--set 'failures.mean': write KEY=VALUE, e.g. failures.mean="14 h\"""",
        args=["--set", "failures.mean"],
    ),
    case(
        "set-through-a-value",
        {},
        "--set 'failures.mean.x=3': 'mean' is a value, not a table",
        args=["--set", "failures.mean.x=3"],
    ),
    case(
        "set-without-a-unit",
        {},
        'failures.mean: 14 has no unit: write a string with one, e.g. "14 h"',
        args=["--set", "failures.mean=14"],
    ),
    case(
        "set-in-a-misspelt-section",
        {},
        "failure: unknown key; did you mean 'failures'?",
        args=["--set", "failure.mean=14 h"],
    ),
    case(
        "set-of-two-lines",
        {},
        """--set 'failures.mean="14 h"\\nx=1': write KEY=VALUE, e.g. failures.mean="14 h\"""",
        args=["--set", 'failures.mean="14 h"\nx=1'],
    ),
    case(
        "no-replications",
        {},
        "replications 0 is not a whole number >= 1",
        args=["--replications", "0"],
    ),
    case("negative-seed", {}, "seed -1 is not a whole number >= 0", args=["--seed", "-1"]),
    case("no-workers", {}, "workers 0 is not a whole number >= 1", args=["--workers", "0"]),
    case(
        "unknown-engine",
        {},
        "engine 'simpy' is not one of auto, sim",
        args=["--engine", "simpy"],
    ),
    case(
        "out-is-a-file",
        {},
        "--out job.toml: job.toml is a file, not a folder",
        args=["--out", "job.toml"],
    ),
    case(
        "out-is-below-a-file",
        {},
        "--out job.toml/a/b: job.toml is a file, not a folder",
        args=["--out", "job.toml/a/b"],
    ),
    case(
        "out-has-too-long-a-name",
        {},
        f"--out {'x' * 300}: File name too long",
        args=["--out", "x" * 300],
    ),
]

ALL = [*QUANTITIES, *KEYS, *POLICIES, *FAILURES, *LOGS, *MODEL_AND_COSTS, *COMMANDS]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder to work in, so that files have bare names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def nothing_runs(monkeypatch) -> None:
    """Whatever is wrong is found before the first second is simulated."""

    def simulate(*_args: object) -> None:
        raise AssertionError("bad input was simulated")

    monkeypatch.setattr(runner, "simulate", simulate)


def write(edits: Mapping[str, str], log: str | None) -> str:
    text = GOOD
    for old, new in edits.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    Path("job.toml").write_text(text, encoding="utf-8")
    if log is not None:
        Path("log.csv").write_text(log, encoding="utf-8")
    return str(Path("job.toml").absolute())


def command(file: str, *args: str) -> list[str]:
    # What comes later wins, so that a case may give its own --out or --replications.
    return ["run", file, "--replications", "2", "--out", "result", *args]


def stderr_of(errors: Sequence[str], folder: Path) -> str:
    return "".join(f"cprsim: {line}\n" for line in errors).replace("{folder}", str(folder))


def run_in_a_process(arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "cprsim.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"PYTHONWARNINGS": "default"},
    )


def test_the_scenario_that_the_cases_break_is_sound(folder, capsys):
    # Without --out, which would need the picture.
    assert cli._main(["run", write({}, None), "--replications", "2", "--json"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("edits", "errors", "args", "log"), ALL)
def test_bad_input_is_told_in_a_line_a_fault(
    folder, nothing_runs, capsys, edits, errors, args, log
):
    file = write(edits, log)
    before = sorted(folder.iterdir())

    code = cli._main(command(file, *args))

    out, err = capsys.readouterr()
    assert err == stderr_of(errors, folder)
    assert out == ""
    assert code == 2
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("edits", "errors", "args", "log"),
    [param for param in ALL if param.id in ("several-faults", "log-out-of-order", "no-workers")],
)
def test_a_process_of_its_own_tells_the_same(folder, edits, errors, args, log):
    file = write(edits, log)
    before = sorted(folder.iterdir())

    done = run_in_a_process(command(file, *args))

    assert done.stderr == stderr_of(errors, folder)
    assert done.stdout == ""
    assert done.returncode == 2
    assert sorted(folder.iterdir()) == before


# The scenario file itself


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (
            b"",
            "job: the table [job] is missing\n"
            "cluster: the table [cluster] is missing\n"
            "failures: the table [failures] is missing\n"
            'policies: there are none; write e.g. [policies.full] with system = "full"',
        ),
        (
            GOOD.replace("trainers = 4", "trainers 4").encode(),
            "job.toml: is not TOML: "
            "Expected '=' after a key in a key/value pair (at line 5, column 10)",
        ),
        (b"title = '\xff'", "job.toml: can't be read: is not UTF-8 text"),
    ],
    ids=["empty", "not-toml", "not-utf-8"],
)
@pytest.mark.parametrize("name", ["run", "advise"])
def test_a_file_that_is_no_scenario_is_told_by_its_name(folder, capsys, name, content, error):
    Path("job.toml").write_bytes(content)

    assert cli._main([name, "job.toml"]) == 2
    assert capsys.readouterr() == ("", stderr_of(error.splitlines(), folder))


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("nowhere.toml", "nowhere.toml: no such file"),
        ("no/where.toml", "no/where.toml: no such file"),
        (".", ".: can't be read: Is a directory"),
    ],
)
@pytest.mark.parametrize("name", ["run", "advise"])
def test_a_file_that_can_not_be_read_is_told_by_its_name(folder, capsys, name, path, error):
    assert cli._main([name, path]) == 2
    assert capsys.readouterr() == ("", f"cprsim: {error}\n")


def test_a_byte_order_mark_does_no_harm(folder, capsys):
    Path("job.toml").write_text(GOOD, encoding="utf-8-sig")

    assert cli._main(["run", "job.toml", "--replications", "1"]) == 0


# The command line itself


@pytest.mark.parametrize(
    ("arguments", "start"),
    [  # The words are typer's and change with it: only what they must name is held.
        (["run"], "Missing argument 'SCENARIO'"),
        (["advise"], "Missing argument 'SCENARIO'"),
        (["rum"], "No such command 'rum'"),
        (["run", "a.toml", "--replication", "3"], "No such option"),
        (["run", "a.toml", "--replications", "many"], "Invalid value for '--replications'"),
        (["run", "a.toml", "--seed", "1.5"], "Invalid value for '--seed'"),
        (["run", "a.toml", "--out"], "Option '--out' requires an argument"),
        (["run", "a.toml", "b.toml"], "Got unexpected extra argument"),
    ],
)
def test_a_command_that_can_not_be_read_is_told_in_one_line(folder, capsys, arguments, start):
    assert cli._main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"cprsim: {start}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("target", ["0", "-0.1", "nan", "inf"])
def test_advice_for_a_target_that_is_none_is_an_error(folder, capsys, target):
    assert cli._main(["advise", write({}, None), "--target-pls", target]) == 2
    assert capsys.readouterr() == (
        "",
        f"cprsim: target PLS {target} is out of range: "
        "it is a share, > 0 and <= 1, e.g. 0.1 for 10 %\n",
    )
