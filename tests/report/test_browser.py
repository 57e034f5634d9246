"""The page as a browser sees it: it asks nobody for anything, complains of nothing, and fits."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

import cprsim
from cprsim.advice.advising import advise
from cprsim.advice.robustness import robustness
from cprsim.report import answer_page, outputs
from cprsim.scenario import load_scenario
from tests.report.browser import Browser, browser, needs_chromium

SCENARIO = Path(__file__).parents[2] / "scenarios" / "quickstart.toml"
BAD = """<!DOCTYPE html><title>Bad</title><p style="width: 3000px">Wide</p>
<img src="http://example.invalid/a.png" alt=""><script>console.error("no"); missing()</script>"""

pytestmark = [needs_chromium, pytest.mark.slow]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as running:
        yield running


def of_run() -> bytes | None:
    return outputs.contents(cprsim.run(load_scenario(SCENARIO), replications=5))["report.html"]


def of_answer() -> bytes | None:
    advice = advise(load_scenario(SCENARIO), systems=["full", "cpr-vanilla"])
    return answer_page.contents(advice, robustness(advice))["report.html"]


@pytest.fixture(scope="module", params=[of_run, of_answer])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_bytes(request.param())
    return path


@pytest.mark.parametrize("width_px", [1280, 400])
def test_the_report_asks_nobody_and_fits(chromium: Browser, page: Path, width_px: int) -> None:
    seen = chromium.look(page, width_px)

    assert [url for url in seen.requests if not url.startswith("data:")] == [page.as_uri()]
    assert seen.console == []
    assert seen.width_px == width_px  # what is wider scrolls in a box of its own
    with Image.open(io.BytesIO(seen.screenshot)) as image:
        assert image.width == width_px
        colours = {colour for _, colour in image.convert("RGB").getcolors(2**24) or ()}
    assert {(0, 114, 178), (213, 94, 0)} <= colours  # bars of saving and of lost computation


def test_a_page_that_does_otherwise_is_found_out(chromium: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(BAD, encoding="utf-8")
    seen = chromium.look(page, 400)

    assert seen.requests == [page.as_uri(), "http://example.invalid/a.png"]
    assert any("missing is not defined" in each for each in seen.console)
    assert any('"no"' in each for each in seen.console)
    assert seen.width_px > 400
