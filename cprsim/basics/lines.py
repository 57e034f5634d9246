"""A sentence in lines that fit."""

import re
from textwrap import fill

#: What belongs together: a number and its unit.
_QUANTITY = re.compile(r"(?<=\d) (?=(?:%|ms|s|min|h|d|[kMGTP]?B|points?)(?!\w))")
#: A blank that nothing is broken at.
_FIRM = "\u00a0"


def wrapped(line: str, width: int, indent: str = "  ") -> str:
    """The line in lines of so many letters at most, no quantity parted from its unit.

    `indent`: of all lines but the first, beyond what it is indented itself.
    """
    own = line[: len(line) - len(line.lstrip(" "))]
    firm = _QUANTITY.sub(_FIRM, line.strip(" "))
    found = fill(
        firm, width, initial_indent=own, subsequent_indent=own + indent, break_on_hyphens=False
    )
    return found.replace(_FIRM, " ") if found else line
