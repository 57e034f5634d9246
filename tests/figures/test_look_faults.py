"""Mistakes in a style file, and sizes that equal matplotlib's own."""

from pathlib import Path

import pytest

from cprsim.errors import UsageError
from cprsim.figures import style
from cprsim.figures.style import look

FAULTS = {
    "unknown key": ("lines.widht: 2\n", "lines.widht"),
    "no size": ("figure.figsize: 0, 0\n", "figure.figsize 0 is not between 2 and 40 inches"),
    "below nothing": ("figure.figsize: -1, 3\n", "figure.figsize -1 is not between"),
    "dots": ("savefig.dpi: 1e9\n", "savefig.dpi 1e+09 is not between 30 and 1200"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_style_that_is_no_good_is_one_line(
    fault: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text, told = fault
    path = tmp_path / "own.mplstyle"
    path.write_text(text)
    with pytest.raises(UsageError) as caught, look(style=path):
        pass
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(("width", "height"), [("6.4in", "4.8in"), ("3.3in", "3in")])
def test_a_size_is_taken_also_where_it_is_matplotlibs_own(width: str, height: str) -> None:
    with look(width=width, height=height), style.styled():
        assert style.size_in() == pytest.approx((float(width[:-2]), float(height[:-2])))
    with look(height=height), style.styled():
        assert style.size_in()[0] == style.WIDTH_IN
