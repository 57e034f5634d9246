"""The errors cprsim raises on purpose, all children of `CprsimError`.

Every class can be rebuilt from its `args` alone: SimPy re-creates an exception as
`type(e)(*e.args)` when a process ends a run, and worker processes pickle them the same way.
Their texts echo what users wrote, whatever that is: `str` makes them fit to be shown.
"""

import re
import reprlib

#: Letters that a terminal or a page acts upon, or that turn the text after them around: controls
#: but tabs and line ends, marks and overrides of direction (UAX #9), and halves of letters.
_ACTED_UPON = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
#: Of a line of an error: what is longer repeats a value that nobody wants to read.
_MOST_LETTERS, _KEPT_LETTERS = 900, 700
#: Faults of a list that are all shown; if there are more, the first few, as they are of few kinds.
_MOST_FAULTS, _FIRST_FAULTS = 40, 10


def printable(text: str) -> str:
    r"""The text with `\u001b` for a letter that a terminal or a page would act upon.

    Tabs and line ends stay. Of JSON it is the same document.
    """
    if text.isprintable():  # the rule, and quick
        return text
    return _ACTED_UPON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shown(text: str) -> str:
    """Return text in quotes on one line; the middle of a stray field of a megabyte is left out."""
    short = reprlib.Repr()
    short.maxstring = 80
    return short.repr(text)


def told(error: BaseException) -> str:
    """An error of somebody else's code on one line: `ZeroDivisionError: division by zero`."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _fit(line: str) -> str:
    """A line fit to be shown, without the middle of one that is too long."""
    if len(line) > _MOST_LETTERS:
        left_out, half = len(line) - _KEPT_LETTERS, _KEPT_LETTERS // 2
        line = f"{line[:half]} ... ({left_out:,} letters left out) ... {line[-half:]}"
    return printable(line)


class CprsimError(Exception):
    """Root of every error that cprsim raises on purpose; its text is fit for a user."""

    def __str__(self) -> str:
        return "\n".join(map(_fit, super().__str__().split("\n")))


class UnitError(CprsimError, ValueError):
    """A quantity that can't be read: no number, no unit, an unknown or ambiguous unit."""


class ScenarioError(CprsimError):
    """A scenario that can't be used; each argument is one fault, `dotted.path: what is wrong`."""

    def __str__(self) -> str:
        lines = [line for fault in self.args for line in str(fault).split("\n")]
        if len(lines) > _MOST_FAULTS:
            more = len(lines) - _FIRST_FAULTS
            lines[_FIRST_FAULTS:] = [f"and {more:,} more faults; mend these first"]
        return "\n".join(map(_fit, lines))


class PlanError(ScenarioError):
    """A scenario that can be read, but a policy of it can't be planned."""


class PolicyError(CprsimError, ValueError):
    """A policy class whose code fails, or returns what it must not."""


class UsageError(CprsimError, ValueError):
    """A call or a command whose arguments make no sense."""


class LogError(CprsimError):
    """A failure log that can't be read: file, line and reason."""


class RunError(CprsimError):
    """A run that failed for a reason that is no fault of the scenario."""


class NowhereError(RunError):
    """A job that makes no progress under a policy; arguments: the text and the policy's name."""

    def __str__(self) -> str:
        return str(RunError(self.args[0]))

    @property
    def policy(self) -> str:
        """Its name."""
        return str(self.args[1])
