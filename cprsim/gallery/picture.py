"""What a picture of the gallery is, and where what it shows by default lies."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import pandas as pd

from cprsim.basics.shipped import located, shipped
from cprsim.errors import UsageError
from cprsim.scenario import Scenario, load_scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Takes = Literal[
    "scenario", "levers", "run", "sweep", "log", "study", "validation", "fits", "nothing"
]
#: What a picture is made of, in words.
TAKES: Final[dict[Takes, str]] = {
    "scenario": "a scenario",
    "levers": "a scenario with a block [levers]",
    "run": "a scenario, or the folder of a run",
    "sweep": "a scenario, or the folder of a sweep",
    "log": "a log (CSV), or a scenario that replays one",
    "study": "the folder of a study, or its table of runs (CSV)",
    "validation": "the folder of `cprsim validate`, or a table of seconds (CSV)",
    "fits": "a table of fleets that fit (CSV)",
    "nothing": "nothing but its paper's own set-up",
}


class Titled(NamedTuple):
    """A tidy table, and the title of its picture."""

    title: str
    rows: pd.DataFrame


@dataclass(frozen=True)
class Picture:
    """A picture of the gallery.

    `explains` says in a line what it shows, `takes` what it is made of. `default` is what it takes
    if nothing is given, a file of scenarios/, or empty. `prepare` makes of that what is drawn,
    `draw` draws it.
    """

    name: str
    explains: str
    takes: Takes
    default: str
    prepare: Callable[[Path], Any]
    draw: Callable[[Any], "Figure"]

    def found(self, source: Path | None = None) -> Any:
        """What is drawn, of a file or a folder, or of the shipped one.

        Raises
        ------
        UsageError
            If it can't be made of that.
        """
        if source is not None and not source.exists():
            source = located(source)
        if source is None:
            return self.prepare(shipped(self.default) if self.default else Path())
        if self.takes == "nothing":
            raise UsageError(
                f"figure {self.name}: plays its paper's own set-up; leave {source} out"
            )
        if self.takes in ("scenario", "levers", "log") and source.is_dir():
            file = "log" if self.takes == "log" else "scenario"
            raise UsageError(f"figure {self.name}: {source} is a folder; give a {file}")
        return self.prepare(source)

    def figure(self, source: Path | None = None) -> "Figure":
        """The picture, of a file or a folder, or of the shipped one."""
        return self.draw(self.found(source))


def drawn_by(name: str) -> Callable[[Titled], "Figure"]:
    """Draws a table by that `module:function` of `cprsim.figures`, imported when it has to draw."""

    def draw(found: Titled) -> "Figure":
        figure: Figure = resolve_name(f"cprsim.figures.{name}")(found.rows, found.title)
        return figure

    return draw


def of_scenario(table: Callable[[Scenario], pd.DataFrame]) -> Callable[[Path], Titled]:
    """Prepares a table of a scenario file."""

    def prepare(path: Path) -> Titled:
        scenario = load_scenario(path)
        return Titled(scenario.title, table(scenario))

    return prepare
