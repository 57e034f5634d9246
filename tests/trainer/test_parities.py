"""Parities of rows on other servers: what a lost one held is worked out of the rest, bit for bit."""

import numpy as np
import pytest

from cprsim.contract import Redundancy, every
from cprsim.policies.ecrm import every_group_decodes
from cprsim.policies.full import full_plan
from cprsim.trainer.manner import InjectionMode
from cprsim.trainer.members import decoding
from cprsim.trainer.members.stripes import Stripes
from tests.trainer.runs import IMPATIENT, PATIENT, STEPS, coded, ran, servers_hit, trainer_hit


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return {n: ran(full_plan(1e9), [], tmp_path_factory.mktemp("c"), servers=n) for n in (3, 4, 5)}


@pytest.mark.parametrize("free", [False, True], ids=["pinned", "free"])
@pytest.mark.parametrize(("servers", "data"), [(3, 2), (4, 2), (5, 4)])
def test_losses_of_one_server_change_no_prediction(clean, tmp_path, servers, data, free):
    kills = [(9.0, servers_hit(0)), (30.0, servers_hit(servers - 1))]
    recovered = ran(coded(servers, data), kills, tmp_path, servers=servers, free=free)

    assert recovered.predictions == clean[servers].predictions
    assert recovered.replaced == recovered.struck == len(kills)
    assert recovered.job.executed == STEPS
    assert recovered.pls == 0
    assert recovered.job.row_events == []
