"""`cprsim advise --closed-form` as a user meets it."""

import math

import pytest

from tests.test_cli import KAGGLE, SCENARIOS, json_of


@pytest.mark.parametrize(
    ("name", "full", "partial"),
    [
        # What the scenarios are calibrated for: the paper's abstract, and the poster as remembered.
        ("criteo-kaggle", 0.0850, 0.0053),
        ("criteo-terabyte", 0.0820, 0.0068),
        ("production", 0.1250, None),
    ],
)
def test_advise_gives_the_overheads_of_the_paper(folder, capsys, name, full, partial):
    document = json_of(capsys, "advise", "--closed-form", str(SCENARIOS / f"{name}.toml"))

    assert document["full"]["overhead"] == pytest.approx(full, abs=1e-4)
    if partial is not None:
        assert document["partial"]["overhead"] == pytest.approx(partial, abs=1e-4)
        assert document["partial"]["expected_pls"] == pytest.approx(0.1)
    assert document["recommendation"] == "partial"


def test_advise_for_kaggle_is_the_hand_computation(folder, capsys):
    # O_save = 337.2 s, O_load + O_res = 323.4 s, T_fail = 28 h = 100800 s, 8 servers.
    document = json_of(capsys, "advise", "--closed-form", KAGGLE)
    young_s = math.sqrt(2 * 337.2 * 100_800)  # (E3)

    assert document["full"]["interval_s"] == pytest.approx(young_s, rel=1e-12)
    assert young_s == pytest.approx(8245, abs=0.5)
    assert document["naive_partial"]["interval_s"] == document["full"]["interval_s"]
    # (E6): 2 x 0.1 x 8 x 28 h
    assert document["partial"]["interval_s"] == pytest.approx(161_280, rel=1e-12)
    # (E1), (E2), (E5)
    recovery = 323.4 / 100_800
    assert document["full"]["overhead"] == pytest.approx(
        337.2 / young_s + recovery + young_s / 2 / 100_800, rel=1e-12
    )
    assert document["naive_partial"]["overhead"] == pytest.approx(0.0441, abs=1e-4)
    assert document["naive_partial"]["overhead"] == pytest.approx(337.2 / young_s + recovery)
    assert document["naive_partial"]["expected_pls"] == pytest.approx(young_s / 2 / 100_800 / 8)
    assert document["partial"]["overhead"] == pytest.approx(337.2 / 161_280 + recovery, rel=1e-12)
    assert document["full"]["expected_pls"] == 0
    assert document["benefit"] == pytest.approx(
        1 - document["partial"]["overhead"] / document["full"]["overhead"], rel=1e-12
    )
    # A failure every 28 h costs one of 8 shards half an interval. CPR's of 44.8 h saves once in the
    # 56 h: a shard has on average lost (44.8^2 + 11.2^2) / 2 / 56 h of updates.
    naive = young_s / 2 / 100_800 / 8
    rare = (44.8**2 + 11.2**2) / 2 / 56 / 28 / 8
    assert document["full"]["overhead_retrained"] == document["full"]["overhead"]
    for name, lost in (("naive_partial", naive), ("partial", rare)):
        beyond = document[name]["overhead_retrained"] - document[name]["overhead"]
        assert beyond == pytest.approx(document[name]["expected_updates_lost"])
        assert beyond == pytest.approx(lost, rel=0.02)
    assert document["recommendation"] == "partial"
    assert document["recommendation_retrained"] == "full"


def test_advise_recommends_full_recovery_where_partial_is_dearer(folder, called, capsys):
    # (E6) for 0.001: a save every 27 min, 337.2 / 1612.8 = 21 % for saves alone.
    document = json_of(capsys, "advise", "--closed-form", KAGGLE, "--target-pls", "0.001")

    assert document["partial"]["interval_s"] == pytest.approx(1612.8, rel=1e-12)
    assert document["partial"]["overhead"] == pytest.approx(337.2 / 1612.8 + 323.4 / 100_800)
    assert document["recommendation"] == "full"
    assert document["benefit"] == 0

    lines = called("advise", "--closed-form", KAGGLE, "--target-pls", "0.001").out.splitlines()
    (said,) = (each for each in lines if each.startswith("By CPR's"))
    assert said == (
        "By CPR's formulas, full recovery with a save every 2.29 h costs 8.50 %; partial recovery "
        "at PLS 0.001, every 26.9 min, costs 21.23 % and loses 0.10 % of the samples."
    )


def test_advise_prints_its_options_and_a_sentence(folder, called):
    out, err = called("advise", "--closed-form", KAGGLE)

    assert err == ""
    assert "MTBF 28 h" in out
    for option, interval, overhead in (
        ("full ", "2.29 h", "8.50"),
        ("partial ", "2.29 h", "4.41"),
        ("CPR  ", "44.8 h", "0.53"),
    ):
        (row,) = (line for line in out.splitlines() if line.strip().startswith(option))
        assert row.replace(option, "").split()[:3] == [*interval.split(), overhead]
    assert out.splitlines()[-1] == (
        "By CPR's formulas, full recovery with a save every 2.29 h costs 8.50 %; partial recovery "
        "at PLS 0.1, every 44.8 h, costs 0.53 % and loses 10.00 % of the samples."
    )


def test_advise_tells_rare_causes_where_a_scenario_has_them(folder, called):
    ends = ["--set", "costs.shutdown=33.6 min"]  # 1 % of the useful 56 h
    for more, told in (([], False), (ends, True)):
        heading = called("advise", "--closed-form", KAGGLE, *more).out.partition("option")[0]
        assert ("shut-" in heading) == told
        assert "start" not in heading


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        ([], 0.1),  # that of the scenario's CPR policy
        (["--set", "policies.cpr.target_pls=0.05"], 0.05),
        (["--set", "policies.cpr.target_pls=0.05", "--target-pls", "0.02"], 0.02),
        (["--set", "policies.cpr.system=partial"], 0.1),  # CPR's own default
    ],
)
def test_advise_takes_its_target_from_the_command_the_scenario_or_the_paper(
    folder, capsys, arguments, target
):
    if "policies.cpr.system=partial" in arguments:  # takes no target: start from one without
        arguments = [*arguments, "--set", "policies={only = {system = 'full'}}"]
    document = json_of(capsys, "advise", "--closed-form", KAGGLE, *arguments)

    assert document["partial"]["interval_s"] == pytest.approx(2 * target * 8 * 100_800, rel=1e-12)


def test_advise_for_a_job_that_never_fails_saves_never(folder, called, capsys):
    document = json_of(capsys, "advise", "--closed-form", KAGGLE, "--set", "failures.exactly=0")

    assert document["full"]["interval_s"] is None
    assert document["full"]["overhead"] == 0
    assert document["benefit"] == 0
    called("advise", "--closed-form", KAGGLE, "--set", "failures.exactly=0")
