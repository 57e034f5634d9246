"""Docstrings, comments, messages and pages listed in `DONE` speak plainly.

Reports docstrings that open with a word such as What or Whether instead of a verb or the thing
itself, and words found standing for a clearer one. Code, in blocks and in backticks, is left out.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

#: Files that speak plainly, as globs relative to the repository: all but tests.
DONE: tuple[str, ...] = (
    *("cprsim/**/*.py", "benchmarks/*.py", "notebooks/*.py", "tools/**/*.py"),
    *("docs/**/*.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"),
)

#: Rightly used phrases that hold a word of `_AVOIDED`: (glob of files, phrase, reason).
RIGHT: tuple[tuple[str, str, str], ...] = (
    ("cprsim/failures/logs/csv_log.py", "tell the same failure", "monitors report it"),
    ("cprsim/failures/logs/job_table.py", "told again", "rows of a file that repeats them"),
    ("cprsim/failures/logs/job_table.py", "does not stand for jobs", "one mean for all sizes"),
    ("cprsim/failures/logs/log.py", "doesn't tell the date", "a message that tests hold"),
    ("cprsim/failures/logs/outages.py", "tells no causes", "a message that tests hold"),
    ("cprsim/failures/logs/source.py", "fit tells how often", "a message that tests hold"),
    ("cprsim/fitting/display.py", "The job at hand", "the title of a job without one"),
    ("cprsim/fitting/fit_log.py", "of the one tell nothing", "a message that tests hold"),
    ("cprsim/fitting/law_versus_log.py", "nothing is told", "a note that tests hold"),
    ("cprsim/fitting/law_versus_log.py", "does not tell", "a message that tests hold"),
    ("cprsim/fitting/log_notes.py", "none told", "a failure without a cause"),
    ("cprsim/fitting/log_notes.py", "is what it says of", "of a law, beyond the data"),
    ("cprsim/fitting/repairs.py", "no cause told", "a failure without a cause"),
    ("cprsim/advice/advising.py", "tell\n", "a parameter of `advise`"),
    ("cprsim/sweeps/sweep.py", "tell\n", "a parameter of `sweep`"),
    ("cprsim/contract/__init__.py", ".tell(event)", "a method of controllers"),
    ("cprsim/sim/*.py", "controller asked", "a controller's method is named `ask`"),
    ("cprsim/runs/hopeless.py", "the job gets nowhere", "replaces a text of cprsim/sim/outside.py"),
    ("docs/*.md", "share of its own updates", "a shard's, not those of the job"),
    ("docs/*.md", "share of its own samples", "a shard's, not those of the job"),
    ("tools/validation/*.py", "share of its own updates", "a shard's, not those of the job"),
    ("docs/*.md", "share u of its own updates", "a shard's, not those of the job"),
    ("cprsim/sim/outside.py", "the job gets nowhere", "cprsim/runs/hopeless.py replaces this text"),
)

_OPENING = re.compile(r"\s*(What|Whether|How|Of|Those|Which|Who|As)\b")
#: Longer phrases come first, so that each place is reported once, by the longest that fits.
_AVOIDED = re.compile(
    r"\b(as it stands|that there is none of|gets? nowhere|keeps? to|holds? (?:\w+ )?up|comes? to"
    r"|goes on|at hand|of its own|is what|who is|in vain|mind|told|tells?|asked|stands?|besides?"
    r"|anew|void)\b".replace(" ", r"\s+"),
    re.IGNORECASE,
)
_CODE = re.compile(r"`[^`]*`")
#: A fenced block, or lines that are indented by four blanks after an empty line.
_BLOCK = re.compile(r"^```.*?^```$|(?<=\n\n)(?:    [^\n]*\n|\n(?=    ))+", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"#:? ?")


class Text(NamedTuple):
    """A docstring, a comment block, a message or a page, and the line that it begins on."""

    kind: str
    line: int
    text: str


def offences(path: Path, name: str) -> list[str]:
    """Return a line `path:line: reason` for each offence in a file.

    `name`: the file's path relative to the repository, as `RIGHT` and the lines have it.
    """
    source = path.read_text(encoding="utf-8")
    right = [phrase for glob, phrase, _ in RIGHT if fnmatch(name, glob)]
    read = [Text("page", 1, _without_blocks(source))] if path.suffix == ".md" else texts(source)
    found = [(line, reason) for text in read for line, reason in _faults(text, right)]
    return [f"{name}:{line}: {reason}" for line, reason in sorted(found)]


def _without_blocks(page: str) -> str:
    """Return a page with its code blocks blanked, so that lines still count right."""
    return _BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page)


def texts(source: str) -> Iterator[Text]:
    """Yield the docstrings, then the messages, then the comment blocks of a module."""
    docstrings: set[ast.AST] = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node, clean=False)
            if docstring is not None:
                first = next(ast.iter_child_nodes(node.body[0]))
                docstrings.add(first)
                yield Text("docstring", node.body[0].lineno, docstring)
    yield from _messages(tree, docstrings)
    yield from _comments(source)


def _messages(node: ast.AST, docstrings: set[ast.AST]) -> Iterator[Text]:
    """Yield strings of more than one word: a single word is a name or a key."""
    if isinstance(node, ast.JoinedStr):
        parts = [str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values]
        yield Text("message", node.lineno, "".join(parts))
        for part in node.values:  # strings within braces are messages of their own
            if isinstance(part, ast.FormattedValue):
                yield from _messages(part.value, docstrings)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if node not in docstrings and " " in node.value.strip():
            yield Text("message", node.lineno, node.value)
        return
    for child in ast.iter_child_nodes(node):
        yield from _messages(child, docstrings)


def _comments(source: str) -> Iterator[Text]:
    """Yield comments; lines of one block are one text, since a phrase may span two of them."""
    start, last, block = 0, -1, ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, text = token.start[0], _COMMENT.sub("", token.string, count=1)
        if line == last + 1 and token.line.lstrip().startswith("#"):
            block += "\n" + text
        else:
            if block:
                yield Text("comment", start, block)
            start, block = line, text
        last = line
    if block:
        yield Text("comment", start, block)


def _faults(text: Text, right: list[str]) -> Iterator[tuple[int, str]]:
    opening = _OPENING.match(text.text) if text.kind == "docstring" else None
    if opening:
        yield text.line, f"docstring begins with {opening[1]!r}; begin with a verb or the thing"
    # Blanked and not removed, so that lines still count right.
    plain = _CODE.sub(lambda code: re.sub(r"[^\n]", "_", code[0]), text.text)
    for phrase in right:
        plain = plain.replace(phrase, "_" * len(phrase))
    for word in _AVOIDED.finditer(plain):
        said = " ".join(word[0].split())
        yield text.line + plain.count("\n", 0, word.start()), f"{text.kind} says {said!r}"


def check(root: Path, done: tuple[str, ...] = DONE) -> list[str]:
    """Return the offences of all files under `root` that the globs of `done` name.

    This file is left out: it has the avoided words as data.
    """
    paths = sorted({path for glob in done for path in root.glob(glob)} - {Path(__file__)})
    return [line for path in paths for line in offences(path, path.relative_to(root).as_posix())]


if __name__ == "__main__":
    sys.exit("\n".join(check(ROOT)) or None)
