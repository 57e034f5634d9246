"""docs/accuracy.md against the runs that are kept, and scenarios with their slopes."""

import pytest

from cprsim.scenario import load_scenario
from cprsim.trainer.studies.findings import with_drops
from tests.studies.made_up import study
from tools.pages import accuracy
from tools.pages.accuracy_compared import Study, section
from tools.pages.accuracy_sources import SOURCES, Source

EACH = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


HINT = "docs/accuracy.md is out of date; run `make study` and commit it"


def compared(turned: float) -> str:
    """A study beside itself with the gain of cpr-mfu over cpr-vanilla times `turned`."""
    first = with_drops(study(8, noise=1e-5), "it")
    worse = 0.015 * (1 - turned) * first["pls"].where(first["policy"] == "cpr-mfu", 0.0)
    second = first.assign(auc=first["auc"] - worse, auc_drop=first["auc_drop"] + worse)
    return section(Study("these", first), Study("those", second))


@pytest.mark.parametrize(
    ("turned", "slope", "told"),
    [
        (1.0, "equal", "so the gain holds on both"),
        (0.0, "different", "so nothing is gained on those"),
        (-1.0, "different", "so on those it is a loss"),
    ],
)
def test_what_becomes_of_a_gain_on_other_data(turned: float, slope: str, told: str) -> None:
    found = compared(turned)
    (mfu,) = (line for line in found.splitlines() if line.startswith("| cpr-mfu | 0.0050 ("))
    assert mfu.endswith(f"| {slope} |")
    assert told in found
    (vanilla,) = (line for line in found.splitlines() if line.startswith("| cpr-vanilla | 0.0200"))
    assert vanilla.endswith("| equal |")


@pytest.mark.slow
def test_the_page_is_made_of_the_kept_runs() -> None:
    assert accuracy.page() == accuracy.PAGE.read_text(encoding="utf-8"), HINT


@pytest.mark.slow
def test_the_tables_beside_the_page_are_made_of_the_kept_runs() -> None:
    for name, text in accuracy.beside_page().items():
        assert (accuracy.PAGE.parent / name).read_text(encoding="utf-8") == text, HINT


@EACH
def test_the_scenario_has_the_slopes_of_its_study(source: Source) -> None:
    block = source.scenario.read_text(encoding="utf-8").partition(accuracy.MARK)[2]
    assert block == accuracy.block(source), HINT
    found = load_scenario(source.scenario).accuracy
    assert found is not None
    assert {"cpr-vanilla", "cpr-mfu", "cpr-ssu", "cpr-scar"} == {*found.systems}
