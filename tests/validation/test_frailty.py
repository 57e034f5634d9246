"""Whether nodes of real logs differ, as docs/validation.md tells."""

import pytest

from tools.pages.validation import PAGE
from tools.paths import SHARED
from tools.validation.frailty_section import HEADING, LOGS, found, row

QUICK = "LANL 6"
#: Of these a few nodes are worse than a gamma frailty has them, which the page says.
WORSE = ("LANL 8", "LANL 18")


@pytest.mark.parametrize(
    "name", [name if name == QUICK else pytest.param(name, marks=pytest.mark.slow) for name in LOGS]
)
def test_a_frailty_says_why_the_worst_nodes_have_so_many_failures(name: str):
    """Nodes of LANL differ, and alike ones don't do it; others need no frailty, or a tiny one."""
    if not (SHARED / LOGS[name][0]).exists():
        pytest.skip(f"needs {LOGS[name][0]} of the shared data")
    fitted = found(name)

    differ = name.startswith("LANL")
    assert (fitted.share > fitted.alike[1]) == differ
    assert fitted.found.is_sure or not differ
    if differ:
        low, high = fitted.frail
        assert (fitted.share > high) == (name in WORSE)
        assert fitted.share >= low
    assert row(name, fitted) in PAGE.read_text(encoding="utf-8"), "run `make validation`"


def test_the_section_names_every_log():
    text = PAGE.read_text(encoding="utf-8")
    section = text[text.index(HEADING) :].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and " to " in line]

    assert [line.split(" | ")[0][2:] for line in lines] == [*LOGS]
