"""What holds for every picture: texts, ticks, units, looks. Oracle: the boxes of the renderer."""

import itertools
import re
from functools import cache

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from cprsim.contract.ledger import CAUSE_LABELS, OVERHEAD_CAUSES
from cprsim.errors import UsageError
from cprsim.figures import FORMATS, look, save_bytes, without_words
from cprsim.figures.bars import breakdown, breakdown_finding, failures_by_cause, fleet_breakdown
from cprsim.figures.texts import YEAR_S
from cprsim.report.gallery.registry import PICTURES, picture
from tests.figures import (
    test_answer,
    test_bars,
    test_cells,
    test_curves,
    test_log_page,
    test_measured,
    test_survival,
)
from tests.figures.reading import Drawn, boxes_apart, heading, labels, notes, rendered, words
from tests.tiers import one_of_each

FLEET = pd.DataFrame(
    [
        {"policy": name, "percentile": percentile, "overhead": 0.0}
        | dict.fromkeys(OVERHEAD_CAUSES, times * percentile / 10000.0)
        for name, times in (("full", 1.07), ("cpr", 0.3))
        for percentile in (50, 75, 95)
    ]
)
OUTLIER = test_bars.table(
    {
        "full": test_bars.policy(0.0005, save=0.01, lost=0.004),
        "slow": test_bars.policy(0.01, save=0.1, slowdown=0.5),
        "cpr": test_bars.policy(0.0005, learning=0.003, save=0.011),
        "other": test_bars.policy(0.0005, save=0.012),
    }
)


CAUSES = pd.DataFrame(
    [
        {"policy": "full", "cause": "hang", "failures": 3.2, "overhead": 0.021}
        | {"detect": 0.012, "reschedule": 0.0, "start": 0.0, "load": 0.004, "lost": 0.005},
        {"policy": "full", "cause": "lost node", "failures": 1.1, "overhead": 0.009}
        | {"detect": 0.001, "reschedule": 0.003, "start": 0.0, "load": 0.002, "lost": 0.003},
        {"policy": "full", "cause": "never", "failures": 0.0, "overhead": 0.0}
        | {"detect": 0.0, "reschedule": 0.0, "start": 0.0, "load": 0.0, "lost": 0.0},
    ]
)


#: Pictures of tables of their own, and those of the gallery of what is shipped.
drawn_alone = Drawn(
    lambda draw, *case: draw(*case),
    {
        "fleet": (fleet_breakdown, FLEET, "A fleet"),
        "causes": (failures_by_cause, CAUSES, "A job"),
        "outlier": (breakdown, OUTLIER, "A job with an outlier"),
    },
)
shown = Drawn(
    lambda name: picture(name).figure(),
    {name: (name,) for name in ("pls-accuracy", "policy-accuracy", "predicted-measured")},
)
#: Each picture of the gallery, of a small table.
DRAWN: dict[str, tuple[Drawn, str]] = {
    "survival": (test_survival.drawn, "ten"),
    "mtbf-scaling": (test_measured.drawn_mtbf, "doublings"),
    "fleet-breakdown": (drawn_alone, "fleet"),
    "policy-breakdown": (test_bars.drawn_bars, "three"),
    "failure-causes": (drawn_alone, "causes"),
    "production": (drawn_alone, "outlier"),
    "ett-ladder": (test_bars.drawn_ladder, "three"),
    "answer": (test_answer.drawn_answer, "all"),
    "pareto": (test_answer.drawn_pareto, "all"),
    "robust": (test_cells.drawn_robust, "all"),
    "rows": (test_measured.drawn_rows, "2 skews"),
    "phase": (test_cells.drawn_phase, "square"),
    **{
        name: (test_curves.drawn, name)
        for name in (
            *("scaling", "sensitivity", "interval", "tradeoff", "ecrm-overhead", "ecrm-recovery"),
        )
    },
    **{name: (shown, name) for name in shown.cases},
}
#: What a unit in a label of a tick, or of an axis, is in the base unit.
UNITS = {"%": 0.01, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "GB": 1.0}
UNITS |= dict.fromkeys(("y", "year", "years"), YEAR_S)
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
#: In the texts beside an axis whose ticks are bare numbers: a unit, or what is counted.
UNIT = re.compile(
    r"%|\bpoints\b|(^|[ ,(])(s|min|h|d|years|USD)\b|nodes|servers|failures|samples|AUC|age|law"
)


