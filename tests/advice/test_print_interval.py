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
