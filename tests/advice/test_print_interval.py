"""`cprsim advise --print interval`: one number for a shell script."""

from pathlib import Path

import pytest

from cprsim.cli.command import _main

JOB = """
[job]
useful_time = "100 h"
{samples}
[model]
tables = [{{ rows = 1000, dim = 8 }}]
{batch}
[cluster]
parameter_servers = 4
[costs]
save = "6 min"
load = "6 min"
[failures]
distribution = "exponential"
mean = "20 h"
[policies.full]
system = "full"
interval = "2 h"
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.toml"
    text = JOB.format(samples="samples = 36_000_000", batch="batch = 1000")
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("more", "number"), [([], "7200"), (["--steps"], "720")])
def test_the_number_alone(
    job: Path, more: list[str], number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The interval of the file is as good as any: two hours of a hundred, in which 36,000 steps."""
    asked = ["advise", str(job), "--system", "full", "--print", "interval", *more]
    assert _main(asked) == 0
    assert capsys.readouterr().out == f"{number}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--print", "policy"], "--print policy: only the interval can be printed alone"),
        (["--steps"], "--steps goes with --print interval"),
        (["--print", "interval", "--json"], "--print and --json: choose one of them"),
    ],
)
def test_mistakes(
    job: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _main(["advise", str(job), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_steps_need_the_samples_of_a_step(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job.write_text(JOB.format(samples="", batch=""), encoding="utf-8")
    asked = ["advise", str(job), "--system", "full", "--print", "interval", "--steps"]
    assert _main(asked) == 2
    assert "--steps needs job.samples and model.batch" in capsys.readouterr().err
