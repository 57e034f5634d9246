"""Every kind of wrong log is told in one line: where it is, what is wrong."""

from collections import Counter

import pytest

from cprsim.errors import LogError
from cprsim.failures.logs.intervals import read_intervals
from cprsim.failures.logs.readers import READERS, read_log
from tests.failures.malformed import CASES as COMMON
from tests.failures.malformed import Case
from tests.failures.malformed_clusters import CLUSTER_CASES

CASES = [*COMMON, *CLUSTER_CASES]


def read(case: Case) -> object:
    if case.reader == "intervals":
        return read_intervals(case.name)
    return read_log(case.name, case.reader, case.system)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_malformed_log_is_one_line(case: Case, tmp_path, monkeypatch) -> None:
    case.place(tmp_path)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(LogError) as caught:
        read(case)

    assert str(caught.value) == case.error
    assert len(case.error.splitlines()) == 1


def test_every_reader_has_15_cases_and_every_case_its_own_name() -> None:
    counts = Counter(case.reader for case in CASES)
    assert counts.keys() == {*READERS, "intervals"}
    assert min(counts.values()) >= 15
    assert set(Counter(case.id for case in CASES).values()) == {1}
