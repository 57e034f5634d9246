"""A temporary folder that its owner could not remove goes when the next owner starts."""

import shutil
from pathlib import Path

import pytest

from cprsim.basics.owned import owned_folder, remove_orphans

pytest.importorskip("fcntl", reason="no locks")


def test_an_owner_who_is_killed_while_removing_leaves_what_the_next_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def owner() -> None:
        with owned_folder(tmp_path) as folder:
            (folder / "state").mkdir()
            (folder / "state/rows").write_text("1")
            (folder / "socket").write_text("")
            monkeypatch.setattr(shutil, "rmtree", killed)

    with pytest.raises(KeyboardInterrupt):
        owner()
    monkeypatch.undo()
    assert len([*tmp_path.iterdir()]) == 1

    with owned_folder(tmp_path):
        pass
    assert not [*tmp_path.iterdir()]


def test_what_is_written_while_the_owner_removes_the_folder_goes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = shutil.rmtree

    def remove_and_write(folder: Path, **how: bool) -> None:
        remove(folder, **how)
        folder.mkdir()
        (folder / "late").write_text("of a process that has yet to end")

    monkeypatch.setattr(shutil, "rmtree", remove_and_write)
    with owned_folder(tmp_path):
        pass
    monkeypatch.undo()
    assert [path.name for path in tmp_path.glob("*/*")] == ["late"]

    with owned_folder(tmp_path):
        pass
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_is_not_locked_yet_keeps_what_its_owner_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner locks it just when somebody else found no lock."""
    remove = Path.rmdir

    def lock_first(folder: Path) -> None:
        (folder / ".owner").touch()
        (folder / "rows").touch()
        remove(folder)

    new = tmp_path / ".cprsim-new"
    new.mkdir()
    monkeypatch.setattr(Path, "rmdir", lock_first)
    remove_orphans(tmp_path)
    assert (new / "rows").exists()
