"""MovieLens-100K out of the files that the package recbole brings along."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cprsim.trainer.data.contract import Batch, DataError, DataTable
from cprsim.trainer.data.recorded import Recorded, record

#: Of the shuffling that says which samples are held out: the same ones for every seed.
_SPLIT = 100_000


def read_movielens(
    folder: Path,
    *,
    source: Path | None = None,
    test_share: float = 0.1,
    dim: int = 16,
    batch_size: int = 512,
    seed: int = 0,
) -> Recorded:
    """Read 100,000 ratings of films; a label is 1 for 4 or 5 stars.

    Parameters
    ----------
    folder
        A new one, for the samples as arrays.
    source
        The folder of `ml-100k.inter`, `.user` and `.item`; that of the installed recbole without.
    test_share
        Share of the ratings that is held out, drawn at random but the same for every seed.
    dim, batch_size, seed
        Numbers of a row; samples of a batch; of the order of samples to train on.

    Notes
    -----
    Tables: user, film, occupation, gender, and the first genre named. Dense features: the user's
    age and the film's year, standardised; 0 where the year is unknown.
    """
    place = _installed() if source is None else Path(source)
    ratings = _columns(place / "ml-100k.inter", ("user_id", "item_id", "rating"))
    users = _columns(place / "ml-100k.user", ("user_id", "age", "gender", "occupation"))
    films = _columns(place / "ml-100k.item", ("item_id", "release_year", "class"))
    user = _places(place, "user_id", ratings, users)
    film = _places(place, "item_id", ratings, films)
    genres = [each.split(" ")[0] for each in films["class"]]
    columns = {
        "user": (np.arange(len(users["user_id"])), user),
        "film": (np.arange(len(films["item_id"])), film),
        "occupation": (_numbered(users["occupation"]), user),
        "gender": (_numbered(users["gender"]), user),
        "genre": (_numbered(genres), film),
    }
    dense = (_standard(users["age"])[user], _standard(films["release_year"])[film])
    labels = np.array([rating in ("4", "5") for rating in ratings["rating"]], dtype=np.float32)
    order = np.random.default_rng(_SPLIT).permutation(labels.size)
    sparse = np.stack([ids[whose] for ids, whose in columns.values()], axis=1)
    block = Batch(np.stack(dense, axis=1)[order], sparse[order], labels[order])
    tables = tuple(DataTable(name, int(ids.max()) + 1, dim) for name, (ids, _) in columns.items())
    return record([block], Path(folder), tables, test_share, batch_size, seed)


def _installed() -> Path:
    found = importlib.util.find_spec("recbole")  # which doesn't run it
    if found is None or not found.submodule_search_locations:
        raise DataError(
            "MovieLens-100K comes in the package recbole, which is not installed: "
            "pip install --no-deps recbole==1.2.1"
        )
    return Path(found.submodule_search_locations[0]) / "dataset_example" / "ml-100k"


def _columns(path: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """Columns of a tab-separated file, whose first line has their names with types."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; recbole 1.2.1 has it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}; recbole 1.2.1 has it") from None
    header = [name.split(":")[0] for name in lines[0].split("\t")] if lines else []
    missing = [name for name in names if name not in header]
    if missing:
        raise DataError(f"{path}, line 1: no column {missing[0]!r} among {header}")
    if len(lines) == 1:
        raise DataError(f"{path}: nothing stands below its line of names")
    for number, line in enumerate(lines[1:], 2):
        if line.count("\t") != len(header) - 1:
            raise DataError(
                f"{path}, line {number}: {line.count(chr(9)) + 1} fields under {len(header)} names"
            )
    fields = zip(*(line.split("\t") for line in lines[1:]), strict=True)
    columns = dict(zip(header, map(list, fields), strict=True))
    return {name: columns[name] for name in names}


def _places(
    folder: Path, key: str, ratings: dict[str, list[str]], others: dict[str, list[str]]
) -> NDArray[np.int64]:
    """Where the user, or the film, of each rating stands among all of them."""
    place = {name: number for number, name in enumerate(others[key])}
    unknown = [name for name in ratings[key] if name not in place]
    if unknown:
        raise DataError(f"{folder}: {key} {unknown[0]} has ratings, but nothing is said of it")
    return np.array([place[name] for name in ratings[key]], dtype=np.int64)


def _numbered(values: Sequence[str]) -> NDArray[np.int64]:
    """Each value's place among the distinct ones, in their order."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _standard(values: Sequence[str]) -> NDArray[np.float32]:
    """Mean 0 and standard deviation 1; 0 for what is no number."""
    numbers = np.array([float(value) if value.isdigit() else np.nan for value in values])
    apart = numbers - np.nanmean(numbers)
    standard: NDArray[np.float64] = np.nan_to_num(apart / max(np.nanstd(numbers), 1e-9))
    return standard.astype(np.float32)
