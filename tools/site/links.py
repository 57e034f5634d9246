"""See to it that links inside the built site lead somewhere: pages, files and anchors.

Run `python -m tools.site.links FOLDER`, or `make docs`.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit


class _Page(HTMLParser):
    """The links of a page, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each tag."""
        for name, value in attrs:
            if value and name in ("href", "src") and tag != "link":
                self.links.append(value)
            elif value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)


def dead_links(site: Path) -> list[str]:
    """A line for each link that leads nowhere in the site; links out of it are not followed."""
    pages = {
        path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")
    }
    return [
        f"{path.relative_to(site.resolve())}: {link}"
        for path, page in sorted(pages.items())
        for link in dict.fromkeys(page.links)
        if not _leads_somewhere(link, path, pages)
    ]


def _leads_somewhere(link: str, page: Path, pages: dict[Path, _Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target, anchor = urldefrag(link)
    to = (page.parent / unquote(target.partition("?")[0])).resolve() if target else page
    if not to.exists():
        return False
    return to not in pages or unquote(anchor) in pages[to].anchors


if __name__ == "__main__":
    found = dead_links(Path(sys.argv[1]))
    sys.exit("\n".join(found) or None)
