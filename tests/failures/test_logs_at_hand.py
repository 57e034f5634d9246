"""Every log of the shared data is read without saying what it is: as many failures as a count."""

import csv
import gzip
import io
import json
import lzma
from collections import Counter
from pathlib import Path

import pytest

import cprsim
from cprsim.errors import LogError
from cprsim.failures.logs.intervals import read_intervals
from cprsim.failures.logs.source import LogSource
from tests.survival.cases import SHARED

UNPACK = {".gz": gzip.decompress, ".xz": lzma.decompress}
#: Files of the shared data that are logs of failures, or of lives; but for the archive of spot.
#: That, and those of Grid'5000, are counted in test_availability.py.
LOGS = (
    "alibaba_ssd/ssd_failures_trimmed.csv.gz",
    "grid5000_fta/g5k_dev_site3_c1.tab.gz",
    "grid5000_fta/g5k_dev_site6_c1.tab.gz",
    "lanl_failures/lanl_dev_systems_3_4_5_6_8_18_20.csv.gz",
    "stepfun_faults/fault_trace_dev.json.gz",
    "titan_gpu/gc_summary_loc.csv.gz",
)
#: And those that are none; a folder that is new belongs to either.
OTHERS = (
    "dlrm_locality_stats/locality_stats_2021.txt",
    "dlrm_locality_stats/locality_stats_2022.txt",
    "dlrm_locality_stats/locality_summary.csv",
    "gowalla_1m/test.txt.xz",
    "gowalla_1m/train.txt.xz",
    "gowalla_1m/valid.txt.xz",
    "mlperf_storage_v3_ckpt/ckpt_dev.csv",
)


def there(name: str) -> Path:
    if not (SHARED / name).exists():
        pytest.skip(f"needs {name} of the shared data")
    return SHARED / name


def text_of(path: Path) -> str:
    return UNPACK[path.suffix](path.read_bytes()).decode("latin-1")


def counted(name: str, text: str) -> int:
    """Failures of a log, by no code of the project."""
    folder = name.split("/", maxsplit=1)[0]
    if folder == "alibaba_ssd":
        return len(text.splitlines()) - 1
    if folder == "stepfun_faults":
        return sum(each["event_type"] == "fault_start" for each in json.loads(text))
    return sum(row["dead"] == "TRUE" for row in csv.DictReader(io.StringIO(text)))  # Titan


@pytest.mark.parametrize("name", [LOGS[0], *LOGS[4:]])
def test_a_log_is_read_without_its_reader(name):
    path = there(name)
    found = cprsim.fit(path)

    if name.startswith("titan"):
        assert found.source.reader == "intervals"
        lives = read_intervals(path)
        assert (
            int(lives.observed.sum()) == found.view.sample.failures == counted(name, text_of(path))
        )
        assert found.view.per == "node"
        return
    assert len(found.source.failures()) == counted(name, text_of(path))


def test_lanl_lists_its_systems_and_each_is_read():
    path = there(LOGS[3])
    rows = list(csv.DictReader(io.StringIO(text_of(path))))
    known = Counter(
        int(row["System"])
        for row in rows
        if row["Prob Started"].strip() and 0 <= int(row["nodenumz"]) < int(row["nodes"])
    )

    with pytest.raises(LogError) as caught:
        cprsim.fit(path)

    for system, failures in known.items():
        assert f"{system} (" in str(caught.value)
        assert len(LogSource.from_options(path, system=system).failures()) == failures


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_log_is_refused(name):
    with pytest.raises(LogError, match="looks like none of the logs that are known"):
        cprsim.fit(there(name))
