"""The page as a browser sees it: it asks nobody for anything, complains of nothing, and fits."""

import io
from pathlib import Path

import pytest
from PIL import Image

import cprsim
from cprsim.advice.advising import advise
from cprsim.advice.robustness import robustness
from cprsim.report import answer_page, outputs
from cprsim.scenario import load_scenario
from tests.report.browser import FAINT, browser, needs_chromium

SCENARIO = Path(__file__).parents[2] / "scenarios" / "quickstart.toml"
BAD = """<!DOCTYPE html><title>Bad</title><p style="width: 3000px">Wide</p>
<img src="http://example.invalid/a.png" alt=""><script>console.error("no"); missing()</script>"""

pytestmark = [needs_chromium, pytest.mark.slow]


@pytest.fixture(scope="module")
def chromium():
    with browser() as running:
        yield running


def of_run() -> bytes | None:
    return outputs.contents(cprsim.run(load_scenario(SCENARIO), replications=5))["report.html"]


def of_answer() -> bytes | None:
    advice = advise(load_scenario(SCENARIO), systems=["full", "cpr-vanilla"])
    return answer_page.contents(advice, robustness(advice))["report.html"]


@pytest.fixture(scope="module", params=[of_run, of_answer])
def page(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_bytes(request.param())
    return path


@pytest.mark.parametrize("width_px", [1280, 400])
def test_the_report_asks_nobody_and_fits(chromium, page, width_px):
    seen = chromium.look(page, width_px)

    assert [url for url in seen.requests if not url.startswith("data:")] == [page.as_uri()]
    assert seen.console == []
    assert seen.width_px == width_px  # what is wider scrolls in a box of its own
    with Image.open(io.BytesIO(seen.screenshot())) as image:
        assert image.width == width_px
        colours = {colour for _, colour in image.convert("RGB").getcolors(2**24) or ()}
    assert {(0, 114, 178), (213, 94, 0)} <= colours  # bars of saving and of lost computation


#: What is wider than the page and in no box that scrolls.
WIDE = """[...document.body.querySelectorAll("*")].filter((each) =>
  each.getBoundingClientRect().right > innerWidth + 0.5 && !each.closest(".scroll, pre")
).map((each) => each.tagName + ": " + each.textContent.slice(0, 40))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width_px", [1280, 400])
def test_all_is_readable_light_and_dark(chromium, page, width_px, scheme):
    tab = chromium.tab(width_px)
    tab.scheme(scheme)
    tab.open(page.as_uri())
    tab.wait("document.readyState === 'complete' && document.querySelector('summary') !== null")
    tab.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")

    assert tab.evaluate(FAINT) == []
    assert tab.evaluate(WIDE) == []
    tab.wait("[...document.images].every((each) => each.complete)")
    with Image.open(io.BytesIO(tab.screenshot())) as image:
        found = image.convert("RGB").getcolors(2**24) or ()
    (_, ground), *_ = sorted(found, reverse=True)
    colours = {colour for _, colour in found}
    # The ground of the pictures is the page's, and their ink is as light as its.
    assert ground == ((255, 255, 255) if scheme == "light" else (21, 24, 27))
    white = sum(count for count, colour in found if colour == (255, 255, 255))
    assert scheme == "light" or white < 100
    assert {(0, 114, 178), (213, 94, 0)} <= colours  # causes keep their colours
    tab.close()


def test_the_answer_is_seen_first_and_inputs_are_folded(chromium, page):
    tab = chromium.tab(400)
    tab.open(page.as_uri())
    tab.wait("document.readyState === 'complete' && document.querySelector('summary') !== null")
    headings = tab.evaluate("[...document.querySelectorAll('h2')].map((each) => each.textContent)")
    assert headings[0] in {"Conclusion", "Answer"}
    assert {*headings[-2:]} == {"Inputs and assumptions", "Reproduce"}
    seen = "document.querySelector('.short').getBoundingClientRect().bottom"
    assert tab.evaluate(seen) < 900
    assert tab.evaluate("[...document.querySelectorAll('details')].map((each) => each.open)") == [
        False,
        False,
    ]
    tab.close()


def test_a_page_that_does_otherwise_is_found_out(chromium, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(BAD, encoding="utf-8")
    seen = chromium.look(page, 400)

    assert seen.requests == [page.as_uri(), "http://example.invalid/a.png"]
    assert any("missing is not defined" in each for each in seen.console)
    assert any('"no"' in each for each in seen.console)
    assert seen.width_px > 400
