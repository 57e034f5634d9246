"""The command as a user meets it: what it prints, what it writes, what it leaves when it stops."""

import csv
import hashlib
import io
import json
import math
import os
import platform
import re
import subprocess
import sys
from contextlib import chdir
from importlib.metadata import version
from pathlib import Path

import pytest

import cprsim
from cprsim.basics.files import write_all
from cprsim.basics.manifest import with_manifest
from cprsim.cli import command as cli
from cprsim.contract.registry import systems
from cprsim.report import outputs
from cprsim.scenario import load_scenario

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "scenarios"
KAGGLE = str(SCENARIOS / "criteo-kaggle.toml")
KAGGLE_POLICIES = ["full", "partial", "cpr", "cpr-mfu", "cpr-ssu", "cpr-scar"]
QUICKSTART = str(SCENARIOS / "quickstart.toml")
CAUSES = ["save", "load", "lost", "reschedule", "detect", "slowdown", "stall"]
RARE = ["verify", "start", "shutdown"]  # told in tables where they aren't all 0
PLANNED = ["memory_overhead", "spares"]
MEASURES = [
    *("overhead", "pls", "updates_lost", "learning_lost", "overhead_retrained", "wall_s"),
    *("failures", "ettr", "peer_bytes", "store_bytes", "machine_overhead"),
]


def process(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """`cprsim` in a process of its own, its output piped."""
    return python("-m", "cprsim.cli", *arguments)


def python(*arguments: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=200,
        start_new_session=True,  # a test that interrupts it must not interrupt pytest
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT)},
        cwd=cwd,
    )


def no_such_number(text: str) -> float:
    raise AssertionError(f"{text} is no JSON")


def json_of(capsys, *arguments: str) -> dict:
    assert cli._main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    # Just one document, and a strict one.
    return json.loads(out, parse_constant=no_such_number)


# The table of `run`


def test_run_prints_a_row_a_policy_and_every_column(folder, capsys):
    assert cli._main(["run", QUICKSTART, "--replications", "3", "--seed", "7"]) == 0
    out, err = capsys.readouterr()
    result = cprsim.run(load_scenario(QUICKSTART), replications=3, seed=7)

    assert err == ""
    assert "Quickstart: a four-day job on 10 parameter servers" in out
    assert "3 replications, seed 7" in out
    always = [cause for cause in CAUSES if cause != "verify"]  # which nobody does here
    headings = [*always, "policy", "overhead", "PLS %", "updates", "lost %", "ETTR %", "every"]
    assert [heading for heading in headings if heading not in out] == []
    times, _, beside = out.partition("Memory, traffic and machines")
    assert [line.split()[0] for line in beside.splitlines() if "TB" in line] == list(
        result.summary.index[:3]
    )
    rows = {line.split()[0]: line.split() for line in times.splitlines() if line.strip()}
    for name, row in result.summary.iterrows():
        assert rows[name][1] == f"{100 * row['overhead']:.2f}"
        half_width = 100 * (row["overhead_high"] - row["overhead"])
        sign = "+" if name == "replication" else "±"  # a loss of all copies was not met
        assert rows[name][2] == f"{sign}{half_width:.2f}"
    assert rows["full"][-2:] == ["1.83", "h"]
    assert rows["replication"][-1] == "never"


def test_one_replication_has_no_interval_of_its_mean(folder, capsys):
    assert cli._main(["run", KAGGLE, "--replications", "1"]) == 0
    table = capsys.readouterr().out
    assert "±" not in table.replace("± 95 %", "")
    assert "1 replication, seed 0" in table

    document = json_of(capsys, "run", KAGGLE, "--replications", "1")
    assert document["policies"]["full"]["overhead"]["ci95"] == [None, None]


