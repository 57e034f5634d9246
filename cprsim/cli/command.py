"""The command `cprsim`: parse, call, print. Everything slow is imported inside the commands."""

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from cprsim.cli import (
    advise,
    cluster,
    export,
    figure,
    fit,
    listing,
    replay,
    rows,
    run,
    sweep,
    timeline,
    trained,
    what_if,
)
from cprsim.cli.common import echo

# What typer raises for a wrong command line; it has no public name in every version.
_CommandError: Any = typer.BadParameter.__bases__[0]


app = typer.Typer(
    help="What failures cost a recommendation-model training job, and what each policy saves.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _cprsim(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Keep subcommands, however few there are."""
    if version:
        from cprsim.basics.version import __version__

        echo(f"cprsim {__version__}")
        raise typer.Exit


for _command in (
    *(run.run, advise.advise, fit.fit, replay.replay, cluster.cluster),
    *(listing.scenarios, listing.policies, listing.schema),
    *(rows.rows, sweep.sweep, export.export, figure.figure, timeline.timeline),
    *(trained.train, trained.study, what_if.app, trained.validate),
):
    # The list of commands has the whole sentence, in as many lines as that takes.
    _sentence = " ".join((_command.__doc__ or "").partition("\n\n")[0].split())
    app.command(short_help=_sentence)(_command)

#: What typer makes of Ctrl-C.
_INTERRUPTED = 130
#: What the lack of room for more is.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _main(arguments: list[str]) -> int:
    """Return the exit code: 0 when done, 1 when the run failed, 2 when the input is wrong."""
    from cprsim.basics.reading import recorded
    from cprsim.errors import CprsimError, RunError

    try:
        with recorded():
            code = app(arguments or ["--help"], prog_name="cprsim", standalone_mode=False) or 0
        sys.stdout.flush()
    except typer.Exit as stop:
        code = stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except SystemExit as stop:  # of a library, or of a user's policy: no command calls it
        return 0 if _completes(arguments) else _complain_of_exit(stop)
    except _CommandError as error:
        return _complain(error.format_message(), 2)
    except (CprsimError, OSError, MemoryError) as error:
        if _lacks_folder():
            where = os.environ.get("PWD", ".")
            return _complain(
                f"the working directory {where} does not exist any more; change to one that does "
                "(cd), and run the command again",
                2,
            )
        if isinstance(error, CprsimError):
            return _complain(str(error), 1 if isinstance(error, RunError) else 2)
        return _complain_of_the_system(error)
    return _complain("interrupted; no file is half-written", 1) if code == _INTERRUPTED else code


def _complain_of_exit(stop: SystemExit) -> int:
    if isinstance(stop.__context__, BrokenPipeError):
        return _complain_of_the_system(stop.__context__)
    return _complain(f"code that it called ended it by sys.exit({stop.code!r})", 1)


def _lacks_folder() -> bool:
    """Return whether the working directory is gone."""
    try:
        Path.cwd()
    except OSError:
        return True
    return False


def _completes(arguments: list[str]) -> bool:
    """Return whether a shell asks for completions, or a user to have them: typer answers."""
    options = ("--install-completion", "--show-completion")
    return "_CPRSIM_COMPLETE" in os.environ or arguments[:1] in ([each] for each in options)


def _complain_of_the_system(error: OSError | MemoryError) -> int:
    # What is left in stdout's buffer can't be written either: let it go where it does no harm.
    with suppress(OSError):  # no file, where a test reads it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, MemoryError):
        return _complain("out of memory; ask for fewer replications", 1)
    if isinstance(error, BrokenPipeError):  # whoever read our output has seen enough
        return 1
    # Errors of files have their names: an error of a full disk without one is that of the output.
    where = error.filename or ("stdout" if error.errno in _FULL else "")
    return _complain(": ".join(filter(None, (where, error.strerror or str(error)))), 1)


def _complain(text: str, code: int) -> int:
    for line in text.split("\n"):
        echo(f"cprsim: {line}", err=True)
    return code
