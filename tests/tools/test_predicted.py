"""The page of predictions, and the table that its picture is drawn of."""

import pandas as pd

from tools.pages.predicted import PAGE, TABLE, leanings
from tools.paths import DOCS, SCENARIOS


def test_the_page_tells_what_predictions_lean_to():
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    assert leanings(pd.read_csv(SCENARIOS / TABLE)) in page


def test_distances_are_means_over_what_took_long_enough():
    rows = [
        ("one", "cpr-mfu", "save", 1.1, 1.0),
        ("two", "cpr-mfu", "save", 0.3, 0.2),
        ("two", "cpr-mfu", "load", 0.09, 0.04),
        ("two", "full", "overhead", 0.5, 1.0),
    ]
    shown = pd.DataFrame(
        rows, columns=["configuration", "policy", "cause", "predicted", "measured"]
    )

    assert leanings(shown).splitlines()[2:] == [
        "| that choose rows | save | +30.0 % | 2 |",
        "| others | overhead | -50.0 % | 1 |",
    ]
