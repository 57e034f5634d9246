"""One of each is added to a copy of the package, in the files that the docs name, and works."""

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
            "policies/registry.py": [
                ('    "partial": "partial:', '    "hourly": "hourly:Hourly",\n')
            ],
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
    "failure process": (
        "metronome",
        {
            "failures/<name>.py": '''
from dataclasses import dataclass

import numpy as np

from cprsim.basics.streams import COHORT
from cprsim.failures.cohorts import InstantCohort
from cprsim.failures.processes import JobRenewals
from cprsim.failures.victims import VictimRows


class Beats(InstantCohort):
    """A kind of its own."""


@dataclass(frozen=True)
class Metronome(JobRenewals):
    def cohort(self, seed, number, shared=None):
        times_s = np.tile(np.arange(1, 100) * self.spec.every_s, (COHORT, 1))
        return Beats(times_s, VictimRows(self.spec.hits, self.cluster, seed, number), None)

    @property
    def mtbf_s(self):
        return self.spec.every_s
'''
        },
        {
            "failures/spec.py": [
                ('    "preset": (),\n', '    "every": (),\n'),
                (
                    "    trace: str | None",
                    '    every_s: PositiveSeconds | None = Field(None, alias="every")\n',
                ),
            ],
            "failures/model.py": [
                (
                    "from cprsim.failures.processes ",
                    "from cprsim.failures.metronome import Metronome\n",
                ),
                (
                    "        if spec.exactly is not None",
                    "        if spec.every_s is not None:\n"
                    "            return Metronome(spec, cluster)\n",
                ),
            ],
        },
    ),
    "figure": (
        "dots",
        {
            "figures/<name>.py": """
from matplotlib.figure import Figure


def dots(rows, title):
    figure = Figure()
    figure.add_subplot().scatter(rows["x"], rows["y"])
    return figure
""",
            "gallery/<name>.py": """
import pandas as pd

from cprsim.gallery.picture import Titled, register


@register("dots", "nothing")
def table(_):
    '''Two dots.'''
    return Titled("Dots", pd.DataFrame({"x": [1, 2], "y": [3, 4]}), "dots:dots")
""",
        },
        {
            "gallery/registry.py": [
                ("from cprsim.gallery import ", "from cprsim.gallery import dots\n"),
            ]
        },
    ),
    "data source": (
        "coins",
        {
            "trainer/data/<name>.py": '''
from pathlib import Path

import numpy as np

from cprsim.trainer.data.contract import Batch, DataTable
from cprsim.trainer.data.recorded import record


def read_coins(files, folder, asked, *, test_share, dim, batch_size):
    """Labels are what a file says of tosses."""
    labels = np.array(list(Path(files.coins).read_text()), np.float32)
    dense, sparse = np.ones((len(labels), 1)), np.zeros((len(labels), 1))
    tables = (DataTable("coin", 2, dim),)
    return record([Batch(dense, sparse, labels)], folder, tables, test_share, batch_size, 0)
'''
        },
        {
            "trainer/data/files.py": [
                (
                    "from cprsim.trainer.data.contract ",
                    "from cprsim.trainer.data.coins import read_coins\n",
                ),
                ("    criteo: Annotated", "    coins: str | None = None\n"),
                ('    "criteo": _criteo', '    "coins": read_coins,\n'),
            ]
        },
    ),
    "command": (
        "hello",
        {
            "cli/<name>.py": '''
import typer


def hello() -> None:
    """Greet."""
    typer.echo("hello")
'''
        },
        {
            "cli/command.py": [
                ("from cprsim.cli import ", "from cprsim.cli import hello\n"),
                ("    *(listing.scenarios,", "    hello.hello,\n"),
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
                ),
            ],
        },
    ),
}

#: What is done with them, in a process of the copy: a line for each that works.
USED = r"""
import sys
from pathlib import Path

import numpy as np

import cprsim
from cprsim.cli import command
from cprsim.cli.common import print_table
from cprsim.report.tables import resources_table
from cprsim.scenario.mapping import load_mapping
from cprsim.trainer.section import trainer_section

JOB = {
    "job": {"useful_time": "4 d"},
    "cluster": {"parameter_servers": 2},
    "costs": {"save": "1 min", "load": "1 min"},
    "policies": {"it": {"system": "hourly"}},
}
def failures(engine, **keys):
    result = cprsim.run(cprsim.Scenario(**JOB, failures=keys), replications=2, engine=engine)
    return result.replications["failures"].tolist()

assert Path(cprsim.__file__).parent == Path("cprsim").resolve()
Path("log.txt").write_text("1\n2\n3\n")
assert failures("batch", trace="log.txt", reader="days") == [3, 3]
print("policy", "log reader", sep="\n")
assert failures("batch", every="30 h") == failures("sim", every="30 h") == [3, 3]
print("failure process")
assert command._main(["figure", "dots", "--out", "dots.png"]) == 0 < Path("dots.png").stat().st_size
print("figure")
Path("tosses.txt").write_text("01" * 20)
Path("job.toml").write_text('[trainer]\ndata = {coins = "tosses.txt"}\n')
section = trainer_section(load_mapping("job.toml")["trainer"])
assert Path(section.files.coins) == Path("tosses.txt").resolve()
read = section.files.read(Path("kept"), samples=30, test_samples=10, batch=5)
assert (read.samples, read.test_samples) == (30, 10)
print("data source")
assert command._main(["hello"]) == 0
JOB["costs"] |= {"node_hour": 2.5}
JOB["cluster"] |= {"spares": 1, "trainers": 3}
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


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, set[str]], list[str]]:
    """Files of the package that each touched, and what its use printed."""
    folder = tmp_path_factory.mktemp("adding")
    package = folder / "cprsim"
    shutil.copytree(Path(cprsim.__file__).parent, package)
    touched = {}
    for what, (name, own, others) in NEW.items():
        for file, text in own.items():
            (package / file.replace("<name>", name)).write_text(text, encoding="utf-8")
        for file, lines in others.items():
            path = package / file
            text = path.read_text(encoding="utf-8")
            for before, more in lines:
                assert text.count(f"\n{before}") == 1, (file, before)
                text = text.replace(f"\n{before}", f"\n{more}{before}")
            path.write_text(text, encoding="utf-8")
        touched[what] = {*own, *others}
    done = subprocess.run(
        [sys.executable, "-c", USED],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return touched, done.stdout.splitlines()


@pytest.mark.parametrize("what", MOST)
def test_adding_one_touches_the_files_that_the_docs_name(
    what: str, added: tuple[dict[str, set[str]], list[str]]
) -> None:
    touched, printed = added

    assert touched[what] == set(TABLE[what])
    assert len(touched[what]) <= MOST[what]
    seen = {"command": "hello", "cost with interval and column": " paid"}.get(what, what)
    assert any(seen in line for line in printed)


def test_files_of_the_table_are_there() -> None:
    package = Path(cprsim.__file__).parent
    assert set(TABLE) == set(MOST)
    for file in (file for files in TABLE.values() for file in files if "<name>" not in file):
        assert (package / file).is_file(), file
