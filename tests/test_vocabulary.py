"""The words of others: each is a partition of the ledger's causes, on the page as in the code."""

import dataclasses
import json
import re
from itertools import chain
from pathlib import Path

import pytest

from cprsim.contract.ledger import CAUSES, Ledger
from cprsim.runs.vocabulary import VOCABULARIES, vocabulary

GLOSSARY = Path(__file__).parents[1] / "docs" / "glossary.md"


def written() -> dict[str, dict[str, tuple[str, ...]]]:
    """Terms and their causes, a vocabulary each, as docs/glossary.md has them."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    text = GLOSSARY.read_text().partition("## In the words of others")[2]
    for name, term, causes in re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", text, re.MULTILINE):
        found.setdefault(name, {})[term] = tuple(causes.strip("`").split("`, `"))
    return found


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_vocabulary_is_a_partition_of_the_causes(name: str) -> None:
    told = list(chain.from_iterable(VOCABULARIES[name].terms.values()))

    assert sorted(told) == sorted(CAUSES)
    assert set(CAUSES) <= {each.name for each in dataclasses.fields(Ledger)}


def test_the_page_has_the_same_partitions() -> None:
    assert written() == {
        name: dict(words.terms) for name, words in VOCABULARIES.items() if name != "cprsim"
    }


@pytest.mark.parametrize("name", VOCABULARIES)
def test_shares_of_the_wall_clock_add_up_and_begin_with_what_counts(name: str) -> None:
    # useful / wall of 1 h of training in 1.25 h is 0.8, whatever the rest is called
    overheads = dict.fromkeys(CAUSES[1:], 0.0) | {"save": 0.05, "stall": 0.05, "lost": 0.15}

    shares = vocabulary(name).shares(overheads)

    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-15)
    assert next(iter(shares.values())) == pytest.approx(0.8)


def test_causes_that_share_a_term_add_up() -> None:
    overheads = dict.fromkeys(CAUSES[1:], 0.0) | {"save": 0.05, "stall": 0.05, "lost": 0.15}

    shares = vocabulary("goodput").shares(overheads)

    assert shares["UNPRODUCTIVE_CHECKPOINT_SAVE_TIME"] == pytest.approx(0.1 / 1.25)
    assert shares["WASTED_PROGRESS_FROM_DISRUPTION"] == pytest.approx(0.15 / 1.25)


@pytest.mark.slow
def test_run_tells_the_wall_clock_in_other_words_in_table_json_and_report(
    tmp_path: Path, called
) -> None:
    asked = ["run", "quickstart", "--policy", "full", "--replications", "5", "--vocabulary"]

    shown = " ".join(called(*asked, "ett", "--out", str(tmp_path)).out.split())
    assert "by the words of Meta's effective training time effective checkpoint" in shown
    assert "words of Meta&#x27;s effective training time" in (tmp_path / "report.html").read_text()

    policy = json.loads(called(*asked, "goodput", "--json").out)["policies"]["full"]
    goodput = 1 / (1 + policy["overhead"]["mean"])
    assert policy["wall_shares"]["GOODPUT"] == pytest.approx(goodput, rel=1e-12)
    assert list(policy["wall_shares"]) == list(VOCABULARIES["goodput"].terms)
