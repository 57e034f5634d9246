"""docs/write-a-policy.md does what it says: its files, its commands and what they print."""

from pathlib import Path

import pytest

from tools.pages.walkthroughs import BLOCK, PAGE, followed, steady

TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_shows_what_comes_of_it(tmp_path: Path) -> None:
    done = followed(TEXT, tmp_path)

    assert steady(done) == steady(TEXT), "run `make pages`"
    assert "passed" in done


def test_what_is_executed_is_all_the_code_there_is() -> None:
    """No block is of another kind, which nobody would run."""
    assert len(BLOCK.findall(TEXT)) == TEXT.count("```") // 2
