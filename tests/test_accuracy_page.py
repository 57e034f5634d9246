"""docs/accuracy.md against the runs that are kept, and the scenario that takes its slopes."""

from cprsim.scenario import load_scenario
from cprsim.studies import findings
from tools.pages import accuracy

HINT = "docs/accuracy.md is out of date; run `make study` and commit what it makes"


def test_the_page_is_made_of_the_kept_runs() -> None:
    page = accuracy.page(findings.read_runs(accuracy.RUNS), accuracy.about_runs())
    assert page == accuracy.PAGE.read_text(encoding="utf-8"), HINT


def test_the_scenario_has_the_slopes_of_the_page() -> None:
    block = accuracy.SCENARIO.read_text(encoding="utf-8").partition(accuracy.MARK)[2]
    assert block, HINT
    assert f"```toml\n{block}```" in accuracy.PAGE.read_text(encoding="utf-8"), HINT
    found = load_scenario(accuracy.SCENARIO).accuracy
    assert found is not None
    assert {"cpr-vanilla", "cpr-mfu", "cpr-ssu", "cpr-scar"} == {*found.systems}
