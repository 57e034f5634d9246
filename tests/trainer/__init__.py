"""All of these need torch, and are skipped where it is not installed."""

import pytest

pytest.importorskip("torch")
