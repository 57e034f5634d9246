"""Replayed logs against their fitted laws: they agree, or the tool has said that they won't."""

import pytest

from docs.replayed import row_heads, rows, section
from docs.validation import PAGE
from tests.validation.replayed import LOGS, compare


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.fixture
def compared(request, folder):
    log = request.param
    if not log.there:
        pytest.skip(f"needs {log.path} of the shared data")
    return log, compare(log, folder)


by_log = pytest.mark.parametrize("compared", LOGS, ids=lambda log: log.name, indirect=True)


@pytest.mark.slow
@by_log
def test_an_adequate_law_costs_what_its_log_costs(compared):
    log, found = compared
    for policy, each in found.overheads.items():
        if found.fit.verdict.adequate:
            assert abs(each.z) < 3, (log.name, policy)
    assert rows(log, found) in PAGE.read_text(encoding="utf-8"), "run `make validation`"


@pytest.mark.slow
@pytest.mark.parametrize(
    "compared",
    [log for log in LOGS if log.reader != "lanl" and log.coalesce is None],
    ids=lambda log: log.name,
    indirect=True,
)
def test_the_logs_whose_laws_are_wrong_are_called_so(compared):
    """These would be misjudged by 10 % and more: the table isn't of logs that all agree."""
    _, found = compared

    assert not found.fit.verdict.adequate
    assert all(abs(each.z) > 5 for each in found.overheads.values())


def test_the_section_names_every_log():
    text = PAGE.read_text(encoding="utf-8")
    start = text.index("## Replayed logs")

    assert row_heads(text[start:]) == [log.name for log in LOGS]
    if not all(log.there for log in LOGS):
        assert section(text) in text
