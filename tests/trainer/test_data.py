"""What every source of samples holds, and whether the planted teacher can be learned."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from cprsim.errors import UsageError
from cprsim.rows.skew import DLRM_PRODUCTION, Skew
from cprsim.trainer.data import Planted
from tests.rows.exact import of_each_row
from tests.trainer.sources import criteo, movielens

SMALL = {"samples": 1000, "test_samples": 300, "batch_size": 64}


@pytest.fixture(params=["planted", "criteo", "movielens"])
def make(request, tmp_path: Path):
    """A source by its seed."""

    def made(seed: int):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        if request.param == "planted":
            return Planted(seed=seed, **SMALL)
        read = criteo if request.param == "criteo" else movielens
        return read(tmp_path, folder, batch_size=64, seed=seed)

    return made


# --- Every source --------------------------------------------------------------------------------


def test_batches_have_their_shapes_types_and_ranges(make) -> None:
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


def test_a_batch_depends_on_seed_and_step_alone(make) -> None:
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


def test_there_is_no_batch_beyond(make) -> None:
    data = make(0)
    text = f"there are {data.steps} steps to train and {data.test_steps} to test"
    for step in (-1, data.steps + data.test_steps):
        with pytest.raises(IndexError, match=f"^step {step}: {text}$"):
            data.batch(step)


# --- The planted teacher -------------------------------------------------------------------------


def probability(data: Planted, batch):
    """Of a label 1, as the teacher has it: no model predicts better."""
    return data._teacher.probability(batch.dense, batch.sparse)


def test_rows_are_as_popular_as_asked() -> None:
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


def test_labels_are_drawn_from_the_teachers_probabilities() -> None:
    data = Planted(samples=40_000, batch_size=10_000)
    batches = [data.batch(step) for step in range(data.steps)]
    chances = np.concatenate([probability(data, batch) for batch in batches])
    labels = np.concatenate([batch.labels for batch in batches])
    for low in np.arange(0, 1, 0.2):
        there = (chances >= low) & (chances < low + 0.2)
        error = (chances[there] * (1 - chances[there])).sum() ** 0.5
        assert abs(labels[there].sum() - chances[there].sum()) < 4 * error


def test_the_teacher_is_what_it_says_it_is() -> None:
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


def test_a_test_set_smaller_than_a_batch_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^test_samples = 511: fewer than a batch of 512$"):
        Planted(test_samples=511)
