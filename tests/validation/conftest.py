import pytest

from tools.validation.cases import CASES, SWEEP, measure, measure_sweep


# Parametrised for the session, so that pytest runs the tests of one case one after the other, from
# both files, and so in one process as a rule: each case is simulated once.
@pytest.fixture(scope="session", params=CASES, ids=lambda case: f"{case.group}: {case.name}")
def measured(request):
    return request.param, measure(request.param)


@pytest.fixture(scope="session", params=[SWEEP], ids=["sweep"])
def measured_sweep(request):
    return measure_sweep(request.param)
