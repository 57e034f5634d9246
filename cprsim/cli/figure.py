"""The command `cprsim figure`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cprsim.cli.common import Policies, ProgressBar, echo, echo_wrapped, there
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
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="png|svg|pdf", help="Format where --out is not given."),
    ] = None,
    policies: Policies = None,
    width: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Width, e.g. 3.3in or 84mm.")
    ] = None,
    height: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Height; by default as the panels need.")
    ] = None,
    words: Annotated[
        bool,
        typer.Option(
            "--title/--no-title", help="With title and notes, or without: they are printed instead."
        ),
    ] = True,
    font: Annotated[
        str | None, typer.Option(metavar="NAME", help="Font, e.g. serif or 'Times New Roman'.")
    ] = None,
    style: Annotated[
        str | None, typer.Option(metavar="FILE", help="A style of matplotlib, file or name.")
    ] = None,
    force: Force = False,
    listed: Annotated[bool, typer.Option("--list", help="Say what each picture shows.")] = False,
) -> None:
    """Draw a picture that answers a question, e.g. how overhead grows with the servers.

    For a paper: cprsim figure scaling --width 3.3in --font serif --no-title --out scaling.pdf
    """
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
        written = OutputPicture(_named(name, out, form), force=force)
        from cprsim.figures import look, without_words

        with look(width, height, font, style):
            drawn = chosen.figure(source, policies or ())
            caption = [] if words else without_words(drawn)
            written.draw(drawn)
    for sentence in caption:
        echo(sentence)


def _named(name: str, out: Path | None, form: str | None) -> Path:
    """Return the file to write; raise `UsageError` for a format that isn't its own."""
    from cprsim.errors import UsageError
    from cprsim.figures import FORMATS

    if form is not None and form not in FORMATS:
        raise UsageError(f"--format {form!r} is not one of {', '.join(FORMATS)}")
    if out is None:
        return Path(f"{name}.{form or 'png'}")
    if form is not None and out.suffix.lower() != f".{form}":
        raise UsageError(f"--out {out} does not end in .{form}, as --format says; leave one out")
    return out


def _list(pictures: "Iterable[Picture]") -> None:
    from cprsim.gallery.picture import TAKES

    for each in pictures:
        echo_wrapped(f"{each.name:<20}{each.explains}", indent=" " * 20)
        default = f"; by default scenarios/{each.default}" if each.default else ""
        echo_wrapped(f"{'':<20}of {TAKES[each.takes]}{default}")
