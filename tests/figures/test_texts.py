"""Numbers, shares and durations as pictures write them."""

import math

import pytest

from cprsim.figures.cells import points
from cprsim.figures.texts import YEAR_S, duration, number, percent, wrapped

TEXTS = {
    percent: {
        (0.0838, 0.001): "8.38 % ± 0.10",
        (0.0838, math.nan): "8.38 %",
        (0.0838, 0.0): "8.38 % ± 0.00",
        (0.00488, 1e-7): "0.49 % ± <0.01",
        (0.123, 0.0314): "12.3 % ± 3.1",
        (9.0, 0.12): "900 % ± 12",
        (123.45, 0.001): "12345 % ± <1",
        (0.000313, 0.00002): "0.031 % ± 0.002",
        (1e-8, math.nan): "<0.0001 %",
    },
    points: {
        (0.0,): "0 pt",
        (1e-12,): "0 pt",
        (0.00005,): "<0.01 pt",
        (0.00067,): "0.067 pt",
        (0.0129,): "1.3 pt",
        (0.4,): "40 pt",
    },
    duration: {
        (1e-5,): "10⁻⁵ s",
        (0.25,): "0.25 s",
        (90.0,): "1.5 min",
        (87_120.0,): "24.2 h",
        (10 * 86_400.0,): "10 d",
        (405 * YEAR_S,): "405 years",
        (285_782 * YEAR_S,): "285,782 years",
        (1.35e13 * YEAR_S,): "1.35×10¹³ years",
    },
    number: {(0.0,): "0", (1e-4,): "0.0001", (3e-5,): "3×10⁻⁵", (999.6,): "1,000", (1e6,): "10⁶"},
}


@pytest.mark.parametrize("write", TEXTS)
def test_what_is_written(write):
    assert {values: write(*values) for values in TEXTS[write]} == TEXTS[write]


def test_no_line_breaks_within_a_number():
    text = "loses 12.5 % of 1,024 h " * 4
    for letters in range(12, 40):
        found = [line.replace("\u00a0", " ") for line in wrapped(text, letters).split("\n")]
        assert " ".join(found) == text.strip()
        assert not any(line.startswith(("%", "h")) for line in found)
