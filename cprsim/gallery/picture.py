"""A picture of the gallery, its source, and the source that it shows by default."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import pandas as pd

from cprsim.basics.schema import nearest
from cprsim.basics.shipped import located, shipped
from cprsim.errors import UsageError
from cprsim.scenario import Scenario, load_scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Takes = Literal[
    "scenario", "levers", "run", "sweep", "log", "study", "validation", "fits", "nothing"
]
#: Sources that have policies to choose from.
_WITH_POLICIES: Final[tuple[Takes, ...]] = ("scenario", "levers", "run", "sweep")
#: Each source in words.
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


class PictureSource(NamedTuple):
    """A file or a folder that a picture is made of, and the policies to show; all if none."""

    path: Path
    policies: tuple[str, ...] = ()

    def scenario(self) -> Scenario:
        """Return the scenario of the file, with those policies alone."""
        scenario = load_scenario(self.path)
        if not self.policies:
            return scenario
        mapping = scenario.mapping()
        there = mapping["policies"]
        mapping["policies"] = {name: there[name] for name in scenario.select(self.policies)}
        return Scenario(**mapping)

    def check(self, known: Iterable[str]) -> None:
        """Raise `UsageError` where one of the policies isn't known."""
        there = [*known]
        for name in self.policies:
            if name not in there:
                raise UsageError(
                    f"policy {name!r}: {self.path} has none of that name; {nearest(name, there)}"
                )


class Titled(NamedTuple):
    """A tidy table, and the title of its picture."""

    title: str
    rows: pd.DataFrame


class Picture(NamedTuple):
    """A picture of the gallery.

    `explains` says in a line what it shows, `takes` what it is made of. `default` is what it takes
    if nothing is given, a file of scenarios/, or empty. `prepare` makes of that what is drawn.
    `by` draws it: a `module:function` of `cprsim.figures` that takes a `Titled`, or a function of
    anything else. Where it is `one_axes`, these can be given as `ax`.
    """

    name: str
    explains: str
    takes: Takes
    default: str
    prepare: Callable[[PictureSource], Any]
    by: "str | Callable[..., Figure]"
    one_axes: bool = False

    def found(self, source: Path | None = None, policies: Sequence[str] = ()) -> Any:
        """Return the table or result that is drawn, of a file or a folder, or of the shipped one.

        `policies`: those to show, by default all.

        Raises
        ------
        UsageError
            If it can't be made of that.
        """
        if policies and self.takes not in _WITH_POLICIES:
            raise UsageError(
                f"figure {self.name}: has no policies to choose from; leave --policy out"
            )
        if source is not None and not source.exists():
            source = located(source)
        if source is None:
            source = shipped(self.default) if self.default else Path()
        elif self.takes == "nothing":
            raise UsageError(
                f"figure {self.name}: plays its paper's own set-up; leave {source} out"
            )
        elif self.takes in ("scenario", "levers", "log") and source.is_dir():
            file = "log" if self.takes == "log" else "scenario"
            raise UsageError(f"figure {self.name}: {source} is a folder; give a {file}")
        return self.prepare(PictureSource(source, tuple(policies)))

    def figure(
        self,
        source: Path | None = None,
        policies: Sequence[str] = (),
        *,
        ax: "Axes | None" = None,
    ) -> "Figure":
        """Return the picture, of a file or a folder, or of the shipped one.

        `policies`: those to show, by default all. `ax`: axes to draw on, where it has but one.

        Raises
        ------
        UsageError
            If it can't be made of that, or has several panels and `ax` is given.
        """
        if ax is not None and not self.one_axes:
            raise UsageError(f"figure {self.name}: takes no ax")
        on = {} if ax is None else {"ax": ax}
        return self.draw(self.found(source, policies), **on)

    def draw(self, found: Any, **on: "Axes") -> "Figure":
        """Draw what was `found`."""
        if callable(self.by):
            return self.by(found, **on)
        # Matplotlib is slow to import.
        figure: Figure = resolve_name(f"cprsim.figures.{self.by}")(found.rows, found.title, **on)
        return figure


def of_scenario(table: Callable[[Scenario], pd.DataFrame]) -> Callable[[PictureSource], Titled]:
    """Prepare a table of a scenario file."""

    def prepare(source: PictureSource) -> Titled:
        scenario = source.scenario()
        return Titled(scenario.title, table(scenario))

    return prepare
