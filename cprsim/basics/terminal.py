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
    `kept`: how many columns each part has. `optional`: headings of columns that a narrow terminal
    leaves out where all of them is 0.
    """

    def __init__(self, table: Table, kept: int = 1, optional: Collection[str] = ()) -> None:
        self.table, self._kept, self._optional = table, kept, optional

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | Text]:
        """The title, and the table or its parts."""
        if self.table.title:
            yield Text(str(self.table.title))

        def has_room(places: Sequence[int], narrow: bool = True) -> bool:
            boundless = options.update(max_width=_BOUNDLESS)
            width = Measurement.get(console, boundless, self._part(places, narrow)).maximum
            return width <= options.max_width

        shown = [*range(len(self.table.columns))]
        if not has_room(shown, narrow=False):
            shown = [place for place in shown if not self._may_go(place)]
        kept, part = shown[: self._kept], shown[: self._kept]
        for place in shown[self._kept :]:
            if len(part) > len(kept) and not has_room([*part, place]):
                yield self._part(part)
                part = list(kept)
            part.append(place)
        yield self._part(part)

    def _may_go(self, place: int) -> bool:
        column = self.table.columns[place]
        return column.header in self._optional and {*column.cells} == {"0"}

    def _part(self, places: Sequence[int], narrow: bool = False) -> Table:
        """Some of the columns; `narrow`: as narrow as they may be."""
        shown, whole = plain_table(), self.table
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


_BOUNDLESS = 10_000
