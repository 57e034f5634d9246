"""Meanings of words that readers meet: names of columns, states of nodes, reasons of outages.

The words themselves are in words.toml, by table.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

_TEXT: Final = files(__package__).joinpath("words.toml").read_text(encoding="utf-8")
WORDS: Final[dict[str, dict[str, Any]]] = tomllib.loads(_TEXT)
FLAGS: Final = {name: frozenset(words) for name, words in WORDS["flags"].items()}
#: Words that say yes or no.
YES, NO = FLAGS["yes"], FLAGS["no"]
_GOOD: Final = FLAGS["good"] | FLAGS["back"]
_REASONS: Final = WORDS["reasons"]
_PLANNED: Final = re.compile(rf"\b({'|'.join(_REASONS['planned'])})", re.IGNORECASE)
_WHOLE: Final = rf"({'|'.join(_REASONS['evidence_words'])})(?![a-z0-9])"
# An underscore parts words too; a failover is none.
_EVIDENCE: Final = re.compile(
    rf"(?<![a-z0-9])(?!fail-?over)({'|'.join(_REASONS['evidence'])}|{_WHOLE})".replace(
        " ", "[ _-]?"
    ),
    re.IGNORECASE,
)


def plain(name: str) -> str:
    """Return a name of a column as it is compared with others."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def known_by(header: Sequence[str], synonyms: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The name in the header of each column that it has by one of its names, the first of those."""
    by_plain = {plain(name): name for name in reversed(header)}
    found = {
        column: next((by_plain[name] for name in names if name in by_plain), None)
        for column, names in synonyms.items()
    }
    return {column: name for column, name in found.items() if name is not None}


def meaning(text: str) -> bool | None:
    """Return whether words are of what is good (True) or bad (False); None if they say neither.

    Words are parted by anything but letters.
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)  # NetworkUnavailable
    words = re.split(r"[^a-z]+", parted.lower())
    found = None
    for before, word in zip(["", *words], words, strict=False):
        if word in _GOOD or word in FLAGS["bad"]:
            good = (word in _GOOD) != (before in FLAGS["not"])
            found = good if found is None else found and good
    return found


def planned_word(
    reason: str, planned: str | None, not_planned: str | None, *, by_words: bool
) -> str | None:
    """Return the words by which an outage was planned; None of a failure.

    The owner's expression `not_planned` wins over `planned`, which wins over evidence of a fault,
    which wins over the words of planned outages; these two count if `by_words`.
    """
    if not_planned is not None and re.search(not_planned, reason, re.IGNORECASE):
        return None
    if planned is not None:
        named = re.search(planned, reason, re.IGNORECASE)
        if named:
            return named[0].lower() or reason.lower()
    found = _PLANNED.search(reason) if by_words else None
    return found[1].lower() if found and not _EVIDENCE.search(reason) else None
