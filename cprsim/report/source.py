"""The scenario file that a run was started with, and what its comments say."""

import re
from dataclasses import dataclass
from functools import cached_property

_TABLE = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]+")
_KEY = re.compile(r"\s*([\w.-]+)\s*=")
#: A comment at the end of a line, behind quoted text that may hold a #.
_COMMENT = re.compile(r"""^(?:[^#"']|"(?:\\.|[^"\\])*"|'[^']*')*#(.*)$""")
_CONTINUED = "  "  # a comment that begins so goes on with that of the line before


@dataclass(frozen=True)
class ScenarioSource:
    """The file's text, what the command line set besides (`key=value`), and the log's hash."""

    text: str
    overrides: tuple[str, ...] = ()
    trace_sha256: str | None = None

    @property
    def head(self) -> list[str]:
        """Paragraphs of the comment that the file begins with."""
        lines = []
        for line in self.text.splitlines():
            if not line.startswith("#"):
                break
            lines.append(line.removeprefix("#").strip())
        return [" ".join(part.split()) for part in "\n".join(lines).split("\n\n") if part.strip()]

    @property
    def overridden(self) -> set[str]:
        """Keys that the command line set."""
        return {each.partition("=")[0].strip() for each in self.overrides}

    @cached_property
    def comments(self) -> dict[str, str]:
        """What stands behind a key or the heading of a table, by its dotted path."""
        found: dict[str, str] = {}
        table = path = ""
        for line in self.text.splitlines():
            heading, key = _TABLE.match(line), _KEY.match(line)
            comment = _COMMENT.match(line)
            said = comment[1] if comment and (heading or key) else ""
            if said.startswith(_CONTINUED) and path in found:
                found[path] += f" {said.strip()}"
                continue
            if heading:
                path = table = heading[1]
            elif key:
                path = f"{table}.{key[1]}" if table else key[1]
            if said.strip():
                found[path] = said.strip()
        return found
