"""Pieces of an HTML page; text is escaped here and nowhere else."""

import base64
from collections.abc import Iterable, Sequence
from html import escape
from string import Template
from typing import Final

from rich.table import Table

#: Nothing is fetched, nothing runs: the browser itself is told to refuse.
_PAGE: Final = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" \
content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>$title</title>
<style>
$style</style>
</head>
<body>
<main>
$body</main>
</body>
</html>
""")
_STYLE: Final = """\
:root { color-scheme: light dark;
  --ground: #fff; --raised: #f5f5f5; --ink: #1a1a1a; --faint: #595959; --rule: #d9d9d9;
  --mark: #0072b2; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ground: #15181b; --raised: #1f2428; --ink: #e8e8e8; --faint: #a9b0b6;
    --rule: #3a4147; --mark: #56b4e9; }
}
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1rem 1rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; border-bottom: 1px solid var(--rule); }
p, ul { max-width: 44rem; overflow-wrap: anywhere; }
.short { border-left: .25rem solid var(--mark); padding-left: .8rem; font-size: 1.15rem; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--faint); padding-bottom: .3rem; }
caption span { display: block; position: sticky; left: 0;
  max-width: min(44rem, calc(100vw - 2rem)); }
th, td { padding: .25rem .7rem .25rem 0; text-align: right; vertical-align: top; }
td { white-space: nowrap; }
thead th { border-bottom: 1px solid var(--faint); vertical-align: bottom; }
tbody tr { border-bottom: 1px solid var(--rule); }
tbody th { white-space: pre-line; }
th:first-child, .words td { text-align: left; }
.words th { text-align: left; }
.words { min-width: 46rem; }
.words td { white-space: normal; overflow-wrap: break-word; }
figure { margin: 1rem 0; }
figure img { display: block; width: 100%; min-width: 44rem; max-width: 56rem; height: auto; }
figcaption { color: var(--faint); font-size: .9rem; max-width: 44rem; }
pre { overflow-x: auto; background: var(--raised); padding: .7rem;
  font-size: .8rem; line-height: 1.4; }
details { border: 1px solid var(--rule); border-radius: .3rem; padding: 0 .8rem; margin: .8rem 0; }
summary { cursor: pointer; padding: .5rem 0; font-weight: 600; overflow-wrap: anywhere; }
blockquote { margin: .8rem 0 .8rem 1rem; }
@media screen and (max-width: 40rem) {
  .words { min-width: 0; }
  .words thead, .words td:empty { display: none; }
  .words tr, .words th, .words td:last-child { display: block; padding: 0; }
  .words tr { padding: .35rem 0; }
  .words td { padding: 0; margin-right: 1rem; }
  .words td:not(:last-child) { display: inline-block; }
  .words td:nth-child(3), .words td:last-child { color: var(--faint); }
}
@media print {
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  .scroll, pre { overflow: visible; }
  details::details-content { content-visibility: visible; height: auto; }
  pre { white-space: pre-wrap; }
  .words { min-width: 0; }
  td { white-space: normal; }
  figure img { min-width: 0; }
  figure, tr { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""


def page(title: str, parts: Iterable[str]) -> str:
    """A whole document."""
    return _PAGE.substitute(title=escape(title), style=_STYLE, body="".join(parts))


def section(heading: str, parts: Iterable[str]) -> str:
    """A part of the page under its heading."""
    return f"<section>\n<h2>{escape(heading)}</h2>\n{''.join(parts)}</section>\n"


def folded(heading: str, summary: str, parts: Iterable[str]) -> str:
    """A part of the page of which only `summary` is seen until that is opened."""
    within = f"<details>\n<summary>{escape(summary)}</summary>\n{''.join(parts)}</details>\n"
    return section(heading, [within])


def heading(text: str) -> str:
    """The heading of the page."""
    return f"<h1>{escape(text)}</h1>\n"


def paragraph(text: str, kind: str = "") -> str:
    """Prose."""
    marked = f' class="{kind}"' if kind else ""
    return f"<p{marked}>{escape(text)}</p>\n"


def points(texts: Iterable[str]) -> str:
    """A list."""
    items = "".join(f"<li>{escape(text)}</li>\n" for text in texts)
    return f"<ul>\n{items}</ul>\n"


def code(text: str) -> str:
    """A file or a command as it stands."""
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
