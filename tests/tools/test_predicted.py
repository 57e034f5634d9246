"""The page of predictions, and the table that its picture is drawn of."""

from functools import cached_property
from types import SimpleNamespace

import pandas as pd

from cprsim.contract.ledger import OVERHEAD_CAUSES
from tools.pages import predicted
from tools.pages.predicted import ALL, PAGE
from tools.paths import DOCS


def test_the_page_counts_what_the_table_beside_it_has():
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    told = pd.read_csv(DOCS / ALL)

    causes = told[told.what.isin(OVERHEAD_CAUSES)].within
    sums = told[told.what == "overhead"].within
    assert f"{causes.sum()} of {len(causes)} causes are within bounds, and {sums.sum()} of" in page
    assert predicted.biases(told) in " ".join(page.split("\n"))
    out = told[~told.within & ~told.what.isin(OVERHEAD_CAUSES)]
    assert len(out) > 0
    for each in out.itertuples():
        assert f"| {each.configuration} | {each.policy} | {each.what} |" in page


def test_all_is_rehearsed_and_written_down_before_any_is_trained(tmp_path, monkeypatch):
    done = []

    class Asked:
        def __init__(self, name):
            self._name = name

        def rehearse(self):
            done.append(f"rehearse {self._name}")

        @cached_property
        def predicted(self):
            done.append(f"predict {self._name}")
            return SimpleNamespace(content=self._name.encode, sha256="0" * 64)

        def train(self):
            written = sorted(each.name for each in tmp_path.iterdir())
            assert written == ["base.json", "no-failures.json"]
            done.append(f"train {self._name}")

        def verdicts(self):
            return {}

    monkeypatch.setattr(predicted, "_WRITTEN", tmp_path)
    monkeypatch.setattr(predicted, "_asked", lambda name, _: Asked(name))
    predicted.measured(["base", "no failures"], 2)

    in_turns = ["base", "no failures"]
    assert done == [
        *(f"rehearse {name}" for name in in_turns * 2),
        *(f"predict {name}" for name in in_turns),
        *(f"train {name}" for name in in_turns * 2),
    ]
