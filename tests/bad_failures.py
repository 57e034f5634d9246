"""Scenarios whose failures are wrong, as `tests.bad_scenarios` has others."""

from tests.bad_scenarios import LAW, LAWS, TRACE, case

FAILURES = [
    case(
        "no-source",
        {LAW: ""},
        "failures: give one of distribution, exactly, trace, preset; found none",
    ),
    case(
        "two-sources",
        {LAW: LAW + "exactly = 2\n"},
        "failures: give one of distribution, exactly, trace, preset; "
        "found distribution and exactly",
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
        'failures.durations: \'3 h\' is not a list; write e.g. durations = ["3 h", "17 h"]',
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
        "unknown-severity",
        {LAW: LAW + "severity = { nodes = 1 }\n"},
        "failures.severity.nodes: unknown key; did you mean 'node'?",
    ),
    case(
        "negative-severity",
        {LAW: LAW + "severity = { process = 1, cluster = -0.1 }\n"},
        "failures.severity.cluster: -0.1 is out of range: it must be >= 0",
    ),
    case(
        "severities-of-nothing",
        {LAW: LAW + "severity = { process = 0 }\n"},
        "failures.severity: at least one of process, node, cluster must be > 0",
    ),
    case(
        "one-word-for-a-severity",
        {LAW: LAW + 'severity = "process"\n'},
        "failures.severity: 'process' is not a table; write e.g. { process = 0.6, node = 0.4 }",
    ),
    case(
        "failures-per-rack",
        {LAW: LAW + 'per = "rack"\n'},
        "failures.per: 'rack' is not one of 'job' or 'node'",
    ),
    case(
        "frailty-of-a-job",
        {LAW: LAW + "frailty = 0.5\n"},
        "failures: 'frailty' goes with distribution and per = 'node'; set that, or leave it out",
    ),
    case(
        "frailty-of-a-number",
        {LAW: "exactly = 2\nfrailty = 0.5\n"},
        "failures: 'frailty' goes with distribution and per = 'node'; leave it out",
    ),
    case(
        "frailty-below-none",
        {LAW: LAW + 'per = "node"\nfrailty = -1\n'},
        "failures.frailty: -1 is out of range: it must be >= 0",
    ),
    case(
        "frailty-beyond-all-nodes",
        {LAW: LAW + 'per = "node"\nfrailty = 21\n'},
        "failures.frailty: 21 is out of range: it must be <= 20",
    ),
    case(
        "whose-frailty-if-none",
        {LAW: LAW + 'per = "node"\nfrailty_of = "machine"\n'},
        "failures: 'frailty_of' goes with frailty; leave it out",
    ),
    case(
        "frailty-of-nobody",
        {LAW: LAW + 'per = "node"\nfrailty = 1\nfrailty_of = "rack"\n'},
        "failures.frailty_of: 'rack' is not one of 'place' or 'machine'",
    ),
    case(
        "worst-of-nodes-that-are-alike",
        {LAW: LAW + 'per = "node"\nexclude_worst = 1\n'},
        "failures: 'exclude_worst' goes with frailty, or with the trace of a whole system; leave "
        "it out",
    ),
    case(
        "worst-of-machines",
        {LAW: LAW + 'per = "node"\nfrailty = 1\nfrailty_of = "machine"\nexclude_worst = 1\n'},
        "failures: 'exclude_worst' goes with frailty_of = 'place': of machines, replacements are "
        "as bad as those that were left out; leave one of them out",
    ),
    case(
        "worst-of-the-jobs-own-nodes",
        {LAW: TRACE + "exclude_worst = 1\n"},
        "failures: 'exclude_worst' goes with frailty, or with the trace of a whole system; leave "
        "it out",
        log="time_s,node\n1,0\n2,1\n",
    ),
    case(
        "ages-of-a-number",
        {LAW: 'exactly = 2\nages = "stationary"\n'},
        "failures: 'ages' goes with distribution, not with exactly; leave it out",
    ),
    case(
        "ages-of-a-log",
        {LAW: TRACE + 'ages = "stationary"\n'},
        "failures: 'ages' goes with distribution, not with trace; leave it out",
    ),
    case(
        "ages-of-old",
        {LAW: LAW + 'ages = "old"\n'},
        "failures.ages: 'old' is not one of 'new' or 'stationary'",
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
        "failures: 'window' goes with trace or log; leave it out",
    ),
    case(
        "reader-without-a-log",
        {LAW: LAW + 'reader = "lanl"\n'},
        "failures: 'reader' goes with trace or log; leave it out",
    ),
    case(
        "silent-faults-without-a-mean",
        {LAW: LAW + "[failures.silent]\n"},
        "failures.silent: distribution 'exponential' needs 'mean': e.g. mean = \"28 h\"",
    ),
    case(
        "silent-faults-that-are-no-table",
        {LAW: LAW + 'silent = "10 d"\n'},
        "failures.silent: '10 d' is not a table",
    ),
    case(
        "silent-faults-of-another-shape",
        {LAW: LAW + '[failures.silent]\nmean = "10 d"\nshape = 0.7\n'},
        "failures.silent: distribution 'exponential' takes no 'shape'; leave it out",
    ),
    case(
        "silent-faults-all-the-time",
        {LAW: LAW + '[failures.silent]\nmean = "1 ms"\n'},
        "failures.silent.mean: makes 36,000,000 silent faults in the job; 150,000 are the most: "
        "make them rarer",
    ),
    case(
        "a-notice-after-the-failure",
        {LAW: LAW + 'notice = { lead = "-2 min" }\n'},
        "failures.notice.lead: '-2 min' is out of range: it must be > 0",
    ),
    case(
        "more-notices-than-failures",
        {LAW: LAW + 'notice = { lead = "2 min", recall = 1.5 }\n'},
        "failures.notice.recall: 1.5 is out of range: it must be <= 1",
    ),
    case(
        "a-notice-without-a-lead",
        {LAW: LAW + "notice = { recall = 0.9 }\n"},
        "failures.notice.lead: is missing",
    ),
    case(
        "false-alarms-in-no-time",
        {LAW: LAW + 'notice = { lead = "2 min", false_alarms = "2 a day" }\n'},
        "failures.notice.false_alarms: '2 a day' is no number in a time: write e.g. \"1 / 10 d\"",
    ),
    case(
        "false-alarms-of-no-number",
        {LAW: LAW + 'notice = { lead = "2 min", false_alarms = "0 / 10 d" }\n'},
        "failures.notice.false_alarms: '0 / 10 d' is out of range: both must be > 0; leave it out "
        "for none",
    ),
    case(
        "too-many-false-alarms",
        {LAW: LAW + 'notice = { lead = "2 min", false_alarms = "100 / 1 s" }\n'},
        "failures.notice.false_alarms: makes 3,600,000 in the job; 150,000 are the most: make them "
        "rarer",
    ),
]
