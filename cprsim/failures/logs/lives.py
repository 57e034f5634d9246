"""Tables of lives: how long each node, or part, lived, and whether it died or was still alive."""

import csv
from collections.abc import Iterator
from typing import Final, NamedTuple

from cprsim.basics.tabular import LogPath, csv_cells, delimiter_of, shown
from cprsim.errors import LogError

#: By what names durations go, the likeliest first. `time_s` isn't one: with it a table is of
#: failures, in cprsim's own format.
DURATIONS: Final = ("duration_s", "duration", "lifetime_s", "lifetime", "life", "time")
#: By what names the flag goes, and whether it says of a life that it was cut short.
FLAGS: Final = {
    "dead": False,
    "died": False,
    "event_observed": False,
    "observed": False,
    "censored": True,
}
_SAID: Final = {
    **dict.fromkeys(("1", "true", "yes"), True),
    **dict.fromkeys(("0", "false", "no"), False),
}


class LifeTable(NamedTuple):
    """Where in a table the lives stand; `names` are all its columns, as its header has them."""

    names: list[str]
    delimiter: str
    duration: int
    flag: int

    @property
    def told(self) -> str:
        """What the table was taken for, a sentence."""
        duration, flag = self.names[self.duration], self.names[self.flag]
        return (
            f"A table of lives, not of failures by time: {duration!r} (seconds) is how long each "
            f"node or part lived, {flag!r} whether it {'was cut short' if self._cut else 'died'}."
        )

    @property
    def _cut(self) -> bool:
        return FLAGS[self.names[self.flag].lower()]

    def rows(self, path: LogPath, text: Iterator[str]) -> Iterator[tuple[int, str, str]]:
        """Line, duration and flag, `"censored"` or `"failed"`, of each row."""
        rows = csv_cells(path, text, self.delimiter)
        next(rows)
        for line, cells in rows:
            if len(cells) <= max(self.duration, self.flag):
                raise LogError(
                    f"{path}:{line}: the row has {len(cells)} cells, the header has "
                    f"{len(self.names)}"
                )
            flag = cells[self.flag].strip()
            said = _SAID.get(flag.lower())
            if said is None:
                raise LogError(
                    f"{path}:{line}: {self.names[self.flag]} is {shown(flag)}; known flags: "
                    f"{', '.join(_SAID)}"
                )
            yield line, cells[self.duration].strip(), "censored" if said is self._cut else "failed"


def lives_of(header: str) -> LifeTable | None:
    """The lives of a table with this first line; None where it names none.

    A table of lives has a column of durations and a flag of `FLAGS`; a table of failures has times
    and no such flag.
    """
    mark = delimiter_of(header)
    try:
        names = [name.strip() for name in next(csv.reader([header], delimiter=mark), [])]
    except csv.Error:  # a line of a megabyte that is no header
        return None
    plain = [name.lower() for name in names]
    duration = next((plain.index(name) for name in DURATIONS if name in plain), None)
    flag = next((plain.index(name) for name in FLAGS if name in plain), None)
    plain_pair = plain == ["duration_s", "censored"]  # as lines of their own, with units
    if duration is None or flag is None or plain_pair or "time_s" in plain:
        return None
    return LifeTable(names, mark, duration, flag)
