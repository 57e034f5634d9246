"""What every source of samples holds, and whether the planted teacher can be learned."""

import gzip
import pickle
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from cprsim.errors import CprsimError, UsageError
from cprsim.rows.skew import DLRM_PRODUCTION, Skew
from cprsim.trainer.data import DataError, Planted, read_criteo
from cprsim.trainer.data.movielens import read_movielens
from tests.rows.exact import of_each_row
from tests.trainer.sources import GENRES, criteo, criteo_lines, movielens, movielens_files

SMALL = {"samples": 1000, "test_samples": 300, "batch_size": 64}


@pytest.fixture(params=["planted", "criteo", "movielens"])
def make(request, tmp_path):
    """A source by its seed."""

    def made(seed):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        if request.param == "planted":
            return Planted(seed=seed, **SMALL)
        read = criteo if request.param == "criteo" else movielens
        return read(tmp_path, folder, batch_size=64, seed=seed)

    return made


# --- Every source --------------------------------------------------------------------------------


def test_batches_have_their_shapes_types_and_ranges(make):
    data = make(0)
    assert data.steps > 0
    assert data.test_steps > 0
    rows = np.array([table.rows for table in data.tables])
    for step in range(data.steps + data.test_steps):
        dense, sparse, labels = data.batch(step)
        assert (dense.shape, dense.dtype) == ((64, data.dense), np.float32)
        assert (sparse.shape, sparse.dtype) == ((64, len(data.tables)), np.int64)
        assert (labels.shape, labels.dtype) == ((64,), np.float32)
        assert (sparse >= 0).all()
        assert (sparse < rows).all()
        assert set(labels.tolist()) <= {0.0, 1.0}
        assert np.isfinite(dense).all()


def test_a_batch_depends_on_seed_and_step_alone(make):
    """Whatever was asked for before, and in a copy that another process would get."""
    data = make(3)
    steps = data.steps + data.test_steps
    expected = [data.batch(step) for step in range(steps)]
    sent = pickle.dumps(data)
    assert len(sent) < 10_000  # neither samples nor what is worked out goes along
    for other in (data, make(3), pickle.loads(sent)):
        for step in reversed(range(steps)):
            for one, two in zip(other.batch(step), expected[step], strict=True):
                assert one.tobytes() == two.tobytes()


def test_there_is_no_batch_beyond(make):
    data = make(0)
    text = f"there are {data.steps} steps to train and {data.test_steps} to test"
    for step in (-1, data.steps + data.test_steps):
        with pytest.raises(IndexError, match=f"^step {step}: {text}$"):
            data.batch(step)


# --- The planted teacher -------------------------------------------------------------------------


def probability(data: Planted, batch):
    """Of a label 1, as the teacher has it: no model predicts better."""
    return data._teacher.probability(batch.dense, batch.sparse)


def test_rows_are_as_popular_as_asked():
    """Share of the accesses that the published shares of rows get, whichever rows these are."""
    data = Planted(samples=64_000, batch_size=8000, rows=(2000,))
    ids = np.concatenate([data.batch(step).sparse[:, 0] for step in range(data.steps)])
    skew = Skew(name="dlrm-production").popularity(2000)
    counts = np.bincount(ids, minlength=2000)
    # Counts as NumPy draws them from the same popularity: whichever come out largest.
    drawn = np.random.default_rng(0).multinomial(ids.size, of_each_row(skew), size=50)
    for share, accesses in DLRM_PRODUCTION:
        top = round(share * 2000)
        ours, theirs = (np.sort(each)[..., -top:].sum(-1) / ids.size for each in (counts, drawn))
        assert abs(theirs.mean() - accesses) < 0.02  # the published share, and luck on top
        assert abs(ours - theirs.mean()) < 4 * theirs.std()
    # Hot rows are anywhere: 20 numbers below 2,000 have a mean of 1,000, variance 2000^2 / 12 / 20.
    assert abs(np.argsort(-counts)[:20].mean() - 1000) < 4 * 2000 / (12 * 20) ** 0.5


def test_labels_are_drawn_from_the_teachers_probabilities():
    data = Planted(samples=40_000, batch_size=10_000)
    batches = [data.batch(step) for step in range(data.steps)]
    chances = np.concatenate([probability(data, batch) for batch in batches])
    labels = np.concatenate([batch.labels for batch in batches])
    for low in np.arange(0, 1, 0.2):
        there = (chances >= low) & (chances < low + 0.2)
        error = (chances[there] * (1 - chances[there])).sum() ** 0.5
        assert abs(labels[there].sum() - chances[there].sum()) < 4 * error


def test_the_teacher_is_what_it_says_it_is():
    """Of two tables without latent vectors: bias, dense and rows; by hand, pair by pair, with."""
    data = Planted(rows=(5, 4, 3), dense=2, **SMALL)
    teacher, batch = data._teacher, data.batch(0)
    starts = (0, 5, 9)
    for sample in range(10):
        ids = [start + row for start, row in zip(starts, batch.sparse[sample], strict=True)]
        logit = -1.0 + sum(batch.dense[sample] * teacher._dense)
        logit += sum(teacher._effects[row] for row in ids)
        for first, second in ((0, 1), (0, 2), (1, 2)):
            logit += teacher._latent[ids[first]] @ teacher._latent[ids[second]]
        assert probability(data, batch)[sample] == pytest.approx(1 / (1 + np.exp(-logit)))


