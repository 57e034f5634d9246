"""docs/write-a-policy.md does what it says: its files, its commands and what they print."""

from pathlib import Path

from tools.pages.walkthroughs import BLOCK, PAGE, code, followed, steady

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_shows_what_comes_of_it(tmp_path: Path) -> None:
    done = followed(TEXT, tmp_path)

    assert steady(done) == steady(TEXT), "run `make pages`"
    assert "passed" in done


def test_the_policy_has_few_lines() -> None:
    lines = [line for line in code(TEXT, "learning.py").splitlines() if line.strip()]

    assert len(lines) <= 35


def test_its_test_is_the_suite_and_a_run_worked_by_hand() -> None:
    tests = code(TEXT, "test_learning.py")

    assert "(PolicyConformance)" in tests
    assert tests.count("def test_") == 1


def test_what_is_executed_is_all_the_code_there_is() -> None:
    """No block is of another kind, which nobody would run."""
    assert len(BLOCK.findall(TEXT)) == TEXT.count("```") // 2
