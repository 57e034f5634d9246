"""Oracles: the answer's own document, and worlds that are made up."""

from functools import cache

import pytest

from cprsim.advice.advice import SHOWN, Advice
from cprsim.advice.advising import advise
from cprsim.basics.shipped import shipped
from cprsim.errors import UsageError
from cprsim.report.gallery import runs
from cprsim.report.gallery.registry import picture
from cprsim.scenario import load_scenario


@cache
def kaggle(**options: object) -> Advice:
    scenario = load_scenario(shipped("criteo-kaggle.toml"))
    return advise(scenario, systems=["full", "partial", "replication"], **options)


def test_the_table_is_what_the_document_says() -> None:
    found = kaggle()
    table, document = found.table, found.document()
    entries = [each for each in document["candidates"] if "origin" in each]
    assert table.index.tolist() == [each["name"] for each in entries]
    for (_, row), each in zip(table.iterrows(), entries, strict=True):
        assert row["system"] == each["system"]
        assert row["given"] == (each["origin"] is not None and not each["tuned"])
        for measure in (name for name in SHOWN if each.get(name)):
            assert row[measure] == each[measure]["mean"]
            assert [row[f"{measure}_low"], row[f"{measure}_high"]] == each[measure]["ci95"]
        for cause, share in each["breakdown"].items():
            assert row[cause] == share
    assert table.index[table["standing"] == "chosen"].tolist() == [document["best"]["name"]]
    beside = table.index[table["standing"].isin(["same", "tied", "open"])]
    assert sorted(beside) == sorted(document["tied"])
    over = [each["name"] for each in entries if each["feasible"] is False]
    assert table.index[table["standing"] == "over"].tolist() == over


def test_an_unknown_picture_is_refused() -> None:
    with pytest.raises(UsageError) as raised:
        kaggle().figure("pie")
    assert str(raised.value) == "figure 'pie': there is none of that name; known: answer, pareto"


def test_nobody_within_the_bounds_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "advise", lambda scenario, systems: kaggle())
    monkeypatch.setattr(runs, "robustness", lambda advice: None)
    with pytest.raises(UsageError) as raised:
        picture("robust").found(shipped("criteo-kaggle.toml"))
    assert str(raised.value).startswith("figure robust: no policy is within the limits for ")
