"""Refresh the table of phases in docs/architecture.md, from the machine's code.

Run `python -m tools.pages.phases`, or `make pages`. A test compares the page with it. What follows
a phase is read from the source of `cprsim/machine/step.py`: its branches name phases and calls.
"""

import ast
import re
from typing import Final

from cprsim.machine.codes import CAUSE_NAMES
from cprsim.machine.phases import CAUSE_OF
from tools.paths import DOCS, ROOT
from tools.tables import between, markdown

PAGE: Final = DOCS / "architecture.md"
_MACHINE: Final = ROOT / "cprsim" / "machine"
_OTHERWISE: Final = ""  # the branch of all phases that no other names
_PHASE: Final = re.compile(r"((?:^#: .*\n)+)^([A-Z_]+): Final = (\d+)$", re.MULTILINE)
_HEAD = ("phase", "what happens in it", "cause of time", "at its end", "if a failure strikes in it")


def phases() -> dict[str, tuple[int, str]]:
    """The number and the comment of each phase, by its name."""
    text = (_MACHINE / "phases.py").read_text(encoding="utf-8")
    return {
        name: (int(number), " ".join(re.findall(r"^#: (.*)$", comment, re.MULTILINE)).rstrip("."))
        for comment, name, number in _PHASE.findall(text)
    }


def branches(function: str, source: str) -> dict[str, str]:
    """Return what a function does in each phase: the function that it calls, or the next phase.

    Raises
    ------
    ValueError
        If the function has no branches by phase.
    """
    (own,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == function
    )
    chain = next((each for each in ast.walk(own) if _is_by_phase(each)), None)
    if chain is None:
        raise ValueError(f"{function} of step.py has no branches by phase")
    found: dict[str, str] = {}
    while isinstance(chain, ast.If):
        for phase in _named(chain.test):
            found.setdefault(phase, _done(chain.body))
        rest = chain.orelse
        chain = rest[0] if len(rest) == 1 and isinstance(rest[0], ast.If) else None
        if chain is None and rest:
            found[_OTHERWISE] = _done(rest)
    return found


def _is_by_phase(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and bool(_named(node.test))


def _named(test: ast.expr) -> list[str]:
    """The phases that a condition compares the job's phase with."""
    return [
        ast.unparse(name).removeprefix("phases.")
        for each in ast.walk(test)
        if isinstance(each, ast.Compare) and ast.unparse(each.left) in ("phase", "run.phase")
        for compared in each.comparators
        for name in (compared.elts if isinstance(compared, ast.Tuple) else [compared])
    ]


def _done(body: list[ast.stmt]) -> str:
    """The function that a branch calls, or the phase that it begins; nothing where it returns."""
    (only,) = body
    if isinstance(only, ast.Expr) and isinstance(only.value, ast.Call):
        return ast.unparse(only.value.func)
    if not isinstance(only, ast.Assign):
        return ""
    return ast.unparse(only.value).removeprefix("phases.")


def followers() -> dict[str, tuple[str, str]]:
    """The functions that follow each phase: at its end, and where a failure strikes in it."""
    source = (_MACHINE / "step.py").read_text(encoding="utf-8")
    instants, follow, ended, struck = (
        branches(name, source)
        for name in ("_settle_instants", "_end_or_interrupt", "_ended", "_interrupted")
    )
    found = {}
    for name in phases():
        if name in instants:
            found[name] = instants[name], ""
            continue
        at_end = ended.get(name, ended[_OTHERWISE])
        cut = struck.get(name, struck[_OTHERWISE]) if name not in follow else at_end
        found[name] = instants.get(at_end, at_end), instants.get(cut, cut)
    return found


def phases_table() -> str:
    """A row for each phase."""
    rows, follow = [], followers()
    for name, (number, comment) in phases().items():
        cause = f"`{CAUSE_NAMES[CAUSE_OF[number]]}`" if number < len(CAUSE_OF) else "takes no time"
        then = (f"`{each}`" if each else "" for each in follow[name])
        rows.append((f"`{name}`", comment, cause, *then))
    return markdown(_HEAD, rows)


def refreshed(text: str) -> str:
    """Return the page with a fresh table of phases."""
    return between(text, "phases", phases_table())


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
