"""`[trainer] data`: samples out of files, the tables that come with them, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from cprsim.errors import CprsimError
from cprsim.scenario import load_scenario
from cprsim.trainer.config import opened
from cprsim.trainer.training import train
from tests.trainer.sources import criteo_lines, movielens_files

FILE = """
[job]
useful_time = "1 s"
samples = {samples}
{model}
[cluster]
trainers = 1
parameter_servers = 2
[costs]
save = "1 ms"
load = "1 ms"
[failures]
exactly = 2
[trainer]
data = {data}
batch = 20
test_samples = 100
answer = "60 s"
[policies.cpr-mfu]
system = "cpr-mfu"
interval = "300 ms"
"""


@pytest.fixture
def folder(tmp_path):
    movielens_files(tmp_path / "ml", ratings=400)
    (tmp_path / "train.txt").write_text("\n".join(criteo_lines(400)) + "\n")
    return tmp_path


def file(folder: Path, data: str, samples: object = 300, model: str = "") -> Path:
    path = folder / "it.toml"
    path.write_text(FILE.format(data=data, samples=samples, model=model))
    return path


def test_tables_and_samples_are_those_of_movielens(folder):
    with opened(file(folder, '{ movielens = "ml", dim = 8 }')) as (scenario, section):
        data = section.data(scenario, 0)
        tables = scenario.model.tables
        assert [(t.name, t.rows, t.dim) for t in tables] == [
            ("user", 30, 8),
            ("film", 20, 8),
            ("occupation", 2, 8),
            ("gender", 2, 8),
            ("genre", 3, 8),
        ]
        assert (data.steps, data.test_steps, data.dense) == (15, 5, 2)
        other = section.data(scenario, 1)
        order = [d.batch(0).dense for d in (data, other)]
        assert not np.array_equal(*order)  # the seed shuffles what is trained on
        np.testing.assert_array_equal(data.batch(15).dense, other.batch(15).dense)
        kept = data.folder
        assert kept.is_dir()
    assert not kept.exists()


def test_movielens_is_trained_and_its_scenario_can_be_simulated(folder):
    with opened(file(folder, '{ movielens = "ml", dim = 8 }')) as (scenario, section):
        trained = train(scenario, section, "cpr-mfu")
        assert (trained.steps, trained.failures) == (15, 2)
        assert 0 < trained.pls < 1
        (folder / "resolved.toml").write_text(scenario.to_toml())
    assert load_scenario(folder / "resolved.toml").plan("cpr-mfu").tracking is not None


HAS_400 = (
    "trainer.data: has 400 samples, not job.samples = {} and trainer.test_samples = 100; give as "
    "many together"
)
TABLES = "[model]\ntables = [{ rows = 30, dim = 16 }, { rows = 21, dim = 16 }]"
#: What is said, `@` for the folder; data, and what else is in the file.
REFUSED = {
    "job.samples: is missing; write e.g. samples = 90_000": (
        '{ movielens = "ml" }',
        {"samples": "1.5"},
    ),
    HAS_400.format(200): ('{ movielens = "ml" }', {"samples": 200}),
    HAS_400.format(500): ('{ criteo = "train.txt" }', {"samples": 500}),
    "model.preset: trainer.data has its own tables; leave it out": (
        '{ criteo = "train.txt" }',
        {"model": '[model]\npreset = "criteo-kaggle"'},
    ),
    "model.tables: the samples of trainer.data have others, of [30, 20, 2, 2, 3] rows with "
    "dim = 16; give these in that order, or leave model.tables out": (
        '{ movielens = "ml" }',
        {"model": TABLES},
    ),
    "@/none.gz: no such file; give": ('{ criteo = "none.gz" }', {}),
    "trainer.data: give one of criteo and movielens": ("{ }", {}),
    "trainer.data: give one of criteo": ('{ criteo = "a", movielens = true }', {}),
    "trainer.data: 'most_rows' goes with criteo; leave it out": (
        "{ movielens = true, most_rows = 50 }",
        {},
    ),
    "trainer.data.creteo: unknown key; did you mean 'criteo'?": ('{ creteo = "a" }', {}),
    "trainer.data: 'criteo' is not a table": ('"criteo"', {}),
    "trainer.data.most_rows: 1 is out": ('{ criteo = "train.txt", most_rows = 1 }', {}),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused(folder, said):
    data, more = REFUSED[said]
    with pytest.raises(CprsimError) as error, opened(file(folder, data, **more)):
        pass

    assert str(error.value).startswith(said.replace("@", str(folder)))
    assert "\n" not in str(error.value)


def test_a_file_may_name_the_tables_of_its_samples_and_is_planned_with_what_it_says(folder):
    """Each with a skew of its own, which planted samples can't have."""
    rows = {"user": 30, "film": 20, "occupation": 2, "gender": 2, "genre": 3}
    tables = ", ".join(
        f'{{ name = "{name}", rows = {many}, dim = 16, skew = {{ zipf = {many / 10} }} }}'
        for name, many in rows.items()
    )
    data = '{ movielens = "ml" }'
    with opened(file(folder, data)) as (without, _):
        pass
    named = file(folder, data, model=f"[model]\ntables = [{tables}]")
    alone = load_scenario(named)
    with opened(named) as (scenario, section):
        assert scenario.mapping() == alone.mapping()
        assert scenario.mapping() != without.mapping()
        assert section.data(scenario, 0).tables == section.recorded.tables
