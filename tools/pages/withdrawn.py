"""What a window costs in which servers are withdrawn: going on with fewer, and waiting."""

import cprsim
from cprsim.basics.units import format_duration
from cprsim.contract.withdrawal import windows
from cprsim.scenario import Scenario
from cprsim.sim.engine import play
from tools.validation.formulas.stops import break_even_s

SCENARIO = "scenarios/elastic.toml"
#: What training stops for to place rows anew, and how many of 16 servers are withdrawn.
RESHARDS = ("30 s", "10 min")
SERVERS = (1, 4, 8)
WINDOWS = ("10 min", "1 h", "8 h")
#: No failures, and no saves but the last before a stop.
_QUIET = (
    "failures={exactly=0}",
    'job.useful_time="2 d"',
    'policies.elastic.interval="3 d"',
    'policies.waiting.interval="3 d"',
)


def table() -> str:
    """A row a time to place rows anew and a number of servers."""
    return "".join(row(reshard, servers) for reshard in RESHARDS for servers in SERVERS)


def row(reshard: str, servers: int) -> str:
    """What each window adds to a job under both, min; and from which one on waiting takes more."""
    slow = f'policies.elastic.reshard="{reshard}"'
    cells = []
    for lasts in WINDOWS:
        window = f'{{at="10 h", for="{lasts}", parameter_servers={servers}}}'
        it = cprsim.load_scenario(SCENARIO, [*_QUIET, slow, f"job.withdrawn=[{window}]"])
        fewer, waits = (_added_min(it, name) for name in ("elastic", "waiting"))
        cells.append(f"{fewer:.1f} / {waits:.1f}")
    degraded, turns_s = _turns(it)
    turns = format_duration(round(turns_s)) if turns_s else "never"
    rest = f"{100 * degraded:.1f} % | {' | '.join(cells)} | {turns}"
    return f"| {reshard} | {servers} | {rest} |\n"


def _added_min(it: Scenario, policy: str) -> float:
    """What a window adds to the wall clock, min."""
    return (play(it, policy, 0, 0).wall - it.job.useful_time_s) / 60


def _turns(it: Scenario) -> tuple[float, float]:
    """By how much training is slower with fewer, and the break-even, s."""
    elastic, waiting, costs = it.plan("elastic"), it.plan("waiting"), it.cost_model
    (window,) = windows(elastic, costs)
    answer = window.answer
    assert answer is not None
    move_s = costs.seconds(costs.load(elastic.tier(answer.fills.source), "none", window.servers))
    load_s = costs.seconds(costs.load(waiting.tier(waiting.last_save.tier), "all", 0))
    rest = move_s, answer.pause_s, move_s, waiting.stop_s(costs) + load_s
    return answer.degraded, break_even_s(answer.degraded, *rest)
