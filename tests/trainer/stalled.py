"""Imports without an end, as torch seems to on a slow machine; `STALLED` names a file to make."""

import os
import signal
from pathlib import Path

if "STALLED" in os.environ:
    Path(os.environ["STALLED"]).touch()
    while True:
        signal.pause()
