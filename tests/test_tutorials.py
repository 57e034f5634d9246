"""The tutorials print what they show, file by file and command by command."""

from pathlib import Path

import pytest

from tests.tiers import one_of_each
from tools.pages.walkthroughs import TUTORIALS, code, followed


@pytest.mark.slow
@pytest.mark.parametrize("page", one_of_each(("your-cluster",), TUTORIALS, lambda page: page.stem))
def test_a_tutorial_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert followed(text, tmp_path) == text, "run `make pages`"


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_job_of_a_tutorial_is_a_scenario(page: Path, tmp_path: Path) -> None:
    import cprsim

    path = tmp_path / "my-job.toml"
    path.write_text(code(page.read_text(encoding="utf-8"), "my-job.toml"), encoding="utf-8")

    assert cprsim.load_job(path).title