def test_a_test_set_smaller_than_a_batch_is_refused():
    with pytest.raises(UsageError, match=r"^test_samples = 511: fewer than a batch of 512$"):
        Planted(test_samples=511)


# --- Criteo --------------------------------------------------------------------------------------


def write(path: Path, lines: list[str], end: str = "\n") -> Path:
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def line(label: str = "1", **fields: str) -> str:
    """A line with only the fields given: I1 to I13 and C1 to C26."""
    names = [f"I{n}" for n in range(1, 14)] + [f"C{n}" for n in range(1, 27)]
    return "\t".join([label, *(fields.get(name, "") for name in names)])


def test_criteo_by_hand(tmp_path):
    """Rows of a table of n: 0 for missing, else 1 + category mod (n - 1)."""
    lines = [
        line("1", I1="0", I2="7", I13="-2", C1="68fd1e64", C9="0", C3="ffffffff"),
        line("0", C2="80e26c9b", C26="a", I3="1000000"),
    ]
    data = read_criteo(write(tmp_path / "t", lines), tmp_path / "out", test_share=0.5, batch_size=1)
    assert (data.steps, data.test_steps, data.dense) == (1, 1, 13)
    # Cardinalities of Criteo Kaggle (facebookresearch/dlrm), those above 100,000 cut.
    rows = [table.rows for table in data.tables]
    assert rows[:5] == [1460, 583, 100_000, 100_000, 305]
    assert rows[8] == 3
    assert [data.tables[0].name, data.tables[25].name] == ["C1", "C26"]
    first, second = data.batch(0), data.batch(1)  # the second line is held out
    assert first.labels.tolist() == [1]
    assert second.labels.tolist() == [0]
    assert first.dense[0, [0, 1, 2, 12]] == pytest.approx([0, np.log(8), 0, 0])
    assert second.dense[0, 2] == pytest.approx(np.log(1_000_001))
    expected = np.zeros(26)
    expected[[0, 2, 8]] = [1 + 0x68FD1E64 % 1459, 1 + 0xFFFFFFFF % 99_999, 1]
    assert first.sparse[0].tolist() == expected.tolist()
    assert second.sparse[0, [1, 25]].tolist() == [1 + 0x80E26C9B % 582, 1 + 10 % (rows[25] - 1)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_gzipped_or_not_and_however_lines_end(tmp_path, end):
    lines = criteo_lines(30)
    plain = write(tmp_path / "plain", lines, end)
    zipped = tmp_path / "zipped"  # whatever its name: the content tells
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    one, two = (
        read_criteo(path, tmp_path / f"out-{path.name}", test_share=0.5, batch_size=3)
        for path in (plain, zipped)
    )
    for step in range(10):
        for a, b in zip(one.batch(step), two.batch(step), strict=True):
            assert a.tobytes() == b.tobytes()


def test_every_line_is_drawn_once_and_the_last_are_held_out_in_order(tmp_path):
    lines = [line(I1=str(number)) for number in range(100)]
    data = read_criteo(write(tmp_path / "t", lines), tmp_path / "out", batch_size=8, test_share=0.2)
    seen = [np.round(np.expm1(data.batch(step).dense[:, 0])).tolist() for step in range(12)]
    assert (data.samples, data.steps, data.test_steps) == (80, 10, 2)
    trained = list(chain.from_iterable(seen[:10]))
    assert sorted(trained) == list(range(80))
    assert trained != list(range(80))
    assert list(chain.from_iterable(seen[10:])) == list(range(80, 96))


def test_samples_come_again_where_there_are_more_steps(tmp_path):
    data = criteo(tmp_path, tmp_path / "out", batch_size=64)
    again = replace(data, cycled=10)
    steps = [*range(data.steps), *range(data.steps), *range(10 - 2 * data.steps)]

    assert (data.steps, data.test_steps, again.test_steps) == (4, 1, 1)
    for step, same in enumerate([*steps, data.steps]):
        for a, b in zip(again.batch(step), data.batch(same), strict=True):
            assert a.tobytes() == b.tobytes()
    assert replace(again, cycled=None) == data
    with pytest.raises(IndexError):
        again.batch(11)


def test_so_many_lines_are_read_as_asked(tmp_path):
    lines = [*[GOOD] * 9000, "not read"]  # more than are made into arrays at a time
    data = read_criteo(write(tmp_path / "t", lines), tmp_path / "out", most_samples=9000)
    assert data.samples + data.test_samples == 9000


GOOD = line(I1="1", C1="68fd1e64")


@pytest.mark.parametrize(
    "bad",
    [
        *("", GOOD[2:], GOOD + "\t", GOOD.replace("\t", ","), "2" + GOOD[1:], line("")),
        *(line(I3="1.5"), line(I13="-"), line(I1="٣"), line(C1="-1"), line(C2="0x1f")),
        *(line(C26="123456789"), line(C26="é")),
    ],
)
def test_malformed_lines_are_refused_with_their_number(tmp_path, bad):
    path = write(tmp_path / "train.txt", [*[GOOD] * 9000, bad, GOOD])
    with pytest.raises(DataError) as error:
        read_criteo(path, tmp_path / "out")
    assert str(error.value) == (
        f"{path}, line 9001: is not 40 fields separated by tabs: a label (0 or 1), 13 integers, "
        "and 26 categories of up to 8 hexadecimal digits; all but the label may be empty"
    )
    assert [each.name for each in tmp_path.iterdir()] == ["train.txt"]  # nothing is left behind


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "train.txt.gz"
    with pytest.raises(DataError, match=r"train\.txt\.gz: no such file; give"):
        read_criteo(path, tmp_path / "out")
    path.write_bytes(gzip.compress((GOOD + "\n").encode() * 9000)[:-10])
    with pytest.raises(DataError, match=r"after line 8192: Compressed file ended before"):
        read_criteo(path, tmp_path / "out")
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"^0 samples, 0 of them held out: too few for batches"):
        read_criteo(path, tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == ["train.txt.gz"]


# --- MovieLens -----------------------------------------------------------------------------------


def test_movielens_by_hand(tmp_path):
    """Each rating is once in a batch, with what the other files say of its user and film."""
    source = movielens_files(tmp_path / "ml", ratings=60)
    data = read_movielens(tmp_path / "out", source=source, test_share=0.5, batch_size=6)
    names = {table.name: table.rows for table in data.tables}
    assert names == {"user": 30, "film": 20, "occupation": 2, "gender": 2, "genre": 3}
    read = [each.split("\t") for each in (source / "ml-100k.inter").read_text().splitlines()[1:]]
    ratings = sorted((int(u) - 1, int(f) - 1, float(int(stars) >= 4)) for u, f, stars, _ in read)
    batches = [data.batch(step) for step in range(10)]
    found = [
        (*batch.sparse[at, :2].tolist(), batch.labels[at].item())
        for batch in batches
        for at in range(6)
    ]
    assert sorted(found) == ratings
    ages = [
        int(each.split("\t")[1]) for each in (source / "ml-100k.user").read_text().splitlines()[1:]
    ]
    first = [genre.split()[0] for genre in GENRES]
    years = np.arange(1982, 2001)
    for dense, sparse, _ in batches:
        for (age, year), (user, film, occupation, gender, genre) in zip(dense, sparse, strict=True):
            assert age == pytest.approx((ages[user] - np.mean(ages)) / np.std(ages), abs=1e-5)
            known = (1981 + film - years.mean()) / years.std() if film else 0
            assert year == pytest.approx(known, abs=1e-5)
            # User i has number i + 1: the odd ones are women and writers, in this made-up file.
            assert (occupation, gender) == ((1, 0) if user % 2 == 0 else (0, 1))
            assert sorted(first)[genre] == first[(film + 1) % 3]


def test_the_installed_recbole_is_found_without_running_it(tmp_path, monkeypatch):
    package = tmp_path / "recbole"
    movielens_files(package / "dataset_example" / "ml-100k")
    (package / "__init__.py").write_text("raise AssertionError('it runs')")
    monkeypatch.syspath_prepend(tmp_path)
    data = read_movielens(tmp_path / "out", batch_size=16)
    assert (data.samples, data.test_samples) == (360, 40)


def test_without_recbole_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CprsimError) as error:
        read_movielens(tmp_path / "out")
    assert str(error.value) == (
        "MovieLens-100K comes in the package recbole, which is not installed: "
        "pip install --no-deps recbole==1.2.1"
    )


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        ("ml-100k.inter", lambda text: text + "1\t2\n", "or one with too few fields"),
        (
            "ml-100k.inter",
            lambda text: text.replace("\n", "\t\n").replace("\t\n", "\n", 1),  # a field too many
            "does not match length of data",
        ),
        (
            "ml-100k.user",
            lambda text: text.replace("age:token", "years:token"),
            "no column 'age' among ['user_id', 'years', 'gender', 'occupation', 'zip_code']",
        ),
        ("ml-100k.user", lambda text: text.splitlines()[0], "has no lines"),
        ("ml-100k.item", lambda text: "", "No columns to parse"),
        ("ml-100k.item", lambda text: "\n".join(text.splitlines()[:-1]), "item_id 20 has ratings"),
        ("ml-100k.user", None, "no such file"),
    ],
)
def test_movielens_files_that_cannot_be_used(tmp_path, name, change, text):
    source = movielens_files(tmp_path / "ml")
    path = source / name
    if change is None:
        path.unlink()
    else:
        path.write_text(change(path.read_text()))
    with pytest.raises(DataError) as error:
        read_movielens(tmp_path / "out", source=source)
    assert text in str(error.value)
    assert "\n" not in str(error.value)
