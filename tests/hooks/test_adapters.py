"""Adapters where their libraries are absent, and the page that shows them."""

import re
import subprocess
import sys
import tomllib

import pytest

from cprsim.hooks.torchft import after_commit
from tests.hooks.scripts import PAGE
from tools.pages.walkthroughs import BLOCK
from tools.paths import ROOT
from tools.plug_ins import PLUG_INS

TEXT = PAGE.read_text(encoding="utf-8")


def test_orbax_needs_no_library_to_be_imported() -> None:
    code = (
        "import sys, cprsim.hooks.orbax\n"
        "assert not {'torch', 'simpy', 'jax', 'orbax', 'numpy'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


#: Nothing of these packages can be imported, wherever the test runs.
ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {"accelerate", "lightning", "ray", "transformers"}:
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Absent())
from cprsim.errors import UsageError
"""


@pytest.mark.parametrize(
    ("adapter", "library", "said"),
    [
        ("huggingface", "accelerate", "callback needs it: pip install transformers accelerate"),
        ("lightning", "lightning", "callback needs it: pip install lightning"),
        ("ray", "ray", "report needs it: pip install 'ray[train]'"),
    ],
)
def test_a_missing_library_is_one_clear_line(adapter: str, library: str, said: str) -> None:
    tried = f"try: import cprsim.hooks.{adapter}\nexcept UsageError as error: print(error)"
    done = subprocess.run(
        [sys.executable, "-c", ABSENT + tried], check=True, capture_output=True, text=True
    )
    assert done.stdout == f"{library} is not installed, and this {said}\n"


class StandInManager:
    """`Manager` of torchft as far as `after_commit` asks it (pytorch/torchft, torchft/manager.py).

    `should_commit` counts a step on if it is committed; healing sets the step to the peer's.
    """

    def __init__(self) -> None:
        self.committed = 0

    def current_step(self) -> int:
        return self.committed


class NotedHooks:
    """What `after_commit` has the hooks do."""

    def __init__(self) -> None:
        self.step, self.did = 0, list[str]()

    def after_step(self, batch: object) -> None:
        self.step += 1
        self.did.append(f"after_step {batch}")

    def adopt(self, step: int) -> None:
        self.step = step
        self.did.append(f"adopt {step}")


def test_hooks_count_what_torchft_commits_and_adopt_what_a_peer_sends() -> None:
    manager, hooks = StandInManager(), NotedHooks()
    # Committed, not committed, committed; healed and committed; healed to an older state.
    for step in (1, 1, 2, 7, 5):
        manager.committed = step
        after_commit(hooks, manager, "batch")
    assert hooks.did == ["after_step batch", "after_step batch", "adopt 7", "adopt 5"]


def test_every_script_of_the_page_is_run_by_a_test() -> None:
    kinds = [kind for kind, _ in BLOCK.findall(TEXT)]
    scripts = re.findall(r"```python\n# (\w+)_job\.py\n", TEXT)

    assert len(scripts) == kinds.count("python")
    assert len(kinds) == TEXT.count("```") // 2
    for name in scripts:
        tests = (ROOT / "tests" / "hooks").glob("*.py")
        assert any(f'"{name}_job.py"' in each.read_text() for each in tests), name


def test_the_page_pins_every_library_and_the_torch_of_all_other_tests() -> None:
    found = [each for line in PLUG_INS["adapters"].installs for each in line[1:]]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert found[0] in project["dependency-groups"]["dev"]
    assert all(re.fullmatch(r"[a-z-]+==[\d.]+", each) for each in found)
    assert PLUG_INS["adapters"].page == PAGE