def test_brackets_in_names_are_printed_as_they_are(folder, capsys):
    names = ["--set", "title=costs [red] [/x]", "--set", 'policies={"a [/b]" = {system = "full"}}']

    assert cli._main(["run", KAGGLE, "--replications", "2", *names]) == 0
    out = capsys.readouterr().out
    assert "costs [red] [/x]" in out
    assert "a [/b]" in out


# JSON of `run`


def test_json_has_the_keys_of_the_contract_and_a_breakdown_without_a_rest(folder, capsys):
    arguments = ["run", QUICKSTART, "--replications", "4", "--seed", "3"]
    document = json_of(capsys, *arguments)

    assert list(document) == ["scenario", "seed", "replications", "engine", "policies"]
    assert document["scenario"] == "Quickstart: a four-day job on 10 parameter servers"
    assert (document["seed"], document["replications"], document["engine"]) == (3, 4, "sim")
    assert list(document["policies"]) == ["full", "async", "cpr", "replication"]
    for entry in document["policies"].values():
        assert set(entry) == {
            "system",
            "engine",
            "costs",
            "recovery",
            "interval_s",
            "breakdown",
            *PLANNED,
            *MEASURES,
        }
        assert sorted(entry["breakdown"]) == sorted(CAUSES + RARE)
        parts = math.fsum(entry["breakdown"].values())
        assert parts == pytest.approx(entry["overhead"]["mean"], rel=0, abs=1e-12)
        for measure in MEASURES:
            assert set(entry[measure]) == {"mean", "ci95", "p50", "p95"}
            low, high = entry[measure]["ci95"]
            assert low <= entry[measure]["mean"] <= high
            assert entry[measure]["p50"] <= entry[measure]["p95"]


def test_json_has_the_numbers_that_python_gets(folder, capsys):
    arguments = ["run", KAGGLE, "--replications", "6", "--seed", "2", "--policy", "cpr"]
    result = cprsim.run(load_scenario(KAGGLE), policies=["cpr"], replications=6, seed=2)
    document = json_of(capsys, *arguments)

    assert document == result.document()
    rows = result.of("cpr")
    entry = document["policies"]["cpr"]
    assert entry["overhead"]["mean"] == pytest.approx(rows["wall_s"].mean() / 201_600 - 1)
    assert entry["wall_s"]["p50"] == rows["wall_s"].median()
    assert entry["ettr"]["mean"] == pytest.approx((201_600 / rows["wall_s"]).mean())
    assert entry["failures"]["mean"] == rows["failures"].mean()


def test_json_is_unicode_and_says_a_title_as_it_is_written(folder, capsys):
    document = json_of(
        capsys, "run", KAGGLE, "--replications", "1", "--set", 'title=Größe "5" [/x]'
    )

    assert document["scenario"] == 'Größe "5" [/x]'


def test_policies_come_in_the_order_in_which_they_are_asked_for(folder, capsys):
    arguments = ["run", KAGGLE, "--replications", "2"]
    everything = json_of(capsys, *arguments)["policies"]
    chosen = json_of(capsys, *arguments, "--policy", "cpr", "--policy", "full")["policies"]

    assert list(everything) == KAGGLE_POLICIES
    assert list(chosen) == ["cpr", "full"]
    assert chosen == {name: everything[name] for name in ("cpr", "full")}


@pytest.mark.slow
def test_piped_it_prints_its_document_alone_and_workers_change_no_digit_of_it(folder, capsys):
    # 120 replications are three blocks, so that three processes have work.
    arguments = ["run", KAGGLE, "--replications", "120", "--json"]
    assert cli._main(arguments) == 0
    alone = capsys.readouterr().out

    for workers in ("2", "3"):
        done = process(*arguments, "--workers", workers)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == alone


# Files of `run --out`


