"""The command `cprsim`: parse, call, print. Everything slow is imported inside the commands."""

import io
import os
import sys
from typing import Any

import typer

from cprsim.cli import advise, figure, fit, rows, run, study, sweep, timeline, train, validate

# What typer raises for a wrong command line; it has no public name in every version.
_CommandError: Any = typer.BadParameter.__bases__[0]

app = typer.Typer(
    help="What failures cost a recommendation-model training job, and what each policy saves.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def _cprsim() -> None:
    """Keep subcommands, however few there are."""


app.command()(run.run)
app.command()(advise.advise)
app.command()(fit.fit)
app.command()(rows.rows)
app.command()(sweep.sweep)
app.command()(sweep.export)
app.command()(figure.figure)
app.command()(timeline.timeline)
app.command()(train.train)
app.command()(study.study)
app.command()(validate.validate)


#: What typer makes of Ctrl-C.
_INTERRUPTED = 130


def main() -> None:
    """Entry point: exit 0 when done, 1 when the run failed, 2 when the input is wrong."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± is no reason to fail
    sys.exit(_main(sys.argv[1:]))


def _main(arguments: list[str]) -> int:
    from cprsim.errors import CprsimError, RunError

    try:
        code = app(arguments or ["--help"], prog_name="cprsim", standalone_mode=False) or 0
        sys.stdout.flush()
    except typer.Exit as stop:
        code = stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except _CommandError as error:
        return _complain(error.format_message(), 2)
    except CprsimError as error:
        return _complain(str(error), 1 if isinstance(error, RunError) else 2)
    except (OSError, MemoryError) as error:
        return _complain_of_the_system(error)
    return _complain("interrupted; nothing was written", 1) if code == _INTERRUPTED else code


def _complain_of_the_system(error: OSError | MemoryError) -> int:
    # What is left in stdout's buffer can't be written either: let it go where it does no harm.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, MemoryError):
        return _complain("out of memory; ask for fewer replications", 1)
    if isinstance(error, BrokenPipeError):  # whoever read our output has seen enough
        return 1
    where = f"{error.filename}: " if error.filename else ""
    return _complain(f"{where}{error.strerror or error}", 1)


def _complain(text: str, code: int) -> int:
    for line in text.splitlines():
        typer.echo(f"cprsim: {line}", err=True)
    return code
