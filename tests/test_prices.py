"""What a job costs, counted by hand: hours x machines x prices, and bytes x prices."""

import math
import tomllib
from io import BytesIO, StringIO
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats

import cprsim
from cprsim.basics.spreadsheet import csv_bytes
from cprsim.basics.units import MOST, format_amount
from cprsim.errors import ScenarioError, UsageError
from cprsim.job.price import (
    PER_SIZE,
    PER_SIZE_AND_TIME,
    PER_TIME,
    Price,
    format_price,
    parse_price,
)
from cprsim.job.prices import Prices
from cprsim.report.conclusion import findings
from cprsim.report.report import report
from cprsim.report.tables import resources_table
from cprsim.runs.measures import Basis
from cprsim.runs.summaries import tidy
from cprsim.scenario import Scenario
from cprsim.sim.engine import COLUMNS, simulate
from cprsim.sweeps import display
from tests.drawn import scenarios

#: Of the machines of the job below: 12 x 2.5 + 4 x 3.
HOURLY = 42.0
MACHINES = {"trainer": "2.5 USD/h", "parameter_server": "72 USD/d"}
PRICED = ("cost", "energy_kwh", "carbon_kg")


def tables(
    prices: dict[str, str] | None, policies: dict[str, Any] | None = None, **others: Any
) -> dict[str, Any]:
    """10 h on 4 servers and 12 trainers, 40 GB; nothing fails, and saves take a minute."""
    priced = {} if prices is None else {"prices": prices}
    return {
        "job": {"useful_time": "10 h"},
        "model": {"embedding": "30 GB", "optimizer": "10 GB"},
        "cluster": {"parameter_servers": 4, "trainers": 12},
        "costs": {"save": "1 min", "load": "1 min"},
        "failures": {"exactly": 0},
        "policies": policies or {"full": {"system": "full", "interval": "10 h"}},
        **priced,
        **others,
    }


def run(*of: Any, replications: int = 3, **others: Any) -> cprsim.Result:
    """Of such a job."""
    return cprsim.run(Scenario(**tables(*of, **others)), replications=replications)


# --- Machines, energy --------------------------------------------------------------------------


TWO_SPARES = {"cluster": {"parameter_servers": 4, "trainers": 12, "spares": 2}}
SPARE = {"spare": "1 USD/h"}
SWAP = {"system": "hot-swap", "spares": 3, "iteration": "1 s", "interval": "10 h"}
COPIES = {"system": "replication", "copies": 3, "slowdown": 0.0}
COUNTERS = {"system": "cpr-mfu", "interval": "9 h", "target_pls": 0.5}
SAVES = {"system": "full", "interval": "3 h"}
NEVER = {"system": "full", "interval": "10 h"}
ROWS = {
    "model": {
        "tables": [{"rows": 10_000_000, "dim": 16, "optimizer_slots": 1, "skew": {"zipf": 1.0}}]
    },
    "job": {"useful_time": "10 h", "samples": 10**8},
}
#: Prices, a policy, other tables, and what the job costs by hand: an hour, and beside time.
COSTS = {
    "machines": (MACHINES, NEVER, {}, HOURLY, 0.0),
    "machines of one kind": ({"trainer": "1 USD/h"}, NEVER, {}, 12, 0.0),
    "spares that stand ready": (MACHINES | SPARE, NEVER, TWO_SPARES, HOURLY + 2, 0.0),
    "those of the policy, in place of the cluster's": (
        MACHINES | SPARE,
        SWAP,
        TWO_SPARES,
        HOURLY + 3,
        0.0,
    ),
    "writing three checkpoints": ({"written": "0.01 USD/GB"}, SAVES, {}, 0.0, 3 * 40 * 0.01),
    # One checkpoint, a month of 730 h.
    "storing one": ({"stored": "0.73 USD/GB/month"}, SAVES, {}, 40 * 0.001, 0.0),
    "both": (
        {"written": "0.01 USD/GB", "stored": "0.73 USD/GB/month"} | MACHINES,
        SAVES,
        {},
        HOURLY + 0.04,
        1.2,
    ),
    "neither without saves": (
        {"written": "0.01 USD/GB", "stored": "0.73 USD/GB/month"} | MACHINES,
        NEVER,
        {},
        HOURLY,
        0.0,
    ),
    "memory of two more copies": ({"memory": "0.003 USD/GB/h"}, COPIES, {}, 2 * 40 * 0.003, 0.0),
    "memory of four bytes a row": ({"memory": "0.003 USD/GB/h"}, COUNTERS, ROWS, 0.00012, 0.0),
}


