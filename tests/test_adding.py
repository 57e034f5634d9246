"""What docs/architecture.md says that adding takes: a policy, a log reader and a cost are added."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cprsim

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
#: What the docs say: files of `cprsim/` by what is added, <name> standing for its name.
TABLE = {
    what: re.findall(r"`([\w/<>]+\.py)`", files)
    for what, files in re.findall(r"^\| an? ([a-z ]+) \| (`.*) \|$", PAGE, re.MULTILINE)
}
#: Most files that each may take.
MOST = {
    "policy": 2,
    "log reader": 2,
    "failure process": 5,
    "figure": 3,
    "data source": 2,
    "command": 2,
    "cost with interval and column": 3,
}

#: Each as (its name, its own files, lines that others get: before a line, that line and more).
NEW: dict[str, tuple[str, dict[str, str], dict[str, list[tuple[str, str]]]]] = {
    "policy": (
        "hourly",
        {
            "policies/<name>.py": """
from typing import Literal

from cprsim.contract import Context, Plan, Policy
from cprsim.policies.full import full_plan


class Hourly(Policy):
    system: Literal["hourly"]

    def plan(self, context: Context) -> Plan:
        return full_plan(3600.0)
"""
        },
        {
            "contract/registry.py": [
                ('    "partial": "partial:', '    "hourly": "hourly:Hourly",\n')
            ]
        },
    ),
    "log reader": (
        "days",
        {
            "failures/logs/<name>.py": '''
from pathlib import Path

import numpy as np

from cprsim.failures.logs.log import FailureLog


def read_days(path):
    """Node 0 fails on these days."""
    times_s = np.array(Path(path).read_text().split(), float) * 86400
    return FailureLog(times_s, np.zeros(len(times_s), int), 0.0, float(times_s[-1]))
'''
        },
        {
            "failures/logs/readers.py": [
                (
                    '    "spot": Reader',
                    '    "days": Reader("days:read_days", "one day a line", of_the_job=True),\n',
                )
            ]
        },
    ),
    "cost with interval and column": (
        "node_hour",
        {},
        {
            "job/costs.py": [
                ("    reschedule: Delay = 0.0", "    node_hour: float = Field(0.0, ge=0)\n")
            ],
            "runs/measures.py": [
                ("    useful_s: Numbers", "    node_hour: Numbers\n"),
                (
                    "            scenario.job.useful_time_s,",
                    "            scenario.costs.node_hour,\n",
                ),
                (
                    '    "machine_overhead": _machine_overhead,',
                    '    "paid": lambda run, basis: '
                    'run["wall"] / 3600 * basis.nodes * basis.node_hour,\n',
                ),
            ],
            "report/tables.py": [
                (
                    '        *_shares(summary, {"memory',
                    '        ("paid", [f"{a:.0f} ±{b - a:.0f}" for a, b in '
                    'zip(summary["paid"], summary["paid_high"])]),\n',
                )
            ],
        },
    ),
}

#: What is done with them, in a process of the copy.
USED = r"""
from pathlib import Path

import numpy as np

import cprsim
from cprsim.cli.common import print_table
from cprsim.report.tables import resources_table

JOB = {
    "job": {"useful_time": "4 d"},
    "cluster": {"parameter_servers": 2, "spares": 1, "trainers": 3},
    "costs": {"save": "1 min", "load": "1 min", "node_hour": 2.5},
    "policies": {"it": {"system": "hourly"}},
}
assert Path(cprsim.__file__).parent == Path("cprsim").resolve()
Path("log.txt").write_text("1\n2\n3\n")
log = {"trace": "log.txt", "reader": "days"}
result = cprsim.run(cprsim.Scenario(**JOB, failures=log), replications=2)
assert result.replications["failures"].tolist() == [3, 3]
law = {"distribution": "exponential", "mean": "1 d"}
result = cprsim.run(cprsim.Scenario(**JOB, failures=law), replications=20)
walls_h = result.replications["wall_s"] / 3600
assert np.allclose(result.replications["paid"], walls_h * 5 * 2.5)
low, high = result.document()["policies"]["it"]["paid"]["ci95"]
assert low < result.summary.loc["it", "paid"] < high
print_table(resources_table(result))
swept = cprsim.sweep(result.scenario, "swept", {"costs.save": ["1 min", "2 min"]}, replications=5)
assert (swept.table["paid_low"] < swept.table["paid"]).all()
"""


def test_the_table_names_the_files_and_there_are_few():
    package = Path(cprsim.__file__).parent

    assert set(TABLE) == set(MOST)
    for what, files in TABLE.items():
        assert len(files) <= MOST[what]
        for file in files:
            assert "<name>" in file or (package / file).is_file(), file


@pytest.mark.slow
def test_a_policy_a_reader_and_a_cost_take_those_files_and_work(tmp_path):
    package = tmp_path / "cprsim"
    shutil.copytree(Path(cprsim.__file__).parent, package)
    for what, (name, own, others) in NEW.items():
        assert {*own, *others} == set(TABLE[what])
        for file, text in own.items():
            (package / file.replace("<name>", name)).write_text(text, encoding="utf-8")
        for file, lines in others.items():
            path = package / file
            text = path.read_text(encoding="utf-8")
            for before, more in lines:
                assert text.count(f"\n{before}") == 1, (file, before)
                text = text.replace(f"\n{before}", f"\n{more}{before}")
            path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", USED],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert " paid" in done.stdout
