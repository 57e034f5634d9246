"""A temporary folder of an owner who is killed while it removes it goes with the next owner."""

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