@pytest.mark.parametrize("name", COSTS)
def test_a_job_costs_its_hours_and_its_bytes(name):
    prices, policy, others, hourly, once = COSTS[name]
    found = run(prices, {"it": policy}, **others).summary.loc["it"]
    hours = found["wall_s"] / 3600

    assert found["cost"] == pytest.approx(hours * hourly + once, rel=1e-12)
    if policy is NEVER or policy is COPIES:
        assert hours == 10
    if policy is SAVES:
        assert hours == pytest.approx(10 + 3 / 60, rel=1e-12)


def test_machines_draw_power_spares_included():
    result = run({"energy": "0.6 kW", "carbon": "400 g/kWh"}, **TWO_SPARES)
    found = result.summary.loc["full"]

    assert found["energy_kwh"] == pytest.approx(10 * 18 * 0.6, rel=1e-12)
    assert found["carbon_kg"] == pytest.approx(10 * 18 * 0.6 * 0.4, rel=1e-12)
    assert "cost" not in found
    assert "currency" not in result.document()


def test_spares_that_a_policy_brings_need_a_price():
    swap = {"mine": {"system": "hot-swap", "iteration": "1 s"}, "full": NEVER}

    with pytest.raises(ScenarioError) as raised:
        Scenario(**tables(MACHINES, swap))
    assert raised.value.args == (
        "prices.spare: is missing, but machines have prices and spares are ready under mine; "
        'write e.g. spare = "2.5 USD/h"',
    )
    assert Scenario(**tables(MACHINES | {"spare": "0 USD/h"}, swap))
    assert Scenario(**tables({"written": "1 USD/GB"}, swap))  # no machine is paid


@given(scenarios(), st.integers(0, 2**32))
def test_machines_at_one_price_cost_machine_time(of, seed):
    every = dict.fromkeys(("trainer", "parameter_server", "spare"), "2 USD/h")
    scenario = Scenario(**of, prices=every | {"energy": "2 kW"})
    policies = list(scenario.policies)
    bases = [Basis.of(scenario, policy) for policy in policies]
    found = tidy(policies, simulate(scenario, policies, range(2), seed), COLUMNS, bases)
    cluster = scenario.cluster
    useful_h = scenario.job.useful_time_s / 3600
    useful_h *= cluster.trainers + cluster.parameter_servers

    expected = 2 * useful_h * (1 + found["machine_overhead"].to_numpy())
    np.testing.assert_allclose(found["cost"], expected, rtol=1e-9)
    np.testing.assert_allclose(found["energy_kwh"], expected, rtol=1e-9)


# --- Bytes -------------------------------------------------------------------------------------


FIXED = {"distribution": "deterministic", "mean": "4 h", "ages": "new"}
TWO = {"failures": FIXED | {"hits": {"parameter_servers": 2}}}
TRAINER = {"failures": FIXED | {"hits": {"parameter_servers": 0, "trainers": 1}}}
#: What one failure makes each policy read from the store: GB, by hand.
READS = {
    "full": ({"system": "full"}, {}, 40.0),
    "partial, a server": ({"system": "partial"}, {}, 10.0),
    "partial, two servers": ({"system": "partial"}, TWO, 20.0),
    "partial, a trainer": ({"system": "partial"}, TRAINER, 0.0),
    "full, a trainer": ({"system": "full"}, TRAINER, 40.0),
    "replication": ({"system": "replication"}, {}, 0.0),
    "peer-memory": ({"system": "peer-memory", "iteration": "1 s"}, {}, 0.0),
    "loads that are begun again": ({"system": "full"}, {"storage": {"load_fails": 0.5}}, 80.0),
}


