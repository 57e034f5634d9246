"""Pieces of an HTML page; text is escaped here and nowhere else."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files as resources
from string import Template

from rich.table import Table


def page(title: str, sections: Mapping[str, Sequence[str]], below: Iterable[str]) -> bytes:
    """A whole document, which fetches nothing and runs nothing: its policy forbids both.

    `sections`: parts by their headings; those without any are left out. `below`: what is folded.
    """
    files = resources("cprsim.report") / "page"
    frame, style = (
        (files / name).read_text(encoding="utf-8") for name in ("report.html", "report.css")
    )
    shown = (_section(heading, parts) for heading, parts in sections.items() if parts)
    body = "".join((f"<h1>{escape(title)}</h1>\n", *shown, *below))
    return Template(frame).substitute(title=escape(title), style=style, body=body).encode()


def _section(heading: str, parts: Iterable[str]) -> str:
    return f"<section>\n<h2>{escape(heading)}</h2>\n{''.join(parts)}</section>\n"


def folded(heading: str, summary: str, parts: Iterable[str]) -> str:
    """A part of the page of which only `summary` is seen until that is opened."""
    within = f"<details>\n<summary>{escape(summary)}</summary>\n{''.join(parts)}</details>\n"
    return _section(heading, [within])


def paragraph(text: str, kind: str = "") -> str:
    """Prose."""
    marked = f' class="{kind}"' if kind else ""
    return f"<p{marked}>{escape(text)}</p>\n"


def points(texts: Iterable[str]) -> str:
    """A list."""
    items = "".join(f"<li>{escape(text)}</li>\n" for text in texts)
    return f"<ul>\n{items}</ul>\n"


def code(text: str) -> str:
    """Return a file or a command, unchanged."""
    return f'<pre tabindex="0"><code>{escape(text)}</code></pre>\n'


def table(
    caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], kind: str = ""
) -> str:
    """A table that scrolls by itself where it is too wide; the first cell of a row names it."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in headings)
    body = "".join(_row(row) for row in rows)
    marked = f' class="{kind}"' if kind else ""
    return (
        f'<div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0">\n'
        f"<table{marked}>\n<caption><span>{escape(caption)}</span></caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )


def terminal_table(caption: str, shown: Table) -> str:
    """A table that is made for a terminal."""
    return table(caption, *cells(shown))


def cells(shown: Table) -> tuple[list[str], list[tuple[str, ...]]]:
    """Headings and rows of a table that is made for a terminal."""
    # What is parted for want of room there has it here.
    whole = (str(column.header).replace("-\n", "") for column in shown.columns)
    headings = [" ".join(each.split()) for each in whole]
    return headings, list(zip(*(map(str, each.cells) for each in shown.columns), strict=True))


def picture(svg: bytes, description: str, caption: str) -> str:
    """A picture within the page, of `cprsim.figures.page_bytes`, and what it shows in words."""
    data = base64.b64encode(svg).decode()
    return (
        '<figure>\n<div class="scroll" role="region" aria-label="Picture" tabindex="0">'
        f'<img alt="{escape(description)}" src="data:image/svg+xml;base64,{data}"></div>\n'
        f"<figcaption>{escape(caption)}</figcaption>\n</figure>\n"
    )


def _row(cells: Sequence[str]) -> str:
    first, *others = map(escape, cells)
    rest = "".join(f"<td>{cell}</td>" for cell in others)
    return f'<tr><th scope="row">{first}</th>{rest}</tr>\n'
