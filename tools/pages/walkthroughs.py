"""Carry out what pages say, each in an empty folder, and return what it prints.

Blocks are taken in order. One whose first line is a comment with the name of a file is that file;
other Python is run. In a console block each line after `$` is run, and the lines below it are what
it prints. `pip install -e .` is not run: it would fetch things and change the environment. Instead
a folder with the names of the entry points is written next to the module, as pip would do.

Run `python -m tools.pages.walkthroughs` to refresh what the pages show; tests compare the two.
"""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.paths import DOCS

PAGE = DOCS / "write-a-policy.md"
PLUG_IN = DOCS / "plug-into-your-trainer.md"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
BLOCK = re.compile(r"```(python|toml|console)\n(.*?)```", re.DOTALL)
_NAMED = re.compile(r"# (\S+\.\w+)\n")
_TOOLS = {"cprsim": ["cprsim.cli"], "pytest": ["pytest", "-p", "no:cacheprovider"]}
_PATHS = [each for each in (os.environ.get("PYTHONPATH"),) if each]
_TOOK = re.compile(r"(?<=passed in )[\d.]+s")


def followed(text: str, folder: Path) -> str:
    """Return the page with the output of its commands when they are run in `folder`."""

    def block(found: re.Match[str]) -> str:
        kind, body = found[1], found[2]
        named = _NAMED.match(body)
        if named is not None:
            (folder / named[1]).write_text(body, encoding="utf-8")
        elif kind == "python":
            printed = _run([sys.executable, "-c", body], folder)
            assert not printed, printed
        elif kind == "console":
            body = re.sub(
                r"^\$ (.*)\n((?:[^$\n].*\n|\n(?!\$))*)",
                lambda step: f"$ {step[1]}\n{_command(step[1], folder)}",
                body,
                flags=re.MULTILINE,
            )
        return f"```{kind}\n{body}```"

    return BLOCK.sub(block, text)


def steady(text: str) -> str:
    """Without how long tests took."""
    return _TOOK.sub("1 s", text)


def code(text: str, name: str) -> str:
    """The file of that name on the page."""
    return next(body for _, body in BLOCK.findall(text) if body.startswith(f"# {name}\n"))


def _command(line: str, folder: Path) -> str:
    if line == "pip install -e .":
        _install(folder)
        return ""
    tool, *arguments = shlex.split(line)
    if tool == "python":
        return _run([sys.executable, *arguments], folder)
    return _run([sys.executable, "-m", *_TOOLS[tool], *arguments], folder)


def _run(command: list[str], folder: Path) -> str:
    """Return the output of a command, without blanks at the ends of lines."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *_PATHS])},
        check=False,
    )
    text = done.stdout or done.stderr
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


def _install(folder: Path) -> None:
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    about = {"Metadata-Version": "2.1", "Name": project["name"], "Version": project["version"]}
    (info / "METADATA").write_text("".join(f"{key}: {value}\n" for key, value in about.items()))
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {where}\n" for name, where in entries.items())
            for group, entries in project["entry-points"].items()
        )
    )


if __name__ == "__main__":
    for page in (PAGE, PLUG_IN, *TUTORIALS):
        with TemporaryDirectory() as scratch:
            done = followed(page.read_text(encoding="utf-8"), Path(scratch))
        page.write_text(done, encoding="utf-8")