def drawn(name: str) -> Figure:
    draw, case = DRAWN[name]
    return draw(case)


def anew(name: str) -> Figure:
    """Drawn again: what others look at is kept as it was drawn, and saving moves its parts."""
    draw, case = DRAWN[name]
    return draw.anew(case)


def test_every_picture_is_looked_at():
    assert DRAWN.keys() == PICTURES.keys()


each_drawn = pytest.mark.parametrize(
    ("draw", "case"),
    [
        pytest.param(draw, case, id=f"{name}: {case}")
        for name, draw in {
            "alone": drawn_alone,
            "shown": shown,
            "answer": test_answer.drawn_answer,
            "pareto": test_answer.drawn_pareto,
            "bars": test_bars.drawn_bars,
            "ladder": test_bars.drawn_ladder,
            "phase": test_cells.drawn_phase,
            "robust": test_cells.drawn_robust,
            "curves": test_curves.drawn,
            "log page": test_log_page.drawn,
            "mtbf": test_measured.drawn_mtbf,
            "rows": test_measured.drawn_rows,
            "survival": test_survival.drawn,
        }.items()
        for case in draw.cases
    ],
)


@each_drawn
def test_no_text_is_cut_too_small_or_covers_another(draw, case):
    boxes_apart(draw(case))


def number_in(label: str, factor: float) -> float | None:
    """Return what the label of a tick says, in base units; `factor`: of numbers without a unit."""
    text = re.sub("(^|×)10(?=[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])", "e", label.replace(",", "")).translate(SUPERSCRIPTS)
    value, _, unit = (f"1{text}" if text.startswith("e") else text).partition(" ")
    is_number = re.fullmatch(r"-?[\d.]+(e-?\d+)?", value) and unit in {"", *UNITS}
    return float(value) * UNITS.get(unit, factor) if is_number else None


@each_drawn
def test_ticks_stand_where_they_say(draw, case):
    """Names of categories, and fractions such as 1/8, say no number."""
    if draw is test_cells.drawn_phase:
        return
    for axes in (each for each in draw(case).axes if each.axison):
        for axis in (axes.xaxis, axes.yaxis):
            unit = re.search(r"(, |per )(ms|s|min|h|d|years?)$", axis.get_label().get_text())
            factor = 1.0 if unit is None else UNITS[unit[2]]
            factor = 1 / factor if unit is not None and unit[1] == "per " else factor
            said = [number_in(each, factor) for each in labels(axis)]
            if said and None not in said:
                assert axis.get_majorticklocs().tolist() == pytest.approx(said, abs=1e-12)
                assert len(said) >= 2 or "one" in case


@cache
def in_a_column(name: str) -> tuple[Figure, list[str], float]:
    """For one column of a paper, the words that were taken off it, and its height before."""
    with look(width="3.3in", font="serif"):
        figure = anew(name)
        before_in = figure.get_figheight()
        caption = without_words(figure)
        return rendered(figure), caption, before_in


@pytest.mark.parametrize("name", DRAWN)
def test_in_one_column_of_a_paper_every_text_can_be_read(name):
    figure, _, _ = in_a_column(name)
    assert figure.get_figwidth() == 3.3
    boxes = boxes_apart(figure)
    assert {family for text in boxes for family in text.get_fontfamily()} == {"serif"}


@pytest.mark.parametrize("name", DRAWN)
def test_without_words_it_is_lower_and_they_make_the_caption(name):
    figure, caption, before_in = in_a_column(name)
    assert "" not in caption
    assert not set(caption) & set(words(figure))
    assert figure.get_figheight() < before_in


@pytest.mark.parametrize("name", DRAWN)
def test_what_the_user_has_set_wins(name):
    theirs = {"font.family": "monospace", "figure.figsize": (6.0, 9.0), "savefig.dpi": 50.0}
    with mpl.rc_context(theirs):
        before = dict(mpl.rcParams)
        figure = rendered(anew(name))
        assert dict(mpl.rcParams) == before
    assert figure.get_size_inches().tolist() == [6.0, 9.0]
    families = {each for text in figure.axes[0].get_xticklabels() for each in text.get_fontfamily()}
    assert families <= {"monospace"}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", one_of_each(("policy-breakdown", "phase", "tradeoff"), DRAWN))
