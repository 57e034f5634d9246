"""Files that commands write, and the check that no file of a user's is replaced.

A command makes an `OutputFolder` or an `OutputFile` before it computes, and writes by that alone.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cprsim.cli.common import echo_wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from cprsim.basics.files import Content


class OutputFolder:
    """A folder, and the names of the files that a command may write there.

    Raises `UsageError` where one of them is to be kept.
    """

    def __init__(self, folder: Path, names: Iterable[str], *, force: bool) -> None:
        self.folder, self._force = folder, force
        self._check(names)

    def _check(self, names: Iterable[str]) -> None:
        from cprsim.basics.replacing import check_folder

        check_folder(self.folder, names, "--out", force=self._force)

    def write(self, contents: "Mapping[str, Content]", *, silent: bool = False) -> None:
        """Write files all or none, and say so on stderr unless `silent`."""
        from cprsim.basics.files import write_all
        from cprsim.basics.manifest import with_earlier
        from cprsim.basics.reading import unrecorded

        self._check(contents)  # files may have come, or been read, since
        with unrecorded():
            write_all(self.folder, with_earlier(contents, self.folder))
        names = [name for name, content in contents.items() if content is not None]
        if not silent:
            _say(self.folder, names)


class OutputFile:
    """A file that a command writes in a format, None for a file that is never replaced.

    Raises `UsageError` where the path has a file to be kept.
    """

    def __init__(self, path: Path, form: str | None, *, force: bool, option: str = "--out") -> None:
        self._path, self._form, self._force, self._option = path, form, force, option
        self._check()

    def _check(self) -> None:
        from cprsim.basics.replacing import check_file

        check_file(self._path, self._form, self._option, force=self._force)

    def write(self, content: "Content", *, silent: bool = False) -> None:
        """Write the file whole or not at all, and say so on stderr unless `silent`."""
        from cprsim.basics.files import write_all

        self._check()
        write_all(self._path.parent, {self._path.name: content})
        if not silent:
            _say(self._path.parent, [self._path.name])


class OutputPicture(OutputFile):
    """A picture that a command draws, in the format that its name ends in."""

    def __init__(self, path: Path, *, force: bool, option: str = "--out") -> None:
        from cprsim.figures import check_picture

        check_picture(path, option)
        self._suffix = path.suffix.lower()[1:]
        super().__init__(path, self._suffix, force=force, option=option)

    def draw(self, figure: "Figure", *, silent: bool = False) -> None:
        """Write a figure."""
        from cprsim.figures import save_bytes

        self.write(save_bytes(figure, self._suffix), silent=silent)


def _say(folder: Path, names: list[str]) -> None:
    if names:
        into = f"{len(names)} files into {folder}: {', '.join(names)}"
        echo_wrapped(f"cprsim: wrote {folder / names[0] if len(names) == 1 else into}", err=True)
