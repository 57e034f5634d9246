import csv
import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from cprsim.advice.access_log import read_accesses
from cprsim.basics.schema import Section
from cprsim.errors import LogError
from cprsim.rows.skew import DLRM_PRODUCTION, Skew, read_curve
from tests.rows.exact import of_each_row

DATA = Path(__file__).parents[2] / "../shared/data"
LOCALITY = DATA / "dlrm_locality_stats/locality_summary.csv"
GOWALLA = DATA / "gowalla_1m"


class Table(Section):
    skew: Skew


def skew(value) -> Skew:
    return Table(skew=value).skew


@pytest.mark.parametrize(
    "value", ["uniform", "dlrm-production", {"zipf": 0.95}, {"curve": "c.csv"}]
)
def test_a_skew_is_written_as_it_was_read(value):
    table = Table(skew=value)

    assert table.mapping() == {"skew": value}
    assert Table(**table.mapping()) == table


def test_what_the_forms_mean(tmp_path):
    file = tmp_path / "curve.csv"
    file.write_text("rows_share,accesses_share\n0.1,0.6\n0.5,0.9\n")

    assert of_each_row(skew("uniform").popularity(10)) == pytest.approx(0.1)
    zipf = of_each_row(skew({"zipf": 1}).popularity(3))
    assert zipf == pytest.approx(np.array([6, 3, 2]) / 11)
    popularity = skew({"curve": str(file)}).popularity(1000)
    assert [popularity.top_share(share) for share in (0.1, 0.5)] == pytest.approx([0.6, 0.9])
    production = skew("dlrm-production").popularity(10**8)
    assert production.top_share(0.01) == pytest.approx(0.466)
    assert production.top_share(0.125) == pytest.approx(0.737)


def test_a_file_that_holds_no_concave_curve(tmp_path):
    file = tmp_path / "curve.csv"
    file.write_text("rows_share,accesses_share\n0.5,0.5\n0.4,0.6\n")

    with pytest.raises(LogError) as error:
        skew({"curve": str(file)}).popularity(10)
    assert str(error.value) == (
        f"{file}: the point 0.4, 0.6 comes after 0.5, 0.5: both shares ascend"
    )
    with pytest.raises(LogError, match="no such file"):
        skew({"curve": str(tmp_path / "none.csv")}).popularity(10)


@pytest.mark.parametrize(
    "content",
    ["0 4 2 4\n7\n\n1 0 4 2\n", "4\n2\n4\n\n0\n4\n2\n"],
    ids=["users with their rows", "a row a line"],
)
@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".txt.xz"])
def test_accesses_are_counted(tmp_path, content, suffix):
    file = tmp_path / f"log{suffix}"
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(file.suffix, open)
    with opener(file, "wt") as out:
        out.write(content)

    assert read_accesses(file).tolist() == [1, 0, 2, 0, 3]


def test_a_log_longer_than_the_buffer(tmp_path, monkeypatch):
    monkeypatch.setattr("cprsim.advice.access_log._BUFFER", 4)
    file = tmp_path / "log.txt"
    file.write_text("".join(f"{i * i % 11}\n" for i in range(100)))

    expected = np.bincount(np.arange(100) ** 2 % 11)
    assert read_accesses(file).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("read", "content", "text"),
    [
        (read_curve, "", ": holds no point; write rows_share,accesses_share and shares below"),
        (read_curve, "rows_share,accesses_share\n", ": holds no point; write "
         "rows_share,accesses_share and shares below"),
        (read_curve, "rows,accesses\n0.1,0.5\n", ":1: the header is 'rows,accesses'; it must be "
         "rows_share,accesses_share"),
        (read_curve, "rows_share,accesses_share\n0.1\n", ":2: the row has 1 cells, the header has "
         "2"),
        (read_curve, "rows_share,accesses_share\n0.1,half\n", ":2: accesses_share is 'half', not a "
         "number"),
        (read_curve, "rows_share,accesses_share\n\n1,46\n", ":3: accesses_share is '46'; shares go "
         "from 0 to 1, so write 0.01 for 1 %"),
        (read_accesses, "\n", ": names no row"),
        (read_accesses, "1\n2\n3 4\n", ":3: has 2 ids, the first line has one: give either one a "
         "line, or a user and ids"),
        (read_accesses, "5\n-1\n", ":2: '-1' is not the number of a row, 0 or more"),
        (read_accesses, "0 1 x\n", ":1: 'x' is not the number of a row, 0 or more"),
        (read_accesses, "100000000\n", ":1: row 100000000 is beyond 1e8; number the rows from 0 "
         "on"),
        (read_accesses, "3\n" + "9" * 40, f":2: row {'9' * 30} is beyond 1e8; number the rows from "
         "0 on"),
    ],
)  # fmt: skip
def test_faults_of_files(tmp_path, read, content, text):
    file = tmp_path / "file"
    file.write_text(content)

    with pytest.raises(LogError) as error:
        read(file)
    assert str(error.value) == f"{file}{text}"


@pytest.mark.skipif(not LOCALITY.exists(), reason="needs the locality statistics in shared/data")
def test_the_production_curve_is_the_mean_of_the_published_ones():
    with LOCALITY.open() as file:
        rows = list(csv.DictReader(file))
    columns = ["top0.1pct", "top1pct", "top5pct", "top12.5pct", "top20pct"]

    assert len(rows) == 33
    assert [share for share, _ in DLRM_PRODUCTION] == [0.001, 0.01, 0.05, 0.125, 0.2]
    for (_, accesses), column in zip(DLRM_PRODUCTION, columns, strict=True):
        assert accesses == pytest.approx(np.mean([float(row[column]) for row in rows]), abs=5e-4)


@pytest.mark.skipif(not GOWALLA.exists(), reason="needs the Gowalla check-ins in shared/data")
def test_gowalla():
    """217,242 check-ins of the test split, at 40,981 places in all (SOURCE.md)."""
    counted = read_accesses(GOWALLA / "test.txt.xz")

    assert counted.sum() == 217_242
    assert len(counted) <= 40_981
