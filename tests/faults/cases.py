"""Commands that are killed, or whose disk fails, at every call; and what must be true then."""

import importlib
import io
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from cprsim.basics import files
from cprsim.basics.files import write_all
from cprsim.basics.manifest import read_manifest, with_manifest
from cprsim.cli import command
from cprsim.errors import UsageError
from cprsim.report import outputs
from tests.faults.injected import Case, Outcome, in_child
from tests.studies.small import SMALL
from tests.sweeps.processes import SCENARIO

#: Of somebody else, in the same folder.
_FOREIGN = {"notes.txt": b"mine", ".DS_Store": b"\0"}


def held(folder: Path) -> dict[str, bytes]:
    """Names and bytes of all files in a folder and below."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def said_in_one_line(outcome: Outcome) -> None:
    """A command that failed has said so as users are told things."""
    assert outcome.code in (1, 2), "it ended in another way"
    assert outcome.said.startswith("cprsim: "), outcome.said
    assert "Traceback" not in outcome.said
    assert "/place/" in outcome.said, "no file is named"
    assert "/.cprsim" not in outcome.said, "a file that the user doesn't know is named"


class Files:
    """Files that replace others: old or new, never mixed.

    `written`: all of the names that the writer has, and what it puts there.
    """

    def __init__(self, old: Mapping[str, bytes], written: Mapping[str, files.Content]) -> None:
        self._old, self._written = old, written
        self._new = {name: each for name, each in written.items() if isinstance(each, bytes)}

    def prepare(self, folder: Path) -> None:
        """Old files, and some of others."""
        (folder / "out").mkdir(parents=True)
        for name, content in (self._old | _FOREIGN).items():
            (folder / "out" / name).write_bytes(content)

    def act(self, folder: Path) -> int:
        """Write them."""
        write_all(folder / "out", self._written)
        return 0

    def look(self, folder: Path, outcome: Outcome) -> None:
        """Whoever reads is told; whoever writes next finds old or new."""
        out = folder / "out"
        assert self._foreign(out) == _FOREIGN
        now = self._ours(out)
        if now not in (self._old, self._new):
            assert outcome.killed or outcome.code
            assert not self._reads(out), f"mixed, and nothing tells: {sorted(now)}"
        files.finish_others(out)
        assert self._ours(out) in (self._old, self._new), "mixed for good"
        if outcome.code == 0:
            assert now == self._new
        write_all(out, self._written)
        assert held(out) == self._new | _FOREIGN, "something is left"

    def _ours(self, out: Path) -> dict[str, bytes]:
        return {
            name: each for name, each in held(out).items() if name in {*self._old, *self._written}
        }

    def _foreign(self, out: Path) -> dict[str, bytes]:
        return {name: each for name, each in held(out).items() if name in _FOREIGN}

    def _reads(self, out: Path) -> bool:
        try:
            read_manifest(out, [*self._new])
        except (UsageError, FileNotFoundError):
            return False
        return True


def some_files() -> Case:
    """Three files and their manifest, one file that goes, and one that comes."""
    old = with_manifest({"a.csv": b"old a", "b.png": b"old b", "gone.csv": b"old c"}, {"run": 1})
    new = with_manifest({"a.csv": b"new a" * 9, "b.png": b"new b", "new.csv": b"c"}, {"run": 2})
    return Files(old, new | {"gone.csv": None})


class NewFolder(Files):
    """The same into folders that aren't there; they go again."""

    def __init__(self) -> None:
        super().__init__({}, with_manifest({"a.csv": b"a", "b.csv": b"b"}, {}))

    def prepare(self, folder: Path) -> None:
        folder.mkdir()

    def act(self, folder: Path) -> int:
        write_all(folder / "r" / "a", self._written)
        return 0

    def look(self, folder: Path, outcome: Outcome) -> None:
        out = folder / "r" / "a"
        if not outcome.killed and outcome.code and not (out / files._COMMITTED).exists():
            assert list(folder.iterdir()) == [] or self._ours(out) == self._new
        write_all(out, self._written)
        assert held(folder) == {f"r/a/{name}": each for name, each in self._new.items()}


