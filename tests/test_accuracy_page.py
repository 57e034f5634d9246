"""docs/accuracy.md and its like against the runs that are kept, and scenarios with their slopes."""

import pytest

from cprsim.scenario import load_scenario
from tools.pages import accuracy
from tools.pages.accuracy_sources import SOURCES, Source

EACH = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


def hint(source: Source) -> str:
    return f"{source.page} is out of date; run `make study DATA={source.name}` and commit it"


@EACH
def test_the_page_is_made_of_the_kept_runs(source: Source) -> None:
    assert accuracy.page(source) == source.page.read_text(encoding="utf-8"), hint(source)


@EACH
def test_the_scenario_has_the_slopes_of_the_page(source: Source) -> None:
    block = source.scenario.read_text(encoding="utf-8").partition(accuracy.MARK)[2]
    assert block, hint(source)
    assert f"```toml\n{block}```" in source.page.read_text(encoding="utf-8"), hint(source)
    found = load_scenario(source.scenario).accuracy
    assert found is not None
    assert {"cpr-vanilla", "cpr-mfu", "cpr-ssu", "cpr-scar"} == {*found.systems}
