"""The command `cprsim figure`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cprsim.cli.common import ProgressBar, echo_wrapped, there
from cprsim.cli.output import Force, OutputPicture, output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cprsim.gallery.picture import Picture


def figure(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="See --list.")] = None,
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="SCENARIO|DIR",
            help="A scenario, log or folder to make it of; a shipped one by default.",
            callback=there,
        ),
    ] = None,
    out: Annotated[
        Path | None, output(metavar="FILE", help="A .png, .svg or .pdf; else NAME.png.")
    ] = None,
    force: Force = False,
    listed: Annotated[bool, typer.Option("--list", help="Say what each picture shows.")] = False,
) -> None:
    """Draw a picture that answers a question, e.g. how overhead grows with the servers."""
    from cprsim.errors import UsageError

    if listed:
        from cprsim.gallery.registry import PICTURES

        _list(PICTURES.values())
        return
    if name is None:
        raise UsageError("give the name of a figure, or --list to see them all")
    with ProgressBar("drawing"):
        from cprsim.gallery.registry import picture

        chosen = picture(name)
        written = OutputPicture(out or Path(f"{name}.png"), force=force)
        drawn = chosen.figure(source)
    written.draw(drawn)


def _list(pictures: "Iterable[Picture]") -> None:
    from cprsim.gallery.picture import TAKES

    for each in pictures:
        echo_wrapped(f"{each.name:<20}{each.explains}", indent=" " * 20)
        default = f"; by default scenarios/{each.default}" if each.default else ""
        echo_wrapped(f"{'':<20}of {TAKES[each.takes]}{default}")
