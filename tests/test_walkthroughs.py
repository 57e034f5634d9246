"""Pages that are walked through print what they show, file by file and command by command."""

from pathlib import Path

import pytest

import cprsim
from tests.tiers import one_of_each
from tools.pages.walkthroughs import BLOCK, PAGE, PLUG_IN, TUTORIALS, code, followed, steady

PAGES = [*TUTORIALS, PLUG_IN, PAGE]


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", one_of_each(("your-cluster", PLUG_IN.stem, PAGE.stem), PAGES, lambda page: page.stem)
)
def test_a_page_shows_what_comes_of_it(page, tmp_path):
    """Of plugging in, its own assertions say that lost rows are those last saved, others kept."""
    if page == PLUG_IN:
        pytest.importorskip("torch")
    done, text = followed(text_of(page), tmp_path), text_of(page)
    if page == PAGE:  # which tests a policy, and says how long that took
        done, text = steady(done), steady(text)

    assert done == text, "run `make pages`"


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (PLUG_IN, "it goes on from step 154"),
        (PLUG_IN, "it goes on from step 130"),
        (PAGE, "passed"),
    ],
)
def test_a_page_has_something_to_show(page, said):
    assert said in text_of(page)


@pytest.mark.parametrize("page", [PLUG_IN, PAGE], ids=lambda page: page.stem)
def test_what_is_executed_is_all_the_code_there_is(page):
    """No block is of another kind, which nobody would run."""
    text = text_of(page)

    assert len(BLOCK.findall(text)) == text.count("```") // 2


def test_the_plain_loop_knows_nothing_of_cprsim():
    assert "cprsim" not in code(text_of(PLUG_IN), "plain.py")


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_job_of_a_tutorial_is_a_scenario(page, tmp_path):
    path = tmp_path / "my-job.toml"
    path.write_text(code(text_of(page), "my-job.toml"), encoding="utf-8")

    assert cprsim.load_job(path).title
