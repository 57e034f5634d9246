"""Whether nodes of real logs differ, as docs/validation.md tells."""

import pytest

from tools.pages.validation import PAGE
from tools.paths import SHARED
from tools.validation.frailty_section import HEADING, LOGS, found, row


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGS)
def test_nodes_of_a_log_differ_or_not_as_the_page_has_it(name: str):
    """Nodes of LANL do, by a few that no gamma frailty explains; those of others don't."""
    if not (SHARED / LOGS[name][0]).exists():
        pytest.skip(f"needs {LOGS[name][0]} of the shared data")
    fitted = found(name)

    assert (fitted.share > fitted.alike[1]) == name.startswith("LANL")
    if fitted.found.is_sure and name not in ("LANL 6", "Grid'5000 site6/c1"):
        assert fitted.worst > fitted.frail_worst[1]
        assert not fitted.is_wanted
    assert row(name, fitted) in PAGE.read_text(encoding="utf-8"), "run `make validation`"


def test_the_section_names_every_log():
    text = PAGE.read_text(encoding="utf-8")
    section = text[text.index(HEADING) :].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and " to " in line]

    assert [line.split(" | ")[0][2:] for line in lines] == [*LOGS]
