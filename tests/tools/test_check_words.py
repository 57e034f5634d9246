"""The check that docstrings, comments and messages speak plainly."""

from pathlib import Path

import pytest

from tools import check_words
from tools.check_words import check, offences


def found(folder: Path, source: str) -> list[str]:
    """Return the offences of a file of that source, without its name."""
    path = folder / "made_up.py"
    path.write_text(source)
    return [line.removeprefix("made_up.py:") for line in offences(path, "made_up.py")]


@pytest.mark.parametrize("opening", ["What", "Whether", "How", "Of", "Those", "Which", "Who", "As"])
def test_docstrings_begin_with_a_verb_or_the_thing(tmp_path: Path, opening: str) -> None:
    source = f'"""A module."""\n\n\ndef saves() -> int:\n    """{opening} saves."""\n'

    assert found(tmp_path, source) == [
        f"5: docstring begins with {opening!r}; begin with a verb or the thing"
    ]


def test_words_to_avoid_are_found_in_all_that_is_read(tmp_path: Path) -> None:
    source = '''"""A save that was void."""
# The job goes
# on, and gets nowhere.
PORT = 1  # told by the caller
raise ValueError(f"policy {PORT}: it keeps to {'nothing at hand'}, and is what " "it was")


class Kept:
    """A checkpoint.

    The tier that holds training up.
    """
'''

    assert found(tmp_path, source) == [
        "1: docstring says 'void'",
        "2: comment says 'goes on'",
        "3: comment says 'gets nowhere'",
        "4: comment says 'told'",
        "5: message says 'at hand'",
        "5: message says 'is what'",
        "5: message says 'keeps to'",
        "11: docstring says 'holds training up'",
    ]


def test_names_and_other_words_are_left_alone(tmp_path: Path) -> None:
    source = '''"""Returns of the standard `beside` and `can
be void`, as asked_s is; remind the reader."""
WORDS = ["void", "beside"]
'''

    assert not found(tmp_path, source)


def test_what_is_rightly_used_is_listed_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = (("made_*.py", "void fraction", "a term of physics"),)
    monkeypatch.setattr(check_words, "RIGHT", listed)

    assert found(tmp_path, '"""The void fraction of a void."""\n') == ["1: docstring says 'void'"]


def test_only_files_that_are_done_are_read(tmp_path: Path) -> None:
    for name in ("done.py", "later.py"):
        (tmp_path / name).write_text("# anew\n")

    assert check(tmp_path, ("d*.py",)) == ["done.py:1: comment says 'anew'"]


def test_pages_are_read_without_their_code(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n    cprsim told\n\n```sh\ncprsim asked\n```\n\nA `void` is anew.\n"
    )

    assert offences(page, "page.md") == ["page.md:9: page says 'anew'"]