@pytest.mark.parametrize("name", READS)
def test_what_failures_make_a_job_read_is_paid(name):
    policy, others, read = READS[name]
    tables = {"failures": FIXED} | others
    found = run({"read": "0.5 USD/GB"}, {"it": policy}, **tables).replications

    assert (found["failures"] >= 2).all()
    assert found["cost"].to_numpy() == pytest.approx(found["failures"] * read * 0.5, rel=1e-12)


@pytest.mark.parametrize("system", ["full", "partial"])
def test_what_is_read_is_what_the_seconds_of_loading_move(system):
    failures = {"distribution": "exponential", "mean": "3 h", "during_recovery": False}
    found = run(
        {"read": "1 USD/GB"},
        {"it": {"system": system}},
        failures=failures,
        costs={},
        storage={"write": "2 GB/s", "read": "0.1 GB/s"},
        replications=20,
    ).replications

    # Nothing interrupts a load, and nothing else draws on the store's 0.1 GB/s.
    assert found["load_s"].min() < found["load_s"].max()
    assert found["cost"].to_numpy() == pytest.approx(found["load_s"] * 0.1, rel=1e-9)


# --- Where it is told --------------------------------------------------------------------------


FAILING = {"distribution": "exponential", "mean": "4 h"}
BOTH = {
    "often": {"system": "full", "interval": "30 min"},
    "seldom": {"system": "full", "interval": "5 h"},
}
#: What Student's t of 39 degrees of freedom exceeds to either side with a chance of 5 %.
STUDENT = 2.02269092
ALL = MACHINES | {"energy": "0.6 kW", "carbon": "0.4 kg/kWh"}


@pytest.fixture(scope="module")
def priced():
    """Two policies with failures."""
    return run(ALL, BOTH, failures=FAILING, replications=40)


def test_each_replication_has_a_cost_and_their_mean_an_interval(priced):
    rows = priced.of("often")
    found = priced.document()["policies"]["often"]["cost"]
    half = STUDENT * rows["cost"].std(ddof=1) / math.sqrt(40)

    assert rows["cost"].to_numpy() == pytest.approx(rows["wall_s"] / 3600 * HOURLY, rel=1e-12)
    assert found["mean"] == pytest.approx(rows["cost"].mean())
    assert found["ci95"] == pytest.approx([found["mean"] - half, found["mean"] + half], rel=1e-7)
    assert found.keys() == {"mean", "ci95", "p50", "p95"}
    assert priced.document()["currency"] == "USD"


def told_by(result: cprsim.Result) -> str:
    """The table of what is taken beside time, as printed."""
    console = Console(width=200, file=StringIO())
    shown = resources_table(result)
    console.print("" if shown is None else shown)
    file: Any = console.file
    return str(file.getvalue())


MANIFEST = {"replications": 40, "git": None, "libraries": {}, "cprsim": "0", "python": "3"}


def test_tables_and_reports_tell_it_where_it_is_priced(priced):
    free = run(None, BOTH, failures=FAILING, replications=40)
    mean, high = priced.summary.loc["often", ["cost", "cost_high"]]
    page, free_page = (report(each, b"", MANIFEST).decode() for each in (priced, free))

    assert f"{mean:,.2f} ±{high - mean:,.2f}" in told_by(priced)
    for heading in ("USD", "kWh", "CO2"):
        assert heading in told_by(priced)
        assert heading in page
        assert heading not in told_by(free) + free_page
    least = priced.summary["cost"].idxmin()
    assert f"Lowest cost: {least}, {priced.summary['cost'].min():,.2f} USD" in page
    assert "Lowest cost" not in free_page


