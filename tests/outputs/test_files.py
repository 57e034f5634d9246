"""No command replaces a single file that it was not asked to write, or that it has read."""

import gzip
import io
import sys
from pathlib import Path
from types import ModuleType

import pytest
from matplotlib.figure import Figure

from cprsim.cli import command as cli
from tests.mistakes import GOOD
from tests.outputs.commands import FILES, MINE, PICTURES

EACH_FILE = [(command, name) for command, (_, names) in FILES.items() for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("command", FILES)
def test_an_older_output_is_replaced(place, command):
    asked, (name, *_) = FILES[command]
    if name == "x.png":
        Path(name).write_bytes(Path("run/breakdown.png").read_bytes())
    else:
        assert cli._main([*asked, name]) == 0
    before = Path(name).stat().st_ino
    assert cli._main([*asked, name]) == 0
    assert Path(name).stat().st_ino != before


def foreign(name: str) -> bytes:
    """A file of another program in the format that a name ends in; pictures are matplotlib's."""
    if name in PICTURES:
        buffer = io.BytesIO()
        Figure().savefig(buffer, format=name[-3:].lower())
        return buffer.getvalue()
    return {
        "x.json.gz": gzip.compress(b'{"traceEvents":[],"otherData":{}}'),
        "x.prom": b"# HELP node_load1 1m load average\n",
        "t.csv": b"point,lat,lon\n1,2,3\n",
        "t": b"time_s,node\n1,2\n",
        "t.parquet": b"PAR1" + bytes(100) + b"PAR1",
        "m": b"# HELP node_load1 1m load average\n",
        "m.json": b'{\n    "resource_metrics": []}',
    }[name]


@pytest.mark.parametrize("content", [lambda _: MINE, foreign], ids=["text", "same format"])
@pytest.mark.parametrize(("command", "name"), EACH_FILE)
def test_a_file_that_cprsim_did_not_write_stays(refused, nothing_runs, command, name, content):
    """R2: `export --out sw/sweep.db` replaced the sweep that it read."""
    asked, kinds = FILES[command]
    Path(name).write_bytes(content(name))

    assert refused(*asked, name) == (
        f"{asked[-1]} {name}: exists already and is not a {kinds[name]} of cprsim's; give another "
        "name, or --force to replace it"
    )


READ = {
    "the sweep": (["export", "sweep", "--format", "csv", "--out"], "sweep/sweep.db"),
    "the rows of a run": (["export", "run", "--format", "prometheus", "--out"], "run/results.csv"),
    "its manifest": (["export", "run", "--format", "opentelemetry", "--out"], "run/manifest.json"),
    "its scenario": (["export", "run", "--format", "prometheus", "--out"], "./run/scenario.toml"),
    "the scenario": (["timeline", "job.toml", "--policy", "full", "--out"], "job.toml"),
    "the log": (["fit", "log.csv", "--plot"], "log.csv"),
    "the log of accesses": (["rows", "--from", "log.csv", "--plot"], "log.csv"),
    "the swept": (["sweep", "sweep", "--map"], "sweep/sweep.db"),
    "the sweep to come": (
        ["sweep", "job.toml", "--vary", "costs.save=1 min", "--out", "sweep", "--map"],
        "sweep/sweep.db",
    ),
    "the figured": (["figure", "interval", "job.toml", "--out"], "job.toml"),
    "the shipped": (["scenarios", "quickstart", "--copy"], ""),
    "code": (["export", "sweep", "--format", "csv", "--out"], "code"),
}


@pytest.mark.parametrize("way", ["plain", "hard link", "through a folder"])
@pytest.mark.parametrize("what", READ)
def test_what_is_read_stays_even_if_forced(refused, nothing_runs, monkeypatch, what, way):
    """Whatever its name, so under one that the option takes where it takes not every name."""
    asked, name = READ[what]
    path = Path(name)
    if what == "the shipped":
        Path("scenarios").mkdir()
        path = Path("scenarios/quickstart.toml")
        path.write_text(GOOD)
        monkeypatch.setattr("cprsim.basics.shipped._HOMES", (Path("scenarios").absolute(),))
    if what == "code":
        path = Path("policy_of_mine.py")
        path.write_text("x = 1\n")
        module = ModuleType("policy_of_mine")
        module.__file__ = str(path.absolute())
        monkeypatch.setitem(sys.modules, module.__name__, module)
    if way == "hard link" or asked[0] in ("timeline", "fit", "rows", "sweep", "figure"):
        Path("alias.png").hardlink_to(path)  # names of pictures end in their format
        path = Path("alias.png")
    if way == "through a folder":
        Path("linked").symlink_to(".")
        path = Path("linked", path)

    assert refused(*asked, str(path), "--force") == (
        f"{asked[-1]} {path}: this command reads that file; give another name"
    )


def test_force_replaces_a_file(place):
    assert cli._main(["scenarios", "quickstart", "--copy", "job.toml", "--force"]) == 0
    assert Path("job.toml").read_text() != GOOD
