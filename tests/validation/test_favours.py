"""docs/favours.md says what the program does; some rows are played again."""

import pytest

from tools.pages import favours
from tools.paths import DOCS

TEXT = favours.PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("row", [favours.WAITS[2], favours.WAITS[3]], ids=" and ".join)
def test_the_page_has_what_waiting_costs(row: tuple[str, str]) -> None:
    assert favours.waits(*row) in TEXT


@pytest.mark.slow
def test_the_page_has_where_jobs_start_and_what_learning_is_worth() -> None:
    assert favours.starts(*favours.STARTS[0]) in TEXT
    assert favours.targets(*favours.TARGETS[2]) in TEXT
    assert favours.charges("5 % of the saves are void, and left out") in TEXT
    assert favours.retrained() in TEXT


def test_what_tracking_takes_is_what_was_measured() -> None:
    measured = (DOCS / "performance.md").read_text(encoding="utf-8")
    (row,) = [line for line in measured.splitlines() if "| 1,000,000 | 512 | MFU |" in line]
    assert row.split(" | ")[5] == f"{favours.TRACKING:.1%}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "policy", "while_waiting", "published"),
    [
        # Of an independent Monte Carlo with an MTBF of 1 h and 20 min of waiting; its own error is
        # that of the last digit that it tells.
        ("overhead", "full", "false", 1.202),
        ("overhead", "partial", "true", 0.738),
        ("overhead", "cpr", "true", 0.511),
        ("pls", "cpr", "true", 0.151),
        ("updates_lost", "cpr", "true", 0.137),
    ],
)
def test_waiting_costs_what_an_independent_simulation_says(
    measure: str, policy: str, while_waiting: str, published: float
) -> None:
    row = favours.played(
        *favours.law("1 h", "20 min"), f"failures.while_waiting={while_waiting}"
    ).summary.loc[policy]
    error = (row[f"{measure}_high"] - row[f"{measure}_low"]) / (2 * 1.96)
    assert abs(row[measure] - published) <= 3 * error * 2**0.5 + 0.0005
