"""MovieLens-100K out of the files that the package recbole brings along."""

import csv
import importlib.util
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cprsim.job.workload import Table
from cprsim.trainer.data.contract import Batch, DataError
from cprsim.trainer.data.recorded import Recorded, record

#: Of the shuffling that says which samples are held out: the same ones for every seed.
_SPLIT = 100_000


def read_movielens(
    folder: Path,
    *,
    source: Path | None = None,
    dim: int = 16,
    **how: Any,
) -> Recorded:
    """Read 100,000 ratings of films; a label is 1 for 4 or 5 stars.

    `folder`: a new one, for the samples as arrays. `source`: the folder of `ml-100k.inter`, `.user`
    and `.item`; that of the installed recbole without. `dim`: numbers of a row. `how`: as for
    `record`; the ratings held out are drawn at random, the same ones for every seed.

    Notes
    -----
    Tables: user, film, occupation, gender, and the first genre named. Dense features: the user's
    age and the film's year, standardised; 0 where the year is unknown.
    """
    place = _installed() if source is None else Path(source)
    ratings = _table(place / "ml-100k.inter", ["user_id", "item_id", "rating"])
    users = _table(place / "ml-100k.user", ["user_id", "age", "gender", "occupation"])
    films = _table(place / "ml-100k.item", ["item_id", "release_year", "class"])
    user = pd.Index(users["user_id"]).get_indexer(ratings["user_id"])
    film = pd.Index(films["item_id"]).get_indexer(ratings["item_id"])
    for key, places in (("user_id", user), ("item_id", film)):
        if (places < 0).any():
            unknown = ratings[key].to_numpy()[places < 0][0]
            raise DataError(f"{place}: {key} {unknown} has ratings, but nothing is said of it")
    columns = {
        "user": user,
        "film": film,
        "occupation": pd.factorize(users["occupation"], sort=True)[0][user],
        "gender": pd.factorize(users["gender"], sort=True)[0][user],
        "genre": pd.factorize(films["class"].str.split(" ").str[0], sort=True)[0][film],
    }
    rows = [len(users), len(films), *(int(ids.max()) + 1 for ids in [*columns.values()][2:])]
    dense = (_standard(users["age"])[user], _standard(films["release_year"])[film])
    labels = np.isin(ratings["rating"], ["4", "5"]).astype(np.float32)
    order = np.random.default_rng(_SPLIT).permutation(labels.size)
    sparse = np.stack([*columns.values()], axis=1)
    block = Batch(np.stack(dense, axis=1)[order], sparse[order], labels[order])
    sizes = zip(columns, rows, strict=True)
    tables = tuple(Table(name=name, rows=each, dim=dim) for name, each in sizes)
    return record([block], Path(folder), tables, **how)


def _installed() -> Path:
    found = importlib.util.find_spec("recbole")  # which doesn't run it
    if found is None or not found.submodule_search_locations:
        raise DataError(
            "MovieLens-100K comes in the package recbole, which is not installed: "
            "pip install --no-deps recbole==1.2.1"
        )
    return Path(found.submodule_search_locations[0]) / "dataset_example" / "ml-100k"


#: Fields that are empty where nobody knows them; numbers, of which the mean is taken then.
_MAY_LACK = ("age", "release_year")


def _table(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Columns of a tab-separated file, whose first line has their names with types."""
    look: dict[str, Any] = {"sep": "\t", "quoting": csv.QUOTE_NONE, "index_col": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # of a field too many
            found: pd.DataFrame = pd.read_csv(path, dtype=str, na_filter=False, **look)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; recbole 1.2.1 has it") from None
    except (OSError, ValueError, pd.errors.ParserWarning) as error:
        raise DataError(f"{path}: {error}; recbole 1.2.1 has it") from None
    found.columns = found.columns.str.split(":").str[0]
    missing = [name for name in columns if name not in found]
    if missing:
        raise DataError(f"{path}: no column {missing[0]!r} among {[*found]}")
    known = [name for name in columns if name not in _MAY_LACK]
    if found.empty or (found[known] == "").any(axis=None):
        raise DataError(f"{path}: has no lines, or one with too few fields")
    return found[columns]


def _standard(values: "pd.Series[str]") -> NDArray[np.float32]:
    """Mean 0 and standard deviation 1; 0 for what is no number."""
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64)
    apart = numbers - np.nanmean(numbers)
    standard: NDArray[np.float64] = np.nan_to_num(apart / max(np.nanstd(numbers), 1e-9))
    return standard.astype(np.float32)
