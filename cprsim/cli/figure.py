"""The command `cprsim figure`."""

from pathlib import Path
from typing import Any

from cprsim.cli import options as opt
from cprsim.cli import paths
from cprsim.cli.common import ProgressBar, echo, echo_wrapped


@opt.options(
    name=opt.argument("See --list.", "NAME", kind=str, optional=True),
    source=opt.argument(
        "A scenario, log or folder to make it of; a shipped one by default.",
        "SCENARIO|DIR",
        paths.there,
        optional=True,
    ),
    out=opt.output("A .png, .svg or .pdf; else NAME.png.", metavar="FILE"),
    form=opt.option("Format where --out is not given.", "--format", metavar="png|svg|pdf"),
    policies=opt.POLICIES,
    width=opt.option("Width, e.g. 3.3in or 84mm.", metavar="LENGTH"),
    height=opt.option("Height; by default as the panels need.", metavar="LENGTH"),
    words=opt.flag(
        "With title and notes, or without: they are printed instead.",
        "--title/--no-title",
        default=True,
    ),
    font=opt.option("Font, e.g. serif or 'Times New Roman'.", metavar="NAME"),
    style=opt.option("A style of matplotlib, file or name.", metavar="FILE"),
    force=opt.FORCE,
    listed=opt.flag("Say what each picture shows.", "--list"),
)
def figure(asked: Any) -> None:
    """Draw a picture that answers a question, e.g. how overhead grows with the servers.

    For a paper: cprsim figure scaling --width 3.3in --font serif --no-title --out scaling.pdf
    """
    from cprsim.errors import UsageError

    if asked.listed:
        _list()
        return
    if asked.name is None:
        raise UsageError("give the name of a figure, or --list to see them all")
    with ProgressBar("drawing"):
        from cprsim.report.gallery.registry import picture

        chosen = picture(asked.name)
        file = asked.picture(_named(asked.name, asked.out, asked.form), "--out")
        from cprsim.figures import look, without_words

        with look(asked.width, asked.height, asked.font, asked.style):
            drawn = chosen.figure(asked.source, asked.policies or ())
            caption = [] if asked.words else without_words(drawn)
            file.draw(drawn)
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


def _list() -> None:
    from cprsim.report.gallery.picture import TAKES
    from cprsim.report.gallery.registry import PICTURES

    for each in PICTURES.values():
        echo_wrapped(f"{each.name:<20}{each.explains}", indent=" " * 20)
        default = f"; by default scenarios/{each.default}" if each.default else ""
        echo_wrapped(f"{'':<20}of {TAKES[each.takes]}{default}")