class Command:
    """A command that is given again after it was killed, and ends with the same files.

    `result`: what is to be compared of the folder that it writes into.
    """

    def __init__(
        self, arguments: list[str], result: Callable[[Path], Any], scenario: str = SCENARIO
    ) -> None:
        self._arguments, self._result, self._scenario = arguments, result, scenario
        with TemporaryDirectory() as folder:
            self._expected = self._undisturbed(Path(folder, "undisturbed"))

    def prepare(self, folder: Path) -> None:
        """The scenario, and what others have put there."""
        (folder / "out").mkdir(parents=True)
        (folder / "job.toml").write_text(self._scenario)
        for name, content in _FOREIGN.items():
            (folder / "out" / name).write_bytes(content)

    def act(self, folder: Path) -> int:
        """Give the command."""
        return command._main([each.format(folder) for each in self._arguments])

    def look(self, folder: Path, outcome: Outcome) -> None:
        """Told in a line if it failed; and given again, it ends as if nothing had been."""
        if not outcome.killed and outcome.code:
            said_in_one_line(outcome)
        again = in_child(lambda: self.act(folder))
        assert again.code == 0, again.said
        assert self._result(folder) == self._expected
        assert {name: held(folder / "out").get(name) for name in _FOREIGN} == _FOREIGN
        stale = [name for name in held(folder) if "/.cprsim" in name]
        assert stale == [], "temporary files are left"

    def _undisturbed(self, folder: Path) -> Any:
        self.prepare(folder)
        with redirect_stdout(io.StringIO()):
            assert self.act(folder) == 0
        return self._result(folder)


def run() -> Case:
    """`cprsim run --out`; what it draws is drawn once, for that takes most of its time."""
    kept: list[Any] = []
    contents = outputs.contents

    def drawn_once(*arguments: Any) -> Any:
        if not kept:
            kept.append(contents(*arguments))
        return kept[0]

    outputs.contents = drawn_once
    arguments = ["run", "{}/job.toml", "--replications", "3", "--out", "{}/out"]
    return Command(arguments, lambda folder: held(folder / "out"))


def sweep() -> Case:
    """`cprsim sweep`, which commits after every task."""
    importlib.import_module("cprsim.sweeps.sweep")._COMMIT_S = -1.0
    varied = ["--vary", "failures.mean=10 h,20 h", "--replications", "3", "--workers", "1"]
    return Command(["sweep", "{}/job.toml", *varied, "--out", "{}/out"], _table)


def _table(folder: Path) -> bytes:
    with TemporaryDirectory() as place:
        table = Path(place, "table.csv")
        asked = ["export", str(folder / "out"), "--format", "csv", "--out", str(table)]
        assert command._main(asked) == 0
        return table.read_bytes()


class Export(Command):
    """`cprsim export --out`, of a sweep that is done."""

    def __init__(self) -> None:
        self._swept = Path(mkdtemp())
        self._sweep = sweep()
        self._sweep.prepare(self._swept)
        with redirect_stdout(io.StringIO()):
            assert self._sweep.act(self._swept) == 0
        asked = ["export", "{}/out", "--format", "csv", "--out", "{}/out/tables/it.csv"]
        super().__init__(asked, lambda folder: held(folder / "out" / "tables"))

    def prepare(self, folder: Path) -> None:
        shutil.copytree(self._swept, folder)


def study() -> Case:
    """`cprsim study`, whose runs are made up."""
    play = importlib.import_module("cprsim.trainer.studies.play")
    play.played, play.Workers = _made_up, lambda _: _InThisProcess()
    return Command(
        ["study", "{}/job.toml", "--out", "{}/out", "--workers", "1"],
        lambda folder: held(folder / "out"),
        SMALL,
    )


class _InThisProcess(Executor):
    """Does each task at once, as it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def _made_up(run: Any) -> dict[str, Any]:
    lost = 0.01 * run.facts["failures"] * (run.policy != "full")
    return {
        **run.facts,
        "auc": 0.8 + 0.01 * run.seed - lost,
        "log_loss": 0.5,
        "pls": lost,
        "updates_lost": lost,
        "predictions_sha256": f"{run.seed} {lost}",
        "versions": {"cprsim": "1"},
    }


CASES: dict[str, Callable[[], Case]] = {
    "files": some_files,
    "new folder": NewFolder,
    "run": run,
    "sweep": sweep,
    "export": Export,
    "study": study,
}
