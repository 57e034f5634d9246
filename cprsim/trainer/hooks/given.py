"""Checks of what `shards()` of an adapter gives."""

import itertools
from collections.abc import Mapping, Sequence

from cprsim.errors import UsageError
from cprsim.rows.model import RowModel
from cprsim.trainer.hooks.adapter import TablePart


def check_live(
    shards: Mapping[int, Sequence[TablePart]], again: Mapping[int, Sequence[TablePart]]
) -> None:
    """Raise `UsageError` where what is given is another tensor each time, both being there."""
    for shard, given in shards.items():
        for one, other in zip(given, again.get(shard, ()), strict=False):
            for part in zip((one.weights, *one.state), (other.weights, *other.state), strict=False):
                first, second = (each.untyped_storage().data_ptr() for each in part)
                if first != second:
                    raise UsageError(
                        f"shards(): table {one.table} in shard {shard} is another tensor each "
                        "time, a copy that nobody trains on: give the live one, or a view of it"
                    )


def check_given(
    shards: Mapping[int, Sequence[TablePart]], servers: int, model: RowModel | None
) -> None:
    """Raise `UsageError` for shards or parts that can't be meant, and for a row in two of them.

    `servers`: shards of the job in all processes. `model`: the tables of the scenario, if it has
    any.
    """
    taken: dict[int, list[tuple[int, int, int]]] = {}
    _check_kinds(shards)
    for shard, given in shards.items():
        if shard not in range(servers):
            raise UsageError(
                f"shards(): {shard!r} is none of 0 to {servers - 1}; "
                f"cluster.parameter_servers = {servers} has to be the number of shards"
            )
        for each in given:
            where = f"shards(): table {each.table} in shard {shard}"
            _check_part(where, each, model)
            span = (each.first, each.first + len(each.weights), shard)
            taken.setdefault(each.table, []).append(span)
    for table, spans in taken.items():
        spans.sort()
        for (_, stop, one), (first, _, other) in itertools.pairwise(spans):
            if first < stop:
                raise UsageError(
                    f"shards(): row {first} of table {table} is in shard {one} and in shard "
                    f"{other}; each row is in one, and `first` says which row a part begins with"
                )


def _check_kinds(shards: object) -> None:
    way_out = "give {shard: [TablePart(table, weights, state), ...]}"
    if not isinstance(shards, Mapping):
        raise UsageError(f"shards(): gives a {type(shards).__name__}; {way_out}")
    for shard, given in shards.items():
        listed = isinstance(given, Sequence) and not isinstance(given, TablePart)
        others = [each for each in given if not isinstance(each, TablePart)] if listed else [given]
        if others:
            raise UsageError(
                f"shards(): gives a {type(others[0]).__name__} in shard {shard!r}; {way_out}"
            )


def _check_part(where: str, part: TablePart, model: RowModel | None) -> None:
    if part.weights.dim() != 2 or not len(part.weights):
        raise UsageError(
            f"{where}: weights of shape {tuple(part.weights.shape)}; give rows, shape (rows, dim)"
        )
    rows = len(part.weights)
    for number, each in enumerate(part.state):
        if each.dim() == 0 or len(each) != rows:
            raise UsageError(
                f"{where}: state {number} of shape {tuple(each.shape)} for {rows} rows; its "
                "first dimension has to be the rows, what isn't of rows belongs into dense()"
            )
    if model is None:
        return
    if part.table not in range(len(model.tables)):
        raise UsageError(
            f"{where}: the scenario has tables 0 to {len(model.tables) - 1}; "
            "give it [[model.tables]] for all, in the same order"
        )
    has = model.tables[part.table].rows
    if part.first < 0 or part.first + rows > has:
        raise UsageError(
            f"{where}: rows {part.first} to {part.first + rows - 1}, but model.tables.{part.table} "
            f"of the scenario has {has}; give it as many"
        )
