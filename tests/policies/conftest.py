"""What tests of policies share."""

import pytest

from cprsim.testing import PolicyConformance

#: Conditions of the suite of all policies in which the quick tier tries each of them.
FEW = {"shared links", "announced failures", "torn checkpoints and silent faults"}


@pytest.fixture(autouse=True)
def few_conditions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the quick tier a policy passes its suite under few conditions, and under its own."""
    suite = request.cls
    if request.config.option.quick and suite and issubclass(suite, PolicyConformance):
        left_out = PolicyConformance.conditions.keys() - FEW
        kept = {name: each for name, each in suite.conditions.items() if name not in left_out}
        monkeypatch.setattr(suite, "conditions", kept)
