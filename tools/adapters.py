"""`python -m tools.adapters ARGS`: install trainers as their page says; run the tests with them.

The libraries that the page has pip install go into an environment in `.venv/adapters`, which sees
all of `.venv` and changes nothing there.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.paths import DOCS, ROOT
from tools.torchrec import installs, missing

PAGE: Final = DOCS / "plug-into-other-trainers.md"
#: Those with a library that is not in `.venv`.
ADAPTERS: Final = ("orbax", "huggingface", "lightning", "ray", "torchft")


def main() -> None:
    """Install the libraries, unless they are there, and run the tests that need them."""
    environment = Path(sys.prefix, "adapters")
    lacking = missing(environment, installs(PAGE.read_text(encoding="utf-8")))
    if lacking:
        sys.stdout.write(f"The tests of the adapters are not run: {lacking}\n")
        return
    tests = [f"tests/hooks/test_{each}.py" for each in ADAPTERS]
    pytest = [environment / "bin" / "python", "-m", "pytest", "-n", "2", "--dist", "worksteal"]
    pytest += ["-m", "not nightly", *tests, *sys.argv[1:]]
    raise SystemExit(subprocess.run(pytest, cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
