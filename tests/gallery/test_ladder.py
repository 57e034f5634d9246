"""Levers: by hand where nothing fails, and against what Meta publishes of both ends of its jobs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cprsim.cli.command import _main
from cprsim.errors import ScenarioError
from cprsim.report.gallery import tables
from cprsim.report.gallery.levers import load_levers
from cprsim.report.gallery.picture import PictureSource
from cprsim.report.gallery.registry import picture
from tools.reproduction import ladder as published

JOB = """
[job]
useful_time = "10 h"

[cluster]
parameter_servers = 2

[costs]
save = "10 min"
load = "0 s"
shutdown = "1 h"

[failures]
exactly = 0

[policies.mine]
system = "full"
interval = "1 h"

[policies.other]
system = "full"
interval = "1 h"
"""
LEVERS = """
[levers.publishing]
costs.shutdown = "30 min"

[levers.rarer]
policies.mine.interval = "5 h"

[levers.another]
policies.mine = { system = "async", interval = "2 h", snapshot = "3 min" }
"""
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(levers: str) -> Path:
        path = tmp_path / "job.toml"
        path.write_text(JOB + levers, encoding="utf-8")
        return path

    return written


def test_levers_by_hand(write: Write) -> None:
    # 10 h of training; 9 saves of 10 min, then 1; a save at the last second is left out; or four
    # snapshots of 3 min. Causes are shares of the wall clock.
    rows = tables.ladder(PictureSource(write(LEVERS)), 2).rows.set_index(["way", "lever"])
    for way, lever, waits_min, ends_min in (
        ("together", "as it is", 90, 60),
        ("together", "publishing", 90, 30),
        ("together", "rarer", 10, 30),
        ("together", "another", 12, 30),
        ("alone", "publishing", 90, 30),
        ("alone", "rarer", 10, 60),
        ("alone", "another", 12, 60),
    ):
        row = rows.loc[way, lever]
        wall_min = 600 + waits_min + ends_min
        assert row["ett"] == pytest.approx(600 / wall_min, rel=1e-12)
        cause = "stall" if lever == "another" else "save"
        assert row[cause] == pytest.approx(waits_min / wall_min, rel=1e-9)
        assert row["shutdown"] == pytest.approx(ends_min / wall_min, rel=1e-9)
        assert row["ett_half"] == pytest.approx(0, abs=1e-12)
    assert len(rows) == 7
    assert rows.loc["together", "sets"].tolist() == [
        "",
        "shutdown 30 min",
        "interval 5 h",
        "async, interval 2 h, snapshot 3 min",
    ]


def test_a_policy_with_a_system_is_a_new_one_and_stays_in_its_place(write: Write) -> None:
    policies = load_levers(write(LEVERS)).scenario(["rarer", "another"]).policies
    assert [*policies] == ["mine", "other"]
    assert policies["mine"].mapping()["snapshot"] == "3 min"


@pytest.mark.parametrize(
    ("levers", "said"),
    [
        (
            "",
            "{path}: has no [levers]; give each a name and what it sets, e.g. [levers.publishing] "
            'and in it costs.shutdown = "5 min"',
        ),
        (
            "[levers]\npublishing = 3",
            "levers.publishing: 3 is not a table; write what it sets, e.g. costs.shutdown = "
            '"5 min"',
        ),
        (
            "[levers.publishing]\n[levers.publishing.costs]",
            'levers.publishing: sets nothing; write e.g. costs.shutdown = "5 min", or leave it out',
        ),
        (
            '[levers.a]\ncosts.shutdwn = "5 min"',
            "with levers.a: costs.shutdwn: unknown key; did you mean 'shutdown'?",
        ),
        (
            '[levers.a]\npolicies.mine.intervall = "5 min"',
            "with levers.a: policies.mine.intervall: unknown key; did you mean 'interval'?",
        ),
        (
            '[levers.a]\ncosts.shutdown.mean = "5 min"',
            "with levers.a: levers.a.costs.shutdown.mean: 'shutdown' is a value, not a table",
        ),
    ],
)
def test_what_is_wrong_with_levers_is_said_in_a_line(
    write: Write, levers: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write(levers)
    assert _main(["figure", "ett-ladder", str(path), "--out", str(tmp_path / "it.png")]) == 2
    assert capsys.readouterr().err == f"cprsim: {said.format(path=path)}\n"
    assert not (tmp_path / "it.png").exists()


def test_a_fault_of_the_job_itself_has_no_lever(write: Write) -> None:
    path = write(LEVERS)
    path.write_text(path.read_text().replace('"10 h"', '"ten"'))
    with pytest.raises(ScenarioError, match=r"^job\.useful_time: "):
        load_levers(path).scenario()


def test_two_jobs_at_59_and_85_percent_end_within_two_points_of_what_is_published() -> None:
    lines = published.lines(picture("ett-ladder").found())[:4]
    assert [line.published for line in lines] == [59, 80, 85, 93]
    assert [line.role for line in lines] == ["calibrated", "prediction"] * 2
    for line in lines:
        # With its 95 % interval: 2 points are the project's aim, none of them is noise.
        assert abs(line.measured.value - line.published) + line.measured.half <= 2