@pytest.mark.parametrize(
    ("policies", "said"),
    [
        (["a"], "Lowest cost: a, 420.00 USD."),
        (["a", "b"], "Lowest cost: a, 420.00 USD; no other differs."),
        # A save of a minute: 42 / 60 more.
        (["a", "c"], "Lowest cost: a, 420.00 USD; best at 95 % over simulation noise."),
    ],
)
def test_the_least_money_is_told_with_how_sure_that_is(policies, said):
    every = {
        **{name: {"system": "full", "interval": "10 h"} for name in ("a", "b")},
        "c": {"system": "full", "interval": "6 h"},
    }
    result = run(MACHINES, {name: every[name] for name in policies})

    assert findings(result)[-1] == said


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (420.0, 0.0, "420.00 ±0.00"),
        (420.0, math.nan, "420.00"),
        (1234.56, 12.3, "1,235 ±12"),
        (1234.56, 0.12, "1,234.56 ±0.12"),
        (1234.56, 1e-12, "1,235 ±0"),
    ],
)
def test_amounts_for_people(mean, half, text):
    assert format_amount(mean, half) == text


def test_nothing_else_is_another_where_nothing_is_priced(priced):
    free = run(None, BOTH, failures=FAILING, replications=40)

    kept = [name for name in priced.replications if name not in PRICED]
    assert list(free.replications) == kept
    pd.testing.assert_frame_equal(free.replications, priced.replications[kept])
    assert not [name for name in free.summary if name.startswith(PRICED)]
    assert not [key for key in free.document()["policies"]["often"] if key in PRICED]
    assert "prices" not in free.to_toml()


def test_a_scenario_with_prices_is_written_and_read_again():
    prices = {
        "trainer": "2.5 EUR/h",
        "parameter_server": "60.5 EUR/d",
        "spare": "0 EUR/h",
        "memory": "0.003 EUR/GB/h",
        "stored": "0.02 EUR/GB/month",
        "written": "0.01 EUR/GB",
        "read": "0.09 EUR/GB",
        "energy": "0.6 kW",
        "carbon": "0.4 kg/kWh",
    }
    scenario = Scenario(**tables(prices))
    again = Scenario(**tomllib.loads(scenario.to_toml()))

    assert again == scenario
    assert again.to_toml() == scenario.to_toml()
    written = tomllib.loads(scenario.to_toml())["prices"]
    assert {key: written[key] for key in prices if key not in ("energy", "carbon")} == {
        key: text for key, text in prices.items() if key not in ("energy", "carbon")
    }
    assert Prices.model_json_schema()["properties"].keys() == prices.keys()


# --- Sweeps and fleets -------------------------------------------------------------------------


def test_a_sweep_keeps_and_tells_it(tmp_path):
    scenario = Scenario(**tables(ALL))
    done = cprsim.sweep(scenario, tmp_path / "it", {"job.useful_time": "10 h,20 h"}, replications=2)
    hours = done.table["wall_s"] / 3600

    assert done.table["cost"].to_numpy() == pytest.approx(hours * HOURLY)
    assert done.table["cost"][0] == pytest.approx(10 * HOURLY)
    exported = pd.read_csv(BytesIO(csv_bytes(done.table)))
    assert exported["cost_high"].to_numpy() == pytest.approx(done.table["cost_high"])
    assert done.replications(0)["energy_kwh"].to_numpy() == pytest.approx(10 * 16 * 0.6)
    document = done.document()
    assert document["currency"] == "USD"
    assert document["points"][0]["policies"]["full"]["cost"]["mean"] == pytest.approx(10 * HOURLY)
    console = Console(width=200, file=StringIO())
    console.print(display.sweep_table(done))
    shown: Any = console.file
    assert "420.00 ±0.00" in shown.getvalue()


def test_a_price_may_be_varied(tmp_path):
    prices = {"prices.trainer": "1 USD/h,2 USD/h"}
    done = cprsim.sweep(Scenario(**tables(None)), tmp_path / "it", prices, replications=2)

    assert done.table["cost"].to_numpy() == pytest.approx([120, 240])
    assert done.currency == "USD"
    with pytest.raises(UsageError) as raised:
        cprsim.sweep(Scenario(**tables(None)), tmp_path / "b", {"prices.spare": "1 USD/h,1 EUR/h"})
    assert str(raised.value) == (
        "--vary prices: points are in EUR and USD; vary prices in one currency, so that costs "
        "compare"
    )


