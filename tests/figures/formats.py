"""Every format that a picture can be written in; `make test` writes the one that pages have."""

import pytest

from cprsim.figures import FORMATS

EACH_FORMAT = [
    name if name == "svg" else pytest.param(name, marks=pytest.mark.slow) for name in FORMATS
]