def test_the_same_table_gives_the_same_bytes(name, format, monkeypatch):
    # Matplotlib takes this for the time, so that a date in a file would show.
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    first = save_bytes(anew(name), format)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    assert save_bytes(anew(name), format) == first
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[format])


def test_sizes_of_text_follow_the_users():
    with mpl.rc_context({"font.size": 12.0, "axes.prop_cycle": mpl.cycler(color=["#123456"])}):
        figure = breakdown(OUTLIER, "")
    small = {text.get_fontsize() for text in figure.axes[0].get_xticklabels()}
    assert [*small] == [pytest.approx(10, rel=0.01)]
    assert to_rgb(figure.axes[0].patches[0].get_facecolor()) == to_rgb("#123456")


def test_text_in_svg_is_text_and_fonts_are_in_the_pdf():
    svg = save_bytes(breakdown(OUTLIER, "A job"), "svg").decode()
    assert ">Time lost</text>" in svg
    pdf = save_bytes(breakdown(OUTLIER, "A job"), "pdf")
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf


@pytest.mark.parametrize("name", DRAWN)
def test_no_bars_by_cause_on_a_log_axis_and_none_is_cut(name):
    for axes in drawn(name).axes:
        stacked = [each for each in axes.containers if each.get_label() in CAUSE_LABELS.values()]
        if stacked:
            along = axes.xaxis if stacked[0].orientation == "horizontal" else axes.yaxis
            assert along.get_scale() == "linear"
            low, high = along.get_view_interval()
            assert low <= 0
            for bar in itertools.chain(*stacked):
                end = bar.get_x() + bar.get_width()
                end = end if along is axes.xaxis else bar.get_y() + bar.get_height()
                assert end <= high


#: Pictures of one panel, and what draws them on axes of a user's own.
ONE_PANEL = {name for name, each in PICTURES.items() if each.one_axes}


@pytest.mark.parametrize("name", ["policy-accuracy", "predicted-measured", "ecrm-overhead"])
def test_a_picture_of_one_panel_is_drawn_on_axes_of_the_users(name):
    mine = Figure(figsize=(4, 3), layout="constrained")
    left, right = mine.subplots(1, 2)
    assert PICTURES[name].figure(ax=right) is mine
    assert right.lines
    assert not left.lines
    assert mine.get_suptitle() == ""
    assert right.get_ylabel()
    assert name in ONE_PANEL


def test_a_picture_of_several_panels_takes_no_axes():
    axes = Figure().subplots()
    with pytest.raises(UsageError, match="figure scaling: takes no ax"):
        PICTURES["scaling"].figure(ax=axes)


@pytest.mark.parametrize("name", DRAWN)
def test_numbers_on_axes_have_a_unit(name):
    figure = drawn(name)
    beside = [heading(figure), notes(figure)]
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            texts = labels(axis)
            bare = [each for each in texts if re.fullmatch(r"[\d.,]+", each) and each != "0"]
            if bare:
                said = [axis.get_label().get_text(), *beside]
                assert any(UNIT.search(each) for each in said), (bare, said)


def test_what_is_found_is_true_of_the_intervals():
    policy, table = test_bars.policy, test_bars.table
    apart = table({"full": policy(0.001, save=0.084), "cpr": policy(0.001, 0.02, save=0.006)})
    near = table({"a": policy(0.001, save=0.02), "b": policy(0.001, save=0.0215)})
    some = table({**near.to_dict("index"), "c": policy(0.001, save=0.09)})
    assert breakdown_finding(apart) == (
        "cpr loses 0.60 % of the time, but 2.00 % of the updates; full loses 8.40 %"
    )
    assert (
        breakdown_finding(near) == "No policy is clearly the least: from 2.00 % of the time under a"
    )
    assert breakdown_finding(some) == (
        "No policy is clearly the least of a and b; c loses 9.00 % of the time"
    )
    assert breakdown_finding(apart.iloc[:1]) == "full loses 8.40 % of the time"
