"""A picture of the gallery, what it is made of, and what is drawn."""

from collections.abc import Callable, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import pandas as pd

from cprsim.basics.shipped import located, shipped
from cprsim.errors import UsageError
from cprsim.scenario import Scenario, load_scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What pictures are made of, in words. Of `"scenario"` they are given the scenario itself.
TAKES: Final = {
    "scenario": "a scenario",
    "file": "a scenario",
    "levers": "a scenario with a block [levers]",
    "run": "a scenario, or the folder of a run",
    "sweep": "a scenario, or the folder of a sweep",
    "log": "a log (CSV), or a scenario that replays one",
    "study": "the folder of a study, or its table of runs (CSV)",
    "validation": "the folder of `cprsim validate`, or a table of seconds (CSV)",
    "nothing": "nothing but its paper's own set-up",
}
_WITH_POLICIES: Final = ("scenario", "file", "levers", "run", "sweep")


class PictureSource(NamedTuple):
    """A file or a folder that a picture is made of, and the policies to show; all if none."""

    path: Path
    policies: tuple[str, ...] = ()

    def scenario(self) -> Scenario:
        """Return the scenario of the file, with those policies alone."""
        scenario = load_scenario(self.path)
        if not self.policies:
            return scenario
        chosen = {name: scenario.policies[name] for name in scenario.select(self.policies)}
        return scenario.with_values({"policies": chosen})


class Titled(NamedTuple):
    """A tidy table with its title; `by` draws it, a `module:function` of `cprsim.figures`."""

    title: str
    rows: pd.DataFrame
    by: str

    def figure(self, **on: "Axes") -> "Figure":
        """Draw it; a picture of one panel on axes, if `ax` is given."""
        # Matplotlib is slow to import.
        drawn: Figure = resolve_name(f"cprsim.figures.{self.by}")(self.rows, self.title, **on)
        return drawn


class Drawing(NamedTuple):
    """A function that draws a picture of something else than one table."""

    figure: Callable[..., "Figure"]


class Picture(NamedTuple):
    """A picture of the gallery.

    `explains` says in a line what it shows, `takes` what it is made of. `default`: the file of
    scenarios/ that it takes if nothing is given, or empty. `prepare` returns a table or a result,
    with a method `figure`. That takes axes as `ax` where it is `one_axes`.
    """

    name: str
    explains: str
    takes: str
    default: str
    prepare: Callable[[Any], Any]
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
        if source is None:
            path = shipped(self.default) if self.default else Path()
        elif self.takes == "nothing":
            raise UsageError(
                f"figure {self.name}: plays its paper's own set-up; leave {source} out"
            )
        else:
            path = source if source.exists() else located(source)
            if path.is_dir() and self.takes in ("scenario", "file", "levers", "log"):
                file = "log" if self.takes == "log" else "scenario"
                raise UsageError(f"figure {self.name}: {path} is a folder; give a {file}")
        given = PictureSource(path, tuple(policies))
        return self.prepare(given.scenario() if self.takes == "scenario" else given)

    def figure(
        self, source: Path | None = None, policies: Sequence[str] = (), *, ax: "Axes | None" = None
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
        figure: Figure = self.found(source, policies).figure(**({} if ax is None else {"ax": ax}))
        return figure


#: All pictures by name, in the order in which they are listed.
PICTURES: Final[dict[str, Picture]] = {}
_Prepare = TypeVar("_Prepare", bound=Callable[..., Any])


def register(
    name: str, takes: str, default: str = "", *, one_axes: bool = False
) -> Callable[[_Prepare], _Prepare]:
    """Make a function the `prepare` of a picture; its docstring says what the picture shows."""

    def registered(prepare: _Prepare) -> _Prepare:
        text = (prepare.__doc__ or "").partition("\n")[0].rstrip(".")
        explains = text if text[:2].isupper() else text[:1].lower() + text[1:]
        PICTURES[name] = Picture(name, explains, takes, default, prepare, one_axes)
        return prepare

    return registered
