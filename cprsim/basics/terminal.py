"""Tables as a terminal shows them, all in one style and none wider than it is."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

#: A heading, and the cells below it.
Column = tuple[str, Iterable[str]]


def plain_table(
    title: str | None = None,
    columns: Iterable[Column] = (),
    *,
    names: int = 1,
    close: bool = False,
) -> Table:
    """Return a table in the style of all.

    The first `names` columns are words, and so are those without a heading; the others are numbers,
    on the right. `close`: with less space between the columns, where they are many.
    """
    table = Table(
        title=title,
        title_justify="left",
        title_style="",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=close,
    )
    headings, cells = zip(*columns, strict=True) if columns else ((), ())
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < names or not heading else "right")
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    return table


class Fitting:
    """A table as wide as the terminal at most: in parts if need be, the first columns in each.

    Columns that have a `min_width` may be as narrow, in more lines; no other is broken or cut.
    `kept`: how many columns each part has.
    """

    def __init__(self, table: Table, kept: int = 1) -> None:
        self._table, self._kept = table, kept

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | Text]:
        """The title, and the table or its parts."""
        if self._table.title:
            yield Text(str(self._table.title))
        for places in self._parts(console, options):
            yield self._part(places)

    def _parts(self, console: Console, options: ConsoleOptions) -> Iterator[list[int]]:
        """Numbers of the columns of each part."""
        kept = list(range(self._kept))
        part = list(kept)
        for place in range(self._kept, len(self._table.columns)):
            if len(part) > len(kept) and self._width([*part, place], console, options) > (
                options.max_width
            ):
                yield part
                part = list(kept)
            part.append(place)
        yield part

    def _width(self, places: Sequence[int], console: Console, options: ConsoleOptions) -> int:
        """Return the width of a part at its narrowest."""
        return natural_width(self._part(places, narrow=True), console, options)

    def _part(self, places: Sequence[int], narrow: bool = False) -> Table:
        """Some of the columns."""
        shown, whole = plain_table(), self._table
        shown.collapse_padding, shown.show_header = whole.collapse_padding, whole.show_header
        for each in (whole.columns[place] for place in places):
            shown.add_column(
                each.header,
                justify=each.justify,
                overflow="fold",
                no_wrap=each.min_width is None,
                max_width=each.max_width,
                width=each.min_width if narrow else None,
            )
        cells: list[list[RenderableType]] = [list(whole.columns[place].cells) for place in places]
        for row, own in zip(whole.rows, zip(*cells, strict=True), strict=True):
            shown.add_row(*own, end_section=row.end_section)
        return shown


class PolicyTable:
    """A row a policy, in parts where the terminal is too narrow for all its columns.

    `optional`: headings of columns that a narrow terminal leaves out where all of them is 0.
    """

    def __init__(
        self, title: str, columns: Iterable[Column], optional: Collection[str] = ()
    ) -> None:
        self._title, self._optional = title, optional
        self._columns = [(heading, list(cells)) for heading, cells in columns]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Fitting]:
        """Yield the table, in parts if need be."""
        table = self.wide()
        if natural_width(table, console, options) > options.max_width:
            shown = (e for e in self._columns if e[0] not in self._optional or {*e[1]} != {"0"})
            table = plain_table(self._title, [*shown], close=True)
        yield Fitting(table)

    def wide(self) -> Table:
        """All of it."""
        return plain_table(self._title, self._columns, close=True)


def natural_width(table: Table, console: Console, options: ConsoleOptions) -> int:
    """Columns of a terminal that a table takes where nothing is broken or cut."""
    return Measurement.get(console, options.update(max_width=_BOUNDLESS), table).maximum


_BOUNDLESS = 10_000
