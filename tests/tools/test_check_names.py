"""The check that no two public classes share a name."""

from pathlib import Path

from tools.check_names import shared_names


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / "some" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "some"


def test_both_files_are_named(tmp_path: Path) -> None:
    package = written(tmp_path, a="class Kept:\n    pass\n", b__c="\nclass Kept(int):\n    pass\n")

    assert shared_names(package) == [
        "Kept: some/a.py:1 and some/b/c.py:2 share it; rename all but one"
    ]


def test_private_and_nested_classes_may_share_theirs(tmp_path: Path) -> None:
    own = "class _Kept:\n    pass\n\n\nclass {}:\n    class Kept:\n        pass\n"

    assert not shared_names(written(tmp_path, a=own.format("A"), b=own.format("B")))
