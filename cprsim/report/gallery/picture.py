"""A picture of the gallery, what it is made of, and what is drawn."""

from collections.abc import Callable, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

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


class Drawing:
    """A function that draws, or the name of one of `cprsim.figures`, and its arguments.

    Most have a tidy table, `rows`, and then a `title`.
    """

    def __init__(self, by: "str | Callable[..., Figure]", *arguments: Any) -> None:
        self._by, self._arguments = by, arguments

    @property
    def rows(self) -> Any:
        """The table that is drawn."""
        return self._arguments[0]

    @property
    def title(self) -> str:
        """The title of the picture."""
        return str(self._arguments[-1])

    def figure(self, **on: "Axes") -> "Figure":
        """Draw it; a picture of one panel on axes, if `ax` is given."""
        # Matplotlib is slow to import.
        by: Any = self._by
        draw = resolve_name(f"cprsim.figures.{by}") if isinstance(by, str) else by
        drawn: Figure = draw(*self._arguments, **on)
        return drawn


class Picture(NamedTuple):
    """A picture of the gallery.

    `explains` says in a line what it shows, `takes` what it is made of. `default`: the file of
    scenarios/ that it takes if nothing is given, or empty. `prepare` returns a drawing or a result,
    with a method `figure`. That takes axes as `ax` where it is `one_axes`.
    """

    name: str
    explains: str
    takes: str
    default: str
    prepare: Callable[[Any], Any]
    one_axes: bool = False

    def found(self, source: Path | None = None, policies: Sequence[str] = ()) -> Any:
        """Return what is drawn, of a file or a folder, or of the shipped one.

        `policies`: those to show, by default all.

        Raises
        ------
        UsageError
            If it can't be made of that.
        """
        fault = ""
        path = Path() if source is None else source if source.exists() else located(source)
        if policies and self.takes not in _WITH_POLICIES:
            fault = "has no policies to choose from; leave --policy out"
        elif source is None:
            path = shipped(self.default) if self.default else path
        elif self.takes == "nothing":
            fault = f"plays its paper's own set-up; leave {source} out"
        elif path.is_dir() and self.takes in ("scenario", "file", "levers", "log"):
            fault = f"{path} is a folder; give a {'log' if self.takes == 'log' else 'scenario'}"
        if fault:
            raise UsageError(f"figure {self.name}: {fault}")
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
