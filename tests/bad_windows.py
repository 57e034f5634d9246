"""Servers that are withdrawn at times that make no sense, with what a user is told."""

from tests.bad_scenarios import CLUSTER, JOB, POLICY, case


def withdrawn(at: str, lasts: str, servers: int) -> str:
    """The key of a single window."""
    return f'''withdrawn = [{{ at = "{at}", for = "{lasts}", parameter_servers = {servers} }}]\n'''


WINDOWS = [
    case(
        "a-window-of-no-time",
        {JOB: JOB + withdrawn("1 h", "0 s", 1)},
        "job.withdrawn.0.for: '0 s' is out of range: it must be > 0",
    ),
    case(
        "a-window-before-the-job",
        {JOB: JOB + withdrawn("-1 h", "1 h", 1)},
        "job.withdrawn.0.at: '-1 h' is out of range: it must be >= 0",
    ),
    case(
        "a-window-of-no-servers",
        {JOB: JOB + withdrawn("1 h", "1 h", 0)},
        "job.withdrawn.0.parameter_servers: 0 is out of range: it must be >= 1",
    ),
    case(
        "more-servers-withdrawn-than-there-are",
        {JOB: JOB + withdrawn("1 h", "1 h", 4)},
        "job.withdrawn: 4 of 4 parameter servers leave none to go on with; withdraw at most 3",
    ),
    case(
        "the-only-server-withdrawn",
        {
            JOB: JOB + withdrawn("1 h", "1 h", 1),
            CLUSTER: CLUSTER.replace("servers = 4", "servers = 1"),
        },
        "job.withdrawn: there is no more than one parameter server; leave it out",
    ),
    case(
        "windows-that-overlap",
        {
            JOB: JOB + 'withdrawn = [{ at = "3 h", for = "1 h", parameter_servers = 1 }, '
            '{ at = "1 h", for = "2.5 h", parameter_servers = 2 }]\n'
        },
        "job.withdrawn: the servers that go at 3 h go before others are back at 3.5 h; make that "
        "one window, or leave time between them",
    ),
    case(
        "a-window-that-is-no-list",
        {JOB: JOB + 'withdrawn = "1 h"\n'},
        "job.withdrawn: '1 h' is not a list; give each window as [[job.withdrawn]] with at, for "
        "and parameter_servers",
    ),
    case(
        "no-window-at-all",
        {JOB: JOB + "withdrawn = []\n"},
        "job.withdrawn: is empty; give each window as [[job.withdrawn]] with at, for and "
        "parameter_servers",
    ),
    case(
        "windows-beside-allocations",
        {JOB: JOB + 'allocation = "9 h"\n' + withdrawn("1 h", "1 h", 1)},
        "job: 'withdrawn' can't be played beside allocation; leave one of them out",
    ),
    case(
        "a-window-whose-saves-go-with-it",
        {
            JOB: JOB + withdrawn("1 h", "1 h", 1),
            POLICY: 'system = "tiered"\n'
            'local = { interval = "1 min", save = "1 s", load = "1 s" }\n',
        },
        "policies.full: it saves to local, which goes with its nodes where job.withdrawn stops "
        "it; save to the store as well",
    ),
    case(
        "a-misspelt-key-of-a-window",
        {JOB: JOB + 'withdrawn = [{ at = "1 h", four = "1 h", parameter_servers = 1 }]\n'},
        "job.withdrawn.0.for: is missing",
        "job.withdrawn.0.four: unknown key; did you mean 'for'?",
    ),
]
