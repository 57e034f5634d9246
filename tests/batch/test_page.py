"""docs/batch.md says what the batch engine plays."""

from pathlib import Path

import pytest

from tools.pages import batch as page

LANL = Path(__file__).parents[3] / "shared/data/lanl_failures"
TEXT = page.PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", page.SHIPPED, ids=lambda path: path.stem)
def test_the_page_has_the_policies_of_each_scenario(path: Path) -> None:
    if path.stem == "lanl-replay" and not LANL.exists():
        pytest.skip(f"needs the LANL log, {LANL}")
    lines = [line for line in TEXT.splitlines(True) if line.startswith(f"| {path.stem} |")]

    assert "".join(lines) == page.rows(path)
