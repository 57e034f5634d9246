"""Small real runs: 40 steps of a second on servers that are hit when a test says so."""

from pathlib import Path

from cprsim.failures.hits import Hit
from cprsim.failures.timeline import AbsoluteTimeline
from cprsim.scenario import Scenario
from cprsim.trainer.section import trainer_section
from cprsim.trainer.training import train

#: A scenario of shorter steps, of which failures are those of a log.
SMALL = Path(__file__).with_name("small.toml")
STEPS, BATCH = 40, 64
INTERVAL = 10
POLICIES = {
    "full": {"system": "full", "interval": "10 s"},
    "never": {"system": "full", "interval": "1 d"},
    "partial": {"system": "partial", "interval": "10 s"},
    "async": {"system": "async", "interval": "10 s", "snapshot": "0 s"},
    **{
        tracker: {
            "system": f"cpr-{tracker}",
            "interval": "12 s",  # a quarter every 3 s
            "fraction": 0.25,
            "slowdown": 0.0,
        }
        for tracker in ("mfu", "ssu", "scar")
    },
}


def servers_hit(*servers):
    return Hit(servers, ())


def trainer_hit(*servers):
    return Hit(servers, (0,))


def scenario(servers=2, **more):
    found = {
        "job": {"useful_time": f"{STEPS} s", "samples": STEPS * BATCH},
        "model": {
            "tables": [
                {"rows": rows, "dim": 8, "skew": "dlrm-production"} for rows in (300, 100, 20)
            ]
        },
        "cluster": {"parameter_servers": servers, "trainers": 1},
        "costs": dict.fromkeys(("save", "load", "reschedule"), "0 s"),
        "failures": {"exactly": 1},
        "policies": POLICIES,
    }
    return Scenario(
        **{key: {**found.get(key, {}), **more.get(key, {})} for key in {**found, **more}}
    )


def section(**keys):
    """`[trainer]`, with so much time that no process is taken for hung on a busy machine."""
    patient = {"batch": BATCH, "test_samples": 256, "answer": "60 s", "work": "120 s"}
    return trainer_section(patient | keys)


def ran(policy, kills=(), *, progress=None, of=None, **keys):
    """Train under a policy; `kills` are pairs of a time and a hit, `keys` of `[trainer]`."""
    times, hits = zip(*kills, strict=True) if kills else ((), ())
    timeline = AbsoluteTimeline(times, hits)
    return train(of or scenario(), section(**keys), policy, 0, progress, timeline)
