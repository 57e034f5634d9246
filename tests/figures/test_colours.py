"""Colours are apart for all eyes, and seen on light and dark pages. Oracles: published matrices."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from cprsim.contract.registry import systems
from cprsim.figures.style import (
    CAUSE_COLOURS,
    LEARNING_COLOUR,
    SYSTEM_COLOURS,
    SYSTEM_MARKERS,
    TRAINING_COLOUR,
    WHITE_INK,
    ink_on,
    policy_colours,
)

# Ottosson, "A perceptual color space for image processing" (2020).
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
# Machado, Oliveira, Fernandes, IEEE TVCG 15(6) (2009), severity 1: red or green is missing.
EYES = {
    "all colours": np.eye(3),
    "no red": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "no green": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def linear(colour: str) -> np.ndarray:
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def apart(one: str, other: str, eyes: str) -> float:
    """In Oklab, as these eyes see them; 0.02 is what one just sees."""
    seen = (np.clip(EYES[eyes] @ linear(each), 0, 1) for each in (one, other))
    a, b = (TO_LAB @ np.cbrt(TO_CONES @ each) for each in seen)
    return float(np.linalg.norm(a - b))


@pytest.mark.parametrize(
    ("eyes", "least"), [("all colours", 0.09), ("no red", 0.045), ("no green", 0.045)]
)
def test_no_cause_has_the_colour_of_a_system_and_no_two_systems_have_one(eyes, least):
    others = [*CAUSE_COLOURS.values(), TRAINING_COLOUR, LEARNING_COLOUR]
    for system, colour in SYSTEM_COLOURS.items():
        for other in others:
            assert apart(colour, other, eyes) >= least, (system, other)
    for one, other in itertools.combinations(SYSTEM_COLOURS, 2):
        assert apart(SYSTEM_COLOURS[one], SYSTEM_COLOURS[other], eyes) >= least, (one, other)


def test_systems_can_be_seen_on_light_and_dark_pages():
    for system, colour in SYSTEM_COLOURS.items():
        if system != "full":  # is drawn in ink, which turns with the page
            luminance = float(linear(colour) @ [0.2126, 0.7152, 0.0722])
            assert 1.05 / (luminance + 0.05) > 2.5, system
            assert (luminance + 0.05) / (0.0091 + 0.05) > 2.5, system


def test_every_system_has_a_colour_and_a_marker_of_its_own():
    shipped = {name for name in systems() if not name.startswith("test")}
    assert shipped <= SYSTEM_COLOURS.keys() == SYSTEM_MARKERS.keys()
    assert len({*SYSTEM_MARKERS.values()}) == len(SYSTEM_MARKERS)


def test_a_policy_has_its_systems_colour_and_a_second_one_a_paler():
    found = policy_colours({"a": "ecrm", "mine": "cpr-vanilla", "b": "ecrm", "x": "foreign"})
    assert found["a"] == SYSTEM_COLOURS["ecrm"]
    assert found["mine"] == SYSTEM_COLOURS["cpr-vanilla"]
    assert found["x"] == LEARNING_COLOUR
    assert len({*found.values()}) == 4
    assert all(apart(found["b"], each, "all colours") > 0.04 for each in CAUSE_COLOURS.values())


def test_ink_stands_out():
    assert [ink_on(colour) for colour in ("#000000", "#0072B2", "#F0E442")] == [
        WHITE_INK,
        WHITE_INK,
        "black",
    ]
