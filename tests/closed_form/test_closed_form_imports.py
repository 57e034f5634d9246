"""The closed forms stay cheap to import, as a command line's `--help` imports them."""

import subprocess
import sys


def test_importing_every_form_loads_nothing_heavy():
    code = (
        "import sys, cprsim\n"
        "before = set(sys.modules)\n"
        "import cprsim.closed_form.ettr, cprsim.closed_form.renewal\n"
        "import cprsim.closed_form.cpr, cprsim.closed_form.intervals\n"
        "heavy = {'numpy', 'scipy', 'pandas', 'pydantic', 'simpy', 'matplotlib'}\n"
        "raise SystemExit(', '.join(sorted(heavy & set(sys.modules) - before)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    # `raise SystemExit('')` ends with status 1 and says nothing.
    assert done.stderr.strip() == ""