def test_each_job_of_a_fleet_has_its_own_cost():
    drawn = {"distribution": "empirical", "values": ["10 h", "20 h"]}
    fleet = cprsim.Fleet.of(tables(ALL) | {"job": {"useful_time": drawn}})
    found = cprsim.run_fleet(fleet, replications=20)
    jobs = found.replications

    assert set(jobs["useful_s"]) == {36_000.0, 72_000.0}
    assert jobs["cost"].to_numpy() == pytest.approx(jobs["wall_s"] / 3600 * HOURLY)
    assert found.summary.loc["full", "cost"] == pytest.approx(jobs["cost"].mean())
    document = found.document()
    assert document["policies"]["full"]["cost"]["mean"] == pytest.approx(jobs["cost"].mean())
    assert document["currency"] == "USD"
    assert not {"price_per_s", "power_w"} & {*jobs}


def test_jobs_of_a_fleet_are_paid_in_one_currency():
    drawn: Any = {"distribution": "empirical", "values": ["1 USD/h", "2 USD/h", "1 EUR/h"]}

    with pytest.raises(ScenarioError) as raised:
        cprsim.Fleet.of(tables({"trainer": drawn}))
    assert raised.value.args == (
        "prices.trainer.values.2: is in EUR, where another job's is in USD; give all prices in "
        "one currency",
    )
    drawn["values"].pop()
    jobs = cprsim.run_fleet(cprsim.Fleet.of(tables({"trainer": drawn})), replications=9)
    assert set(jobs.replications["cost"].round(9)) == {120.0, 240.0}


def test_what_one_policy_takes_more_than_another_is_paired(priced):
    names = [*priced.plans][:2]
    one, other = (priced.of(name)["cost"].to_numpy() for name in names)
    mean, half = priced.paired_difference(*names, "cost")

    assert mean == pytest.approx((one - other).mean())
    apart = stats.sem(one - other)
    assert half == pytest.approx(stats.t.ppf(0.975, len(one) - 1) * apart)
    with pytest.raises(UsageError, match="'nobody' is not among often, seldom"):
        priced.paired_difference("nobody", names[0])
    with pytest.raises(UsageError, match="'beauty' is not among policy, replication, "):
        priced.paired_difference(*names, "beauty")


# --- Prices as people write them ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "units", "amount"),
    [
        ("2.5 USD/h", PER_TIME, 2.5 / 3600),
        ("60 USD/d", PER_TIME, 60 / 86_400),
        ("730 EUR/month", PER_TIME, 1 / 3600),
        ("0.03CHF/min", PER_TIME, 0.0005),
        ("0.01 USD/GB", PER_SIZE, 1e-11),
        ("1 USD/GiB", PER_SIZE, 2.0**-30),
        ("0.073 USD/GB/month", PER_SIZE_AND_TIME, 1e-13 / 3600),
        ("0.003 USD/GB/h", PER_SIZE_AND_TIME, 3e-12 / 3600),
    ],
)
def test_prices_are_for_a_second_and_a_byte(text, units, amount):
    found = parse_price(text, units)
    keys = {PER_TIME.kind: "trainer", PER_SIZE.kind: "read", PER_SIZE_AND_TIME.kind: "stored"}
    assert getattr(Prices(**{keys[units.kind]: text}), keys[units.kind]) == found

    assert found.amount == pytest.approx(amount, rel=1e-12)
    assert found.currency in text


@pytest.mark.parametrize(
    ("text", "written"),
    [("2.50 usd/h", "2.5 USD/h"), ("60 USD/d", "60 USD/d"), ("1 EUR/s", "3600 EUR/h")],
)
def test_prices_are_written_as_people_write_them(text, written):
    assert format_price(parse_price(text, PER_TIME), PER_TIME) == written


@given(st.floats(0, MOST), st.sampled_from([PER_TIME, PER_SIZE, PER_SIZE_AND_TIME]))
def test_a_price_that_is_written_is_read_as_the_very_same(amount, of):
    price = Price(amount, "USD")

    assert parse_price(format_price(price, of), of) == price
