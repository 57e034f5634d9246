"""Every public name says what it returns, and shows it by an example that is run."""

import doctest
import inspect
from pathlib import Path

import pytest

import cprsim
from cprsim.contract import registry

FUNCTIONS = [name for name in cprsim.__all__ if inspect.isfunction(getattr(cprsim, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_says_what_it_returns(name: str) -> None:
    assert "\nReturns\n-------\n" in (inspect.getdoc(getattr(cprsim, name)) or "")


@pytest.mark.slow
@pytest.mark.parametrize("name", cprsim.__all__)
def test_every_name_has_an_example_that_works(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))  # one registers a policy
    text = getattr(cprsim, name).__doc__ or ""
    test = doctest.DocTestParser().get_doctest(text, {"cprsim": cprsim}, name, None, 0)

    assert "Examples\n" in text
    assert test.examples
    said: list[str] = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert failed == 0, "".join(said)
