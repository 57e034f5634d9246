"""Whether nodes of real logs differ, as docs/frailty.csv has it."""

import pandas as pd
import pytest

from tests.tiers import one_of_each
from tools.paths import SHARED
from tools.tables import csv_line
from tools.validation.frailty_section import LOGS, TABLE, found, row


@pytest.mark.slow
@pytest.mark.parametrize("name", one_of_each(("LANL 3", "LANL 6", "StepFun"), LOGS))
def test_nodes_of_a_log_differ_or_not_as_the_page_has_it(name):
    """Nodes of LANL do, by a few that no gamma frailty explains; those of others don't."""
    if not (SHARED / LOGS[name][0]).exists():
        pytest.skip(f"needs {LOGS[name][0]} of the shared data")
    fitted = found(name)

    assert (fitted.share > fitted.alike[1]) == name.startswith("LANL")
    if fitted.found.is_sure and name not in ("LANL 6", "Grid'5000 site6/c1"):
        assert fitted.worst > fitted.frail_worst[1]
        assert not fitted.is_wanted
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    assert csv_line(row(name, fitted)) in lines, "run `make validation`"


def test_the_table_has_every_log():
    assert [*pd.read_csv(TABLE)["log"]] == [*LOGS]
