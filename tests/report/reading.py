"""What the tests of all pages look at."""

from html.parser import HTMLParser

EMPTY = {"meta", "link", "img", "br", "hr"}


class Page(HTMLParser):
    """Tags that are opened and closed in turn, their attributes, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data


def check_closed(page: Page) -> None:
    """Every tag is closed, and nothing points outside or runs."""
    assert page.open == []
    for tag, attributes in page.tags:
        assert tag != "script"
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "srcset", "data", "action", "poster", "background"):
            value = attributes.get(name)
            assert value is None or value.startswith("data:"), (tag, value)
    assert "url(" not in page.texts["style"][0]
    assert "@import" not in page.texts["style"][0]
