"""docs/plug-into-your-trainer.md does what it says, and asks for few lines."""

from pathlib import Path

import pytest

from tools.pages.walkthroughs import BLOCK, PLUG_IN, code, followed

TEXT = PLUG_IN.read_text(encoding="utf-8")
pytest.importorskip("torch")


@pytest.mark.slow
def test_the_page_shows_what_comes_of_it(tmp_path: Path) -> None:
    """Its own assertions say that lost rows are those last saved, and the others untouched."""
    done = followed(TEXT, tmp_path)

    assert done == TEXT, "run `make pages`"
    assert "it goes on from step 154" in done
    assert "it goes on from step 130" in done


def test_the_plain_loop_knows_nothing_of_cprsim() -> None:
    assert "cprsim" not in code(TEXT, "plain.py")


def test_what_is_executed_is_all_the_code_there_is() -> None:
    """No block is of another kind, which nobody would run."""
    assert len(BLOCK.findall(TEXT)) == TEXT.count("```") // 2