def written(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


@pytest.fixture(scope="module")
def run_twice(tmp_path_factory):
    """The files of the same run, written twice, outside any repository."""
    folder = tmp_path_factory.mktemp("run")
    with chdir(folder):
        for name in ("first", "a/b/second"):
            arguments = ["--replications", "5", "--seed", "4", "--out", name]
            assert cli._main(["run", KAGGLE, *arguments]) == 0
    return [written(folder / "first"), written(folder / "a/b/second")]


def test_out_writes_five_files_and_the_same_bytes_every_time(run_twice):
    first, second = run_twice

    assert set(outputs.NAMES) - {"fleet-breakdown.png"} == set(first)
    assert set(first) == {
        "breakdown.png",
        "manifest.json",
        "report.html",
        "results.csv",
        "scenario.toml",
    }
    assert first == second


def test_results_have_a_row_a_policy_and_replication(run_twice):
    rows = list(csv.DictReader(io.StringIO(run_twice[0]["results.csv"].decode())))
    result = cprsim.run(load_scenario(KAGGLE), replications=5, seed=4)

    assert [(row["policy"], row["replication"]) for row in rows] == [
        (policy, str(i)) for policy in KAGGLE_POLICIES for i in range(5)
    ]
    rare = {f"{cause}_s" for cause in RARE}  # all 0 here
    assert [*rows[0]] == [name for name in result.replications if name not in rare]
    for column in set(rows[0]) - {"policy"}:
        assert [float(row[column]) for row in rows] == result.replications[column].tolist()
    for row in rows:
        seconds = [float(row[f"{cause}_s"]) for cause in ("train", *CAUSES)]
        assert math.fsum(seconds) == pytest.approx(float(row["wall_s"]), rel=1e-9)


def test_the_scenario_that_is_written_gives_the_same_run(run_twice, folder):
    Path("scenario.toml").write_bytes(run_twice[0]["scenario.toml"])
    loaded = load_scenario("scenario.toml")

    assert loaded == load_scenario(KAGGLE)
    assert loaded.to_toml().encode() == run_twice[0]["scenario.toml"]


def test_the_manifest_says_what_it_takes_to_run_again(run_twice):
    manifest = json.loads(run_twice[0]["manifest.json"])
    own = manifest.pop("manifest_sha256")
    assert own == hashlib.sha256(_canonical(manifest)).hexdigest()
    git = manifest.pop("git")  # of the repository that the code lies in, if it lies in one

    assert git is None or re.fullmatch("[0-9a-f]{40}", git["commit"])
    assert manifest == {
        "cprsim": cprsim.__version__,
        "python": platform.python_version(),
        "libraries": {
            name: version(name)
            for name in ("simpy", "numpy", "scipy", "pandas", "matplotlib", "pydantic")
        },
        "scenario_sha256": hashlib.sha256(run_twice[0]["scenario.toml"]).hexdigest(),
        "trace_sha256": None,
        "policies": KAGGLE_POLICIES,
        "replications": 5,
        "seed": 4,
        "engines": dict.fromkeys(KAGGLE_POLICIES, "sim"),
        "files_sha256": {
            name: hashlib.sha256(content).hexdigest()
            for name, content in run_twice[0].items()
            if name != "manifest.json"
        },
    }


def _canonical(document: dict) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.slow
def test_out_replaces_its_own_files_and_leaves_the_others(run_twice, folder):
    old = {"results.csv": b"old", "fleet-breakdown.png": b"of a run of another kind"}
    write_all(Path("out"), with_manifest(old, {}))
    Path("out/notes.txt").write_text("mine")
    arguments = ["--replications", "5", "--seed", "4", "--out", "out"]

    assert cli._main(["run", KAGGLE, *arguments]) == 0
    assert written(Path("out")) == run_twice[0] | {"notes.txt": b"mine"}


# Stopped on the way

INTERRUPTED = """
import os, signal, sys
from cprsim.cli import common, main

# Whoever runs the tests in the background has Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Ctrl-C: the terminal signals every process of the command. After the first block of replications.
common.ProgressBar.update = lambda *_: os.killpg(0, signal.SIGINT)
sys.argv = ["cprsim", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupted_run_says_so_in_one_line_and_writes_nothing(folder, workers):
    write_all(Path("old"), with_manifest({"results.csv": b"old"}, {}))
    before = written(Path("old"))
    out = {"1": "old", "2": "a/new"}[workers]
    arguments = ["--replications", "100000", "--workers", workers, "--out", out]
    done = python("-c", INTERRUPTED, "run", KAGGLE, *arguments)

    assert [path.name for path in folder.iterdir()] == ["old"]
    assert written(Path("old")) == before
    assert done.stderr == "cprsim: interrupted; no file is half-written\n"
    assert done.stdout == ""
    assert done.returncode == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_in_one_line(folder):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cprsim.cli", "run", KAGGLE, "--replications", "1"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=200,
        )

    assert done.stderr == "cprsim: stdout: No space left on device\n"
    assert done.returncode == 1


# An hour to come back from failures a second apart: a thousand of them are a hundred useful times.
HOPELESS = """
[job]
useful_time = "10 h"
[cluster]
parameter_servers = 1
[costs]
save = "1 h"
load = "0 s"
reschedule = "1 h"
[failures]
distribution = "deterministic"
mean = "1 s"
[policies.full]
system = "full"
"""


def test_a_hopeless_run_fails_in_one_line_and_writes_nothing(folder, capsys):
    Path("job.toml").write_text(HOPELESS)

    assert cli._main(["run", "job.toml", "--replications", "2", "--out", "out"]) == 1
    assert capsys.readouterr() == (
        "",
        "cprsim: policy 'full': the job gets nowhere, nor would one of 1.67 min: 3.6e+04 times its "
        "useful time is over, with 1,000 failures, and 1.00 % of it done; save more often, or make "
        "failures rarer or saves cheaper\n",
    )
    assert [path.name for path in folder.iterdir()] == ["job.toml"]


@pytest.mark.slow
def test_a_hopeless_run_in_workers_fails_in_one_line_too(folder):
    Path("job.toml").write_text(HOPELESS)
    done = process("run", "job.toml", "--replications", "60", "--workers", "2", "--out", "out")

    assert re.fullmatch("cprsim: policy 'full': the job gets nowhere.*\n", done.stderr)
    assert (done.returncode, done.stdout) == (1, "")
    assert [path.name for path in folder.iterdir()] == ["job.toml"]


def test_run_takes_the_name_of_a_system_on_a_file_without_policies(folder, capsys):
    path = folder / "job.toml"
    path.write_text(
        '[job]\nuseful_time = "8 d"\n[cluster]\nparameter_servers = 8\n[costs]\nsave = "6 min"\n'
        'load = "4 min"\n[failures]\ndistribution = "exponential"\nmean = "20 h"\n'
    )
    arguments = ["run", str(path), "--replications", "3"]

    assert cli._main([*arguments, "--policy", "full", "--policy", "replication"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("Of 2 policies, ")
    assert cli._main([*arguments, "--policy", "peer-memory"]) == 2
    assert "policies.peer-memory.iteration: is missing" in capsys.readouterr().err


@pytest.mark.slow
def test_policies_are_listed_and_explained(capsys):
    found = {each["name"]: each for each in json_of(capsys, "policies")["policies"]}

    assert set(found) == set(systems())
    assert all(each["does"] and each["source"] and each["needs"] for each in found.values())
    assert found["full"]["trainer"] == "any loop with checkpoints"
    assert "hot" in found["cpr-mfu"]["needs"] or "popularity" in found["cpr-mfu"]["needs"]
    assert cli._main(["policies", "cpr-mfu"]) == 0
    out = capsys.readouterr().out
    assert "fraction" in out
    assert 'system = "cpr-mfu"' in out
    assert cli._main(["policies", "cpr-mfo"]) == 2
    assert capsys.readouterr().err == "cprsim: unknown policy 'cpr-mfo'; did you mean 'cpr-mfu'?\n"
