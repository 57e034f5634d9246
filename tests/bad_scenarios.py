"""Scenarios that are wrong, each as an edit of a good one, with what a user is told."""

from collections.abc import Mapping, Sequence

import pytest

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
_ENDS = "from 1e-15 to 1e+24"
#: Numbers with which floats can't compute: key, value, edit, message.
OUT_OF_RANGE = [
    ("read", "1e-320 B/s", {COSTS: COSTS + '[storage]\nread = "1e-320 B/s"\n'},
     f"storage.read: '1e-320 B/s' is out of range: write a rate {_ENDS} B/s, e.g. \"1.5 GB/s\""),
    ("nic", "1e25 B/s", {CLUSTER: CLUSTER + 'nic = "1e25 B/s"\n'},
     f"cluster.nic: '1e25 B/s' is out of range: write a rate {_ENDS} B/s, e.g. \"1.5 GB/s\""),
    ("load", "1e-300 ms", {'load = "1 min"': 'load = "1e-300 ms"'},
     f"costs.load: '1e-300 ms' is out of range: write a duration {_ENDS} s, {FIRST_TIME}"),
    ("durations", "1e30 d", {LAW: 'distribution = "empirical"\ndurations = ["1 h", "1e30 d"]\n'},
     f"failures.durations.1: '1e30 d' is out of range: write a duration {_ENDS} s, {FIRST_TIME}"),
    ("shape", "5e-324", {LAW: 'distribution = "gamma"\nmean = "5 h"\nshape = 5e-324\n'},
     f"failures.shape: 5e-324 is out of range: write a number {_ENDS}"),
    ("cv", "1e300", {LAW: 'distribution = "lognormal"\nmean = "5 h"\ncv = 1e300\n'},
     f"failures.cv: 1e+300 is out of range: write a number {_ENDS}"),
    ("shape", "0.001", {LAW: 'distribution = "weibull"\nmean = "5 h"\nshape = 0.001\n'},
     "failures: shape = 0.001 is out of range for weibull: write one nearer to 1"),
    ("weights", "5e-324", {LAW: LAW + "hits = { weights = { trainers = 5e-324 } }\n"},
     f"failures.hits.weights.trainers: 5e-324 is out of range: write a number {_ENDS}"),
    ("target_pls", "1e-320", {POLICY: 'system = "cpr-vanilla"\ntarget_pls = 1e-320\n'},
     f"policies.full.target_pls: 1e-320 is out of range: write a number {_ENDS}"),
    ("price", "1e300", {COSTS: COSTS + '[prices]\ntrainer = "1e300 USD/h"\n'},
     "prices.trainer: '1e300 USD/h' is out of range: write a price per time of at most 1e+24"),
]  # fmt: skip


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
        {'"10 h"': '"10 weeks"'},
        f"job.useful_time: '10 weeks' has an unknown unit 'weeks' for a duration: {DURATION_UNITS}",
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
    *(
        case(f"out-of-range-{key}-{text}", changes, message)
        for key, text, changes, message in OUT_OF_RANGE
    ),
    case(
        "more-spares-than-nodes",
        {CLUSTER: CLUSTER + "spares = 9\n"},
        "cluster.spares: 9 is more than the 8 nodes of the job; one for each is the most that can "
        "be of use",
    ),
    case(
        "saves-without-end",
        {POLICY: POLICY + 'interval = "1 ms"\n'},
        "policies.full: a save every 1 ms makes 3.6e+07 of them in the job; give an interval "
        "that makes at most 10,000,000",
    ),
    case(
        "a-save-that-nothing-prices",
        {
            COSTS: "",
            POLICY: 'system = "peer-memory"\niteration = "1 s"\n',
            CLUSTER: CLUSTER + 'nic = "1 GB/s"\n[model]\nembedding = "1 GB"\n',
        },
        "costs.save: is missing and can't be derived without [storage]; write e.g. save = "
        '"2 min", or give [model] and [storage]',
        "costs.load: is missing and can't be derived without [storage]; write e.g. load = "
        '"2 min", or give [model] and [storage]',
    ),
    case(
        "saves-that-always-fail",
        {CLUSTER: CLUSTER + "[storage]\nsave_fails = 1\n"},
        "storage.save_fails: 1 is out of range: it must be < 1",
    ),
    case(
        "loads-that-fail-in-percent",
        {CLUSTER: CLUSTER + '[storage]\nload_fails = "five%"\n'},
        "storage.load_fails: 'five%' is not a number",
    ),
    case(
        "a-store-that-is-only-written",
        {CLUSTER: CLUSTER + '[storage]\nwrite = "1 GB/s"\nsave_fails = 0.1\n'},
        "storage.read: is missing",
    ),
    case(
        "a-store-of-which-nothing-is-said",
        {CLUSTER: CLUSTER + "[storage]\n"},
        "storage.write: is missing",
        "storage.read: is missing",
    ),
    case(
        "a-store-that-has-no-bandwidth",
        {COSTS: '[model]\nembedding = "1 GB"\n[storage]\nsave_fails = 0.1\n'},
        "costs.save: is missing and can't be derived without storage.write and storage.read; "
        'write e.g. save = "2 min", or give [model] and [storage]',
        "costs.load: is missing and can't be derived without storage.write and storage.read; "
        'write e.g. load = "2 min", or give [model] and [storage]',
    ),
    case(
        "everything-is-torn",
        {CLUSTER: CLUSTER + "[storage]\ntorn = 1.0\n"},
        "storage.torn: 1.0 is out of range: it must be < 1",
    ),
    case(
        "a-verification-of-no-save",
        {POLICY: POLICY + "verify_every = 0\n"},
        "policies.full.verify_every: 0 is out of range: it must be >= 1",
    ),
    case(
        "a-verification-of-half-a-save",
        {POLICY: POLICY + "verify_every = 1.5\n"},
        "policies.full.verify_every: 1.5 is not a whole number",
    ),
    case(
        "verified-checkpoints-that-are-not-kept",
        {POLICY: POLICY + "verify_every = 11\n"},
        "policies.full: keep = 10 keeps no checkpoint that was verified with verify_every = 11; "
        "give at least that many to keep, or verify more often",
    ),
    case(
        "no-checkpoint-is-kept",
        {POLICY: POLICY + "keep = 0\n"},
        "policies.full.keep: 0 is out of range: it must be >= 1",
    ),
    case(
        "a-checksum-that-is-no-yes-or-no",
        {POLICY: POLICY + 'checksum = "crc32"\n'},
        "policies.full.checksum: 'crc32' is not true or false",
    ),
    case(
        "a-verification-in-bytes",
        {COSTS: COSTS + 'verify = "2 GB"\n'},
        f"costs.verify: '2 GB' has an unknown unit 'GB' for a duration: {DURATION_UNITS}",
    ),
    case(
        "a-checksum-of-less-than-no-time",
        {COSTS: COSTS + 'checksum = "-1 s"\n'},
        "costs.checksum: '-1 s' is out of range: it must be >= 0",
    ),
    case(
        "a-warm-up-at-no-rate",
        {COSTS: COSTS + 'start = { warmup = "5 min" }\n'},
        "costs.start: 'warmup' and 'warmup_rate' go together; give both, or neither",
    ),
    case(
        "a-warm-cache-of-nothing",
        {COSTS: COSTS + 'start = { compile_warm = "1 min" }\n'},
        "costs.start: 'compile_warm' goes with compile, what it takes without a cache",
    ),
    case(
        "a-warm-cache-that-is-slower-than-none",
        {COSTS: COSTS + 'start = { compile = "1 min", compile_warm = "1 h" }\n'},
        "costs.start: 'compile_warm' = 1 h is longer than 'compile' = 1 min, which has no cache to "
        "read; give at most that",
    ),
    case(
        "a-cache-that-nobody-has",
        {COSTS: COSTS + 'start = { cache = "node" }\n'},
        "costs.start: 'cache' goes with compile_warm; leave it out",
    ),
    case(
        "a-warm-up-that-trains-nothing",
        {COSTS: COSTS + 'start = { warmup = "5 min", warmup_rate = 0 }\n'},
        "costs.start.warmup_rate: 0 is out of range: it must be > 0",
    ),
    case(
        "a-start-without-a-unit",
        {COSTS: COSTS + "start = { initialise = 5 }\n"},
        'costs.start.initialise: 5 has no unit: write a string with one, e.g. "5 h"',
    ),
    case(
        "a-cache-in-an-unknown-place",
        {COSTS: COSTS + 'start = { compile = "1 h", cache = "disk" }\n'},
        "costs.start.cache: 'disk' is not one of 'store' or 'node'",
    ),
    case(
        "an-end-before-the-end",
        {COSTS: COSTS + 'shutdown = "-1 s"\n'},
        "costs.shutdown: '-1 s' is out of range: it must be >= 0",
    ),
    case(
        "a-notice-that-is-slept-through",
        {POLICY: POLICY + 'on_notice = "sleep"\n'},
        "policies.full.on_notice: 'sleep' is not one of 'save' or 'drain'",
    ),
    case(
        "a-notice-of-what-is-mirrored",
        {POLICY: 'system = "peer-memory"\niteration = "1 s"\non_notice = "save"\n'},
        "policies.full: on_notice = 'save' saves everything, but every step is mirrored; leave it "
        "out",
    ),
    case(
        "a-notice-of-what-has-copies",
        {POLICY: 'system = "replication"\non_notice = "drain"\n'},
        "policies.full: on_notice = 'drain' saves everything, but copies or parities on other "
        "servers hold what a failure takes; leave it out",
    ),
    case(
        "a-notice-between-portions",
        {POLICY: 'system = "partial-experts"\nexperts = 4\non_notice = "save"\n'},
        "policies.full: on_notice = 'save' saves everything, but each of its saves is of a "
        "portion, and counts on the others; leave it out",
    ),
    case(
        "a-drain-that-nothing-tells-the-time-of",
        {
            CLUSTER: CLUSTER + "spares = 1\n",
            LAW: LAW + 'notice = { lead = "2 min" }\n',
            POLICY: POLICY + 'on_notice = "drain"\n',
        },
        "costs.drain: is missing and can't be derived without [model]; write e.g. "
        'drain = "2 min", or give [model]',
    ),
    case(
        "a-drain-of-less-than-no-time",
        {COSTS: COSTS + 'drain = "-1 s"\n'},
        "costs.drain: '-1 s' is out of range: it must be >= 0",
    ),
    case(
        "an-allocation-of-no-time",
        {JOB: JOB + 'allocation = "0 s"\n'},
        "job.allocation: '0 s' is out of range: it must be > 0",
    ),
    case(
        "an-allocation-that-is-over-before-anything-is-trained",
        {
            JOB: JOB + 'allocation = "10 min"\n',
            COSTS: COSTS + 'start = { compile = "8 min" }\nshutdown = "5 s"\n',
        },
        "policies.full: in job.allocation = 10 min nothing is trained: a start takes 8 min of it, "
        "a load 1 min, and a last save and a shutdown 1.08 min; give a longer one",
    ),
    case(
        "an-allocation-whose-saves-go-with-it",
        {
            JOB: JOB + 'allocation = "1 h"\n',
            POLICY: 'system = "tiered"\n'
            'local = { interval = "1 min", save = "1 s", load = "1 s" }\n',
        },
        "policies.full: it saves to local, which goes with its nodes at the end of "
        "job.allocation; save to the store as well",
    ),
    case(
        "a-misspelt-part-of-a-start",
        {COSTS: COSTS + 'start = { compil = "1 min" }\n'},
        "costs.start.compil: unknown key; did you mean 'compile'?",
    ),
    case(
        "outages-without-end",
        {CLUSTER: CLUSTER + '[storage]\noutages = { every = "1 ms", lasts = "1 s" }\n'},
        "storage.outages.every: that makes 3.6e+07 of them in the job; give one that makes at most "
        "1,000,000",
    ),
    case(
        "outages-that-last-for-nobody-knows-how-long",
        {CLUSTER: CLUSTER + '[storage]\noutages = { every = "60 d" }\n'},
        "storage.outages.lasts: is missing",
    ),
    case(
        "void-saves-are-neither-tried-again-nor-left-out",
        {POLICY: POLICY + 'after_void = "ignore"\n'},
        "policies.full.after_void: 'ignore' is not one of 'retry' or 'skip'",
    ),
    case(
        "negative-cost",
        {'save = "1 min"': 'save = "-1 min"'},
        "costs.save: '-1 min' is out of range: it must be >= 0",
    ),
    case(
        "price-without-a-currency",
        {COSTS: COSTS + '[prices]\ntrainer = "2.5 h"\n'},
        "prices.trainer: '2.5 h' is not a price per time: write one like \"2.5 USD/h\"",
    ),
    case(
        "negative-price",
        {COSTS: COSTS + '[prices]\ntrainer = "-2.5 USD/h"\n'},
        "prices.trainer: '-2.5 USD/h' is out of range: it must be >= 0",
    ),
    case(
        "two-currencies",
        {COSTS: COSTS + '[prices]\ntrainer = "2 USD/h"\nspare = "2 EUR/h"\n'},
        "prices: of two currencies, spare in EUR, trainer in USD; give all of them in one",
    ),
    case(
        "spares-without-a-price",
        {COSTS: COSTS + '[prices]\ntrainer = "2 USD/h"\n', CLUSTER: CLUSTER + "spares = 1\n"},
        "prices.spare: is missing, but machines have prices and spares stand ready under full; "
        'write e.g. spare = "2.5 USD/h"',
    ),
    case(
        "price-of-unknown-bytes",
        {COSTS: COSTS + '[prices]\nread = "0.1 USD/GB"\n'},
        "prices.read: is of bytes, which [model] gives; give that, or leave this out",
    ),
    case(
        "energy-for-power",
        {COSTS: COSTS + '[prices]\nenergy = "0.6 kWh"\n'},
        "prices.energy: '0.6 kWh' has an unknown unit 'kWh' for a power: use one of W kW MW",
    ),
    case(
        "carbon-of-no-energy",
        {COSTS: COSTS + '[prices]\ncarbon = "0.4 kg/kWh"\n'},
        'prices: carbon is for each kWh, which takes energy; write e.g. energy = "0.6 kW"',
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
        {CLUSTER: CLUSTER + "flavour = 8\n"},
        "cluster.flavour: unknown key; known: holds_nodes, memory, memory_bandwidth, nic, "
        "parameter_servers, restarts_in_place, spares, trainer_memory, trainers, updates",
    ),
    case(
        "keys-that-others-call-so",
        {
            CLUSTER: "workers = 4\nservers = 4\n",
            COSTS: '[model]\nsize = "1 GB"\n[costs]\nreplacement = "1 min"\n',
            'mean = "5 h"': 'mtbf = "5 h"',
            '"full"': '"cpr"',
        },
        "model.size: unknown key; did you mean 'embedding'?",
        "cluster.parameter_servers: is missing",
        "cluster.workers: unknown key; did you mean 'trainers'?",
        "cluster.servers: unknown key; did you mean 'parameter_servers'?",
        "costs.replacement: unknown key; did you mean 'reschedule'?",
        "failures.mtbf: unknown key; did you mean 'mean'?",
        "policies.full.system: unknown system 'cpr'; did you mean 'cpr-vanilla'?",
    ),
    case(
        "a-rate-is-told-as-it-was-written",
        {JOB: JOB + 'network = "900 Gb/s"\n', CLUSTER: CLUSTER + 'nic = "100 Gbit/s"\n'},
        "job.network: 900 Gb/s over 4 parameter_servers is more than cluster.nic = 100 Gbit/s "
        "each; useful_time is at full speed, so the demand must fit",
        "job.network: 900 Gb/s over 4 trainers is more than cluster.nic = 100 Gbit/s "
        "each; useful_time is at full speed, so the demand must fit",
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
        'policies: there are none; write e.g. [policies.full] with system = "full", '
        "or let cprsim advise ask all systems",
    ),
    case(
        "misspelt-policies",
        {"[policies.full]": "[policy.full]"},
        "policy: unknown key; did you mean 'policies'?",
        'policies: there are none; write e.g. [policies.full] with system = "full", '
        "or let cprsim advise ask all systems",
    ),
    case(
        "key-of-another-system",
        {POLICY: POLICY + "target_pls = 0.1\n"},
        "policies.full.target_pls: unknown key; known: after_void, checksum, interval, keep, "
        "on_notice, system, verify_every",
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
        "or 'optimal', 'exact' or 'never'",
    ),
    case(
        "misspelt-rule-for-an-interval",
        {POLICY: POLICY + 'interval = "optimum"\n'},
        "policies.full.interval: 'optimum' is not a duration: write a number and a unit, "
        f"{FIRST_TIME}; or 'optimal', 'exact' or 'never'",
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
        {POLICY: 'system = "cpr-vanilla"\ntarget_pls = "ten%"\n'},
        "policies.full.target_pls: 'ten%' is not a number",
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
