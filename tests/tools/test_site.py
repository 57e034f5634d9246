"""The site: pages that the code writes, the contents, and links that lead somewhere."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import cprsim
from cprsim.cli.command import _main, app
from tools.paths import DOCS, ROOT
from tools.site import GENERATED, commands, with_generated
from tools.site.links import dead_links

PAGES = sorted(DOCS.rglob("*.md"))
#: Of a fence, what is in it.
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[(?:[^\]]|\][^(])*?\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)")


def _named(command: Any) -> str:
    return command.callback.__name__


def anchors(page: Path) -> set[str]:
    """As code hosts make them of headings: small letters, blanks to hyphens, no other signs."""
    found: list[str] = []
    text = _FENCED.sub("", with_generated(page.read_text(encoding="utf-8")))
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.append(slug if slug not in found else f"{slug}-{found.count(slug)}")
    return set(found)


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_links_to_headings_lead_to_one(page: Path) -> None:
    dead = [
        f"{target}#{anchor}"
        for target, anchor in _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))
        if anchor not in anchors((page.parent / target).resolve() if target else page)
    ]
    assert dead == []


def test_every_page_is_in_the_contents_once() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = [
        line.rpartition("<")[2].rstrip(">")
        for contents in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
        for line in contents.splitlines()
        if not line.startswith(":")
    ]
    pages = [page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES]

    assert sorted([*listed, "index"]) == sorted(pages)


def test_every_generated_part_has_its_page() -> None:
    asked = [
        name
        for page in PAGES
        for name in re.findall(r"<!-- generated: (\w+) -->", page.read_text(encoding="utf-8"))
    ]
    assert sorted(asked) == sorted(GENERATED)


def test_the_reference_of_commands_has_what_help_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert _main(["--help"]) == 0
    listed = re.findall(r"^  ([a-z]+)  ", capsys.readouterr().out, re.MULTILINE)
    assert commands.names() == listed

    for name in listed:
        assert _main([name, "--help"]) == 0
        options = {*re.findall(r"^ +(--[a-z0-9-]+)", capsys.readouterr().out, re.MULTILINE)}
        part = commands.page().partition(f"## `cprsim {name}`\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| `(-*[\w-]+)", part, re.MULTILINE)
        called = next(each.callback for each in app.registered_commands if _named(each) == name)
        assert {row for row in rows if row.startswith("--")} <= options
        assert len(rows) == len(inspect.signature(called).parameters)


def test_a_row_of_the_keys_says_all() -> None:
    assert (
        "| `write` | Bandwidth of saves to it, all nodes together. | bandwidth |  | > 0 "
        '| `"8 GB/s"` |\n'
    ) in GENERATED["keys"]()
    assert (
        "| `in_flight` | Saves that may be under way at a time. | whole number | `1` | >= 1 | `1` |"
    ) in GENERATED["keys"]()


def test_every_public_name_is_in_the_reference() -> None:
    page = GENERATED["python"]()

    assert {*re.findall(r":: cprsim\.(\w+)$", page, re.MULTILINE)} == {*cprsim.__all__}


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/there.html").write_text('<h1 id="here">it</h1>')
    (tmp_path / "a.html").write_text(
        '<a href="b/there.html#here"></a><a href="b/there.html#gone"></a><a href="gone.html"></a>'
        '<img src="gone.svg"><a href="#gone"></a><a href="https://gone.example"></a>'
    )

    assert dead_links(tmp_path) == [
        "a.html: b/there.html#gone",
        "a.html: gone.html",
        "a.html: gone.svg",
        "a.html: #gone",
    ]
