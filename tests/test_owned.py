"""A temporary folder that its owner could not remove goes when the next owner starts."""

import shutil
from pathlib import Path

import pytest

from cprsim.basics.owned import owned_folder

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


def test_what_is_written_while_the_owner_removes_the_folder_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = Path.unlink

    def unlink_then_write(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        if path.name == ".owner":  # a process that has yet to end
            (path.parent / "late").touch()

    monkeypatch.setattr(Path, "unlink", unlink_then_write)
    with owned_folder(tmp_path):
        pass
    monkeypatch.undo()
    assert len([*tmp_path.glob("*/late")]) == 1

    with owned_folder(tmp_path):
        pass
    assert not [*tmp_path.iterdir()]
