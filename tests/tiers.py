"""How much of what is alike each tier of tests runs."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings


def examples(times: float) -> settings:
    """Draw that many times as many examples as other tests of the tier, at least one."""
    return settings(max_examples=max(1, round(times * settings().max_examples)))


def one_of_each(
    kept: Collection[str], values: Iterable[Any], name: Callable[[Any], str] = str
) -> list[Any]:
    """Return parameters named by `name`, of which those that aren't `kept` are nightly."""
    named = {name(value): value for value in values}
    assert named.keys() >= set(kept), f"of {list(named)} none is named {set(kept) - named.keys()}"
    return [
        pytest.param(value, id=each, marks=[pytest.mark.nightly] * (each not in kept))
        for each, value in named.items()
    ]
