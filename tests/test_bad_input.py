"""What a user sees who got something wrong: exit code 2, a line a fault, nothing else, no files."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from cprsim.cli import command as cli
from cprsim.runs import runner
from tests.bad_failures import FAILURES
from tests.bad_scenarios import (
    CLUSTER,
    COSTS,
    DELAY,
    GOOD,
    JOB,
    KEYS,
    LAW,
    POLICIES,
    POLICY,
    QUANTITIES,
    TRACE,
    case,
)

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
        "log-with-a-date",
        {LAW: TRACE},
        "failures.trace: {folder}/log.csv:3: time_s is '2026-05-03', not a number of seconds",
        log="time_s,node\n5,0\n2026-05-03,1\n",
    ),
    case(
        "log-without-its-columns",
        {LAW: TRACE},
        "failures.trace: {folder}/log.csv:1: has no column of times, such as time_s or timestamp; "
        "the header is 'when,node'; name it with --time-column (in a scenario: failures.columns)",
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
        "failures.trace: {folder}/log.csv: its system has 5 nodes, the job needs 8; "
        "choose a larger system or a smaller cluster",
        log="System,nodes,nodenumz,Prob Started\n7,5,0,9/26/2003 16:40\n7,5,0,9/27/2003 16:40\n",
    ),
    case(
        "system-of-a-plain-log",
        {LAW: TRACE + "system = 20\n"},
        "failures: 'system' goes with reader = 'lanl' or 'fta'; leave it out",
        log="time_s,node\n5,0\n",
    ),
    case(
        "columns-of-a-log-that-knows-its-own",
        {LAW: TRACE + 'reader = "fta"\ncolumns = { time = "t" }\n'},
        "failures: 'columns' goes with reader = 'csv'; leave it out",
        log="",
    ),
    case(
        "column-that-is-not-there",
        {LAW: TRACE + 'columns = { time = "t" }\n'},
        "failures.trace: {folder}/log.csv:1: has no column t; the header is 'time_s,node'",
        log="time_s,node\n5,0\n",
    ),
    case(
        "columns-of-nothing",
        {LAW: TRACE + 'columns = { tiem = "t", node = "" }\n'},
        "failures.columns.node: '': string should have at least 1 character",
        "failures.columns.tiem: unknown key; did you mean 'time'?",
        log="time_s,node\n5,0\n",
    ),
    case(
        "unknown-reader",
        {LAW: TRACE + 'reader = "intervals"\n'},
        "failures.reader: 'intervals' is not one of 'csv', 'lanl', 'fta', 'spot', "
        "'stepfun', 'slurm', 'prometheus' or 'xid'",
        log="",
    ),
    case(
        "window-the-wrong-way-round",
        {LAW: TRACE + 'window = "1:0.5"\n'},
        "failures.window: '1:0.5' is not a window: write two shares of the log, "
        'e.g. "0.5:1", or two dates, e.g. "2025-03-01:2025-06-01", of which either may be left out',
        log="time_s,node\n5,0\n",
    ),
    case(
        "coalescing-without-a-log",
        {LAW: LAW + 'coalesce = "5 min"\n'},
        "failures: 'coalesce' goes with trace or log; leave it out",
    ),
    case(
        "unknown-preset",
        {LAW: 'preset = "lanl-2"\n'},
        "failures.preset: 'lanl-2' is not one of 'cpr-production', 'lanl-20', 'lanl-18', 'rsc-1', "
        "'rsc-2' or 'titan-old'",
    ),
    case(
        "preset-and-another-law",
        {LAW: LAW + 'preset = "lanl-20"\n'},
        "failures: preset 'lanl-20' says itself when failures come; leave 'distribution' out, or "
        "leave preset out",
    ),
    case(
        "preset-and-a-number",
        {LAW: 'preset = "rsc-1"\nexactly = 2\n'},
        "failures: preset 'rsc-1' says itself when failures come; leave 'exactly' out, or leave "
        "preset out",
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
        "model.tables: is empty; give each table as [[model.tables]] with rows and dim",
    ),
    case(
        "optimizer-rule-of-another-optimizer",
        {COSTS: COSTS + '[model]\npreset = "criteo-kaggle"\noptimizer_rule = "adam"\n'},
        "model.optimizer_rule: 'adam' is not one of 'sgd' or 'adagrad'",
    ),
    case(
        "optimizer-rule-without-rows",
        {COSTS: COSTS + '[model]\nembedding = "1 GB"\noptimizer_rule = "adagrad"\n'},
        "model: 'optimizer_rule' goes with preset or tables; leave it out",
    ),
    case(
        "optimizer-that-nobody-knows",
        {COSTS: COSTS + '[model]\nembedding = "1 GB"\noptimizer = "adagard"\n'},
        "model.optimizer: 'adagard' is not a size: write a number and a unit, e.g. \"2.16 GB\"; or "
        "one of sgd, adagrad, rowwise-adagrad, adam",
    ),
    case(
        "optimizer-of-a-negative-size",
        {COSTS: COSTS + '[model]\nembedding = "1 GB"\noptimizer = "-1 GB"\n'},
        "model.optimizer: '-1 GB' is out of range: it must be >= 0",
    ),
    case(
        "state-of-rows-whose-number-is-unknown",
        {COSTS: COSTS + '[model]\nembedding = "1 GB"\noptimizer = "rowwise-adagrad"\n'},
        "model: optimizer = 'rowwise-adagrad' keeps one value for each row, but embedding gives no "
        "number of rows; give [[model.tables]] instead of embedding, or the size, e.g. optimizer = "
        '"2 GB"',
    ),
    case(
        "size-of-state-next-to-tables",
        {COSTS: COSTS + '[model]\noptimizer = "1 GB"\n[[model.tables]]\nrows = 1_000\ndim = 16\n'},
        "model: give the tables their optimizer_slots instead of a size for optimizer, or give its "
        'name, e.g. optimizer = "adagrad"',
    ),
    case(
        "memory-without-a-model",
        {CLUSTER: CLUSTER + 'memory = "512 GB"\n'},
        "cluster.memory: has no effect without [model], whose bytes must fit; give that, or leave "
        "this out",
    ),
    case(
        "no-memory",
        {CLUSTER: CLUSTER + 'memory = "0 B"\n'},
        "cluster.memory: '0 B' is out of range: it must be > 0",
    ),
    case(
        "batch-without-rows",
        {COSTS: COSTS + '[model]\nembedding = "1 GB"\nbatch = 512\n'},
        "model: 'batch' goes with preset or tables; leave it out",
    ),
    *(
        case(
            f"merge-after-{name}",
            {POLICY: f'system = "cpr-mfu"\ninterval = "1 h"\nmerge_after = {value}\n'},
            f"policies.full.merge_after{fault}",
        )
        for name, value, fault in (
            ("nothing", 0, ": 0 is out of range: it must be >= 1"),
            ("half-a-save", 2.5, ": 2.5 is not a whole number"),
        )
    ),
    case(
        "updates-of-a-table-without-those-of-all",
        {COSTS: COSTS + "[model]\ntables = [{ rows = 9, dim = 1, updates = [3, 1, 1, 1] }]\n"},
        "model.tables.0: updates goes with cluster.updates, of all tables; give both, or leave it "
        "out",
    ),
    case(
        "updates-of-a-table-for-other-servers",
        {
            CLUSTER: CLUSTER + "updates = [1, 1, 1, 2]\n",
            COSTS: COSTS + "[model]\ntables = [{ rows = 9, dim = 1, updates = [3, 1, 1] }]\n",
        },
        "model.tables.0: updates has 3 numbers for 4 parameter_servers; give one for each, or "
        "leave it out",
    ),
    case(
        "no-gradient-directions",
        {COSTS: COSTS + '[model]\npreset = "criteo-kaggle"\ngradient_directions = 0\n'},
        "model.gradient_directions: 0 is out of range: it must be >= 1",
    ),
    case(
        "renewed-without-rows",
        {COSTS: COSTS + '[model]\nembedding = "1 GB"\nrenewed = "5 %"\n'},
        "model: 'renewed' goes with preset or tables; leave it out",
    ),
    case(
        "renewed-as-a-number",
        {COSTS: COSTS + '[model]\npreset = "criteo-kaggle"\nrenewed = 0.05\n'},
        'model.renewed: 0.05 is not a share: write a percentage from 0% to 100%, e.g. "25%"',
    ),
    case(
        "model-without-a-size",
        {COSTS: COSTS + '[model]\ndense = "1 MB"\n'},
        "model: give one of preset, tables, embedding; found none",
    ),
    case(
        "unknown-preset",
        {COSTS: COSTS + '[model]\npreset = "kaggle"\n'},
        "model.preset: 'kaggle' is not one of 'criteo-kaggle', 'criteo-terabyte', "
        "'dlrm-production' or 'ecrec-criteo'",
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
        "engine 'simpy' is not one of auto, sim, batch",
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
            'policies: there are none; write e.g. [policies.full] with system = "full", '
            "or let cprsim advise ask all systems",
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
    if name == "advise":  # which asks every system, and needs no policies
        error = error.partition("\npolicies: there are none")[0]
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
    Path("a.toml").write_text(GOOD, encoding="utf-8")
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
