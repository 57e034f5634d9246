"""Files that commands write, and the check that no file of a user's is replaced.

A command makes an `OutputFolder` or an `OutputFile` before it computes, and writes by that alone.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cprsim.cli.common import echo_wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from cprsim.basics.files import Content


class OutputFolder:
    """A folder, and the names of the files that a command may write there.

    `silent`: nothing is said of what was written. Raises `UsageError` where a file is to be kept.
    """

    def __init__(
        self, folder: Path, names: Iterable[str], *, force: bool, silent: bool = False
    ) -> None:
        from cprsim.cli.replacing import check_folder

        self.folder, self._silent = folder, silent
        self._check = partial(check_folder, folder, option="--out", force=force)
        self._check(names)

    def write(self, contents: "Mapping[str, Content]", *, silent: bool = False) -> None:
        """Write files all or none, and say so on stderr unless `silent`."""
        from cprsim.basics.files import write_all
        from cprsim.basics.manifest import with_earlier
        from cprsim.basics.reading import unrecorded

        self._check(contents)  # files may have come, or been read, since
        with unrecorded():
            write_all(self.folder, with_earlier(contents, self.folder))
        names = [name for name, content in contents.items() if content is not None]
        if names and not (silent or self._silent):
            many = f"{len(names)} files into {self.folder}: {', '.join(names)}"
            one = str(self.folder / names[0])
            echo_wrapped(f"cprsim: wrote {one if len(names) == 1 else many}", err=True)


class OutputFile:
    """A file that a command writes in a format, None for a file that is never replaced.

    `silent`: nothing is said of it. Raises `UsageError` where the path has a file to be kept.
    """

    def __init__(
        self, path: Path, form: str | None, option: str, *, force: bool, silent: bool = False
    ) -> None:
        from cprsim.cli.replacing import check_file

        self._path, self._form, self._silent = path, form, silent
        self._check = partial(check_file, path, form, option, force=force)
        self._check()

    def write(self, content: "Content") -> None:
        """Write the file whole or not at all, and say so on stderr."""
        from cprsim.basics.files import write_all

        self._check()
        write_all(self._path.parent, {self._path.name: content})
        if not self._silent:
            echo_wrapped(f"cprsim: wrote {self._path}", err=True)

    def draw(self, figure: "Figure") -> None:
        """Write a figure."""
        from cprsim.figures import save_bytes

        self.write(save_bytes(figure, self._form or ""))
