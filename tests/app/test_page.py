"""The page as somebody uses it: in headless Chromium, at a wide and at a narrow window."""

import json
from urllib.parse import urlsplit

import pytest

from cprsim.app.server import AppServer
from tests.app.serving import QUICKSTART, served
from tests.report.browser import FAINT, Tab, browser, needs_chromium
from tests.tiers import one_of_each
from tests.waiting import wait_until

pytestmark = [needs_chromium, pytest.mark.slow]
#: Of a desktop and of a phone.
WIDTHS = (1280, 400)

#: In the page: what the tests look at, by the control's name.
_HELPERS = """
window.box = (name) => document.querySelector(`[data-name="${name}"]`);
window.typed = (name) => box(name).querySelector('input[type=text], select');
window.slider = (name) => box(name).querySelector('input[type=range]');
window.error = (name) => box(name).querySelector('.error');
window.put = (name, text) => {
  typed(name).value = text;
  typed(name).dispatchEvent(new Event('change', { bubbles: true }));
};
window.slide = (name, place, done = true) => {
  slider(name).value = place;
  slider(name).dispatchEvent(new Event('input', { bubbles: true }));
  if (done) slider(name).dispatchEvent(new Event('change', { bubbles: true }));
};
window.results = () => document.getElementById('results').dataset;
window.stands = (query, part) =>
  results().query === query && results().seen.split(' ').includes(part);
window.fault = () => document.getElementById('faults').textContent;
"""


@pytest.fixture(scope="module")
def chromium():
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A job with prices."""
    path = tmp_path_factory.mktemp("page") / "priced.toml"
    prices = '\n[prices]\ntrainer = "2.5 USD/h"\nspare = "0.8 USD/h"\n'
    path.write_text(QUICKSTART.read_text() + prices)
    with served(path) as running:
        yield running


@pytest.fixture
def tabs(chromium):
    """Makes tabs, which are closed in the end: a browser has few connections to a server."""
    made: list[Tab] = []

    def another(width_px):
        made.append(chromium.tab(width_px))
        made[-1].call("Page.addScriptToEvaluateOnNewDocument", source=_HELPERS)
        return made[-1]

    yield another
    for each in made:
        each.close()


@pytest.fixture
def opened(server, tabs):
    """Opens tabs with the page; each has told what is sharp."""

    def another(width_px, query=""):
        tab = tabs(width_px)
        tab.open(f"{server.address}{'?' if query else ''}{query}")
        tab.wait("document.getElementById('results')?.dataset.seen?.includes('sharp')")
        return tab

    return another


def is_free(server: AppServer) -> bool:
    """Whether nobody computes or waits for the advisor."""
    free = [each.acquire(timeout=0) for each in (server.tabs.computing, server.tabs.advising)]
    for each, taken in zip((server.tabs.computing, server.tabs.advising), free, strict=True):
        if taken:
            each.release()
    return all(free)


def settled(tab: Tab, query: str, part: str = "sharp") -> None:
    tab.wait(f"stands({json.dumps(query)}, {json.dumps(part)})")


def search(tab: Tab) -> str:
    found: str = tab.evaluate("location.search.slice(1)")
    return found


def assert_quiet(tab: Tab, server: AppServer) -> None:
    """Nobody else was asked for anything, and the console has said nothing."""
    own = urlsplit(server.address)
    assert tab.console == []
    asked = [url for url in tab.requests if not url.startswith("data:")]
    assert asked
    assert all(urlsplit(url)[:2] == own[:2] for url in asked), asked


@pytest.mark.parametrize("width_px", one_of_each(("1280",), WIDTHS))
def test_every_control_moves_the_answer(opened, server, width_px):
    tab = opened(width_px)
    tab.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for control in server.answers.subject.controls:
        before = tab.evaluate("document.getElementById('run-command').textContent")
        name = json.dumps(control.name)
        if control.kind == "choice":
            tab.evaluate(f"put({name}, [...typed({name}).options].at(-1).value)")
        elif control.most > 0:
            tab.evaluate(f"slide({name}, 620)")
        else:
            tab.evaluate(f"put({name}, '3.5 USD/h')")
        query = search(tab)
        assert query.startswith(control.name)
        settled(tab, query)
        after = tab.evaluate("document.getElementById('run-command').textContent")
        assert after != before
        assert all(f"--set '{key}=" in after or f"--set {key}=" in after for key in control.keys)
        assert tab.evaluate(f"error({name}).hidden")
        assert tab.evaluate("fault()") == ""
        tab.evaluate("document.getElementById('reset-all').click()")
        settled(tab, "")
    assert tab.evaluate("document.documentElement.scrollWidth") == width_px
    assert_quiet(tab, server)


@pytest.mark.parametrize("width_px", WIDTHS)
def test_all_pictures_are_there_and_fit(opened, server, width_px):
    tab = opened(width_px)
    settled(tab, "", "done")
    for each in ("breakdown", "learning", "cost", "curve", "timeline"):
        drawn = tab.evaluate(
            f"(() => {{ const svg = document.querySelector('#{each} svg');"
            " return [svg.clientWidth, svg.getAttribute('aria-label'), svg.childElementCount]; })()"
        )
        assert 250 < drawn[0] <= width_px
        assert len(drawn[1]) > 20
        assert drawn[2] > 4
    assert tab.evaluate("document.querySelectorAll('#tables table').length") == 2
    said = "document.getElementById('least').textContent"  # the one recommendation of the page
    assert tab.evaluate(said).startswith(("Use ", "Keep "))
    assert "Use " not in tab.evaluate("document.getElementById('advice').textContent")
    assert tab.evaluate("document.getElementById('progress').hidden")
    assert tab.evaluate("document.documentElement.scrollWidth") == width_px
    top = "document.getElementById('{}').getBoundingClientRect().top"
    first, controls = (tab.evaluate(top.format(each)) for each in ("breakdown", "controls"))
    assert (first < controls) == (width_px == 400)  # beside each other where there is room
    tab.evaluate(
        "window.greyed = false; new MutationObserver(() => {"
        " greyed ||= document.getElementById('timeline').classList.contains('stale'); })"
        ".observe(document.getElementById('timeline'), { attributes: true })"
    )
    tab.evaluate("put('failures.mean', '40 h')")
    settled(tab, "failures.mean=40+h", "done")
    assert tab.evaluate("greyed")
    assert tab.evaluate("document.querySelectorAll('.stale').length") == 0
    assert_quiet(tab, server)


@pytest.mark.parametrize("width_px", one_of_each(("400",), WIDTHS))
def test_typed_values_move_their_sliders_and_wrong_ones_are_told(opened, server, width_px):
    tab = opened(width_px)
    middle = tab.evaluate("slider('failures.mean').value")
    tab.evaluate("put('failures.mean', '40 h')")
    settled(tab, "failures.mean=40+h")
    assert int(tab.evaluate("slider('failures.mean').value")) > int(middle)
    least = tab.evaluate("document.getElementById('least').textContent")

    tab.evaluate("put('failures.mean', '40')")
    tab.wait("!error('failures.mean').hidden")
    told = '40 has no unit: write a string with one, e.g. "40 h"'
    assert tab.evaluate("error('failures.mean').textContent") == told
    assert tab.evaluate("typed('failures.mean').getAttribute('aria-invalid')") == "true"
    assert tab.evaluate("document.getElementById('least').textContent") == least

    tab.evaluate("put('policies.async.interval', '5 parsecs')")
    tab.wait("!error('policies.async.interval').hidden")
    assert "unknown unit 'parsecs'" in tab.evaluate("error('policies.async.interval').textContent")
    assert tab.evaluate("typed('policies.async.interval').checkVisibility()")
    tab.evaluate("put('seed', 'x')")
    tab.wait("!error('seed').hidden")
    told = "seed 'x' is not a whole number >= 0"
    assert tab.evaluate("error('seed').textContent") == told

    for name in ("seed", "policies.async.interval", "failures.mean"):
        tab.evaluate(f"box('{name}').querySelector('.reset').click()")
    settled(tab, "")
    assert tab.evaluate("document.querySelectorAll('[aria-invalid]').length") == 0
    assert tab.evaluate("typed('failures.mean').value") == "20 h"
    assert_quiet(tab, server)


@pytest.mark.parametrize("width_px", one_of_each(("1280",), WIDTHS))
def test_of_twenty_quick_moves_the_last_one_wins_and_nothing_piles_up(opened, server, width_px):
    tab = opened(width_px)
    tab.evaluate(
        "(async () => { for (let i = 0; i < 20; i++) { slide('failures.mean', 300 + 20 * i, false);"
        " await new Promise((done) => setTimeout(done, 15)); }"
        " slide('failures.mean', 700); })()"
    )
    shown = tab.evaluate("typed('failures.mean').value")
    query = f"failures.mean={shown.replace(' ', '+')}"
    settled(tab, query, "done")
    assert search(tab) == query
    command_ = tab.evaluate("document.getElementById('run-command').textContent")
    assert f"'failures.mean={shown}'" in command_
    facts = tab.evaluate("document.getElementById('state').textContent")
    assert facts.startswith(f"MTBF of the job {shown};")
    wait_until(lambda: is_free(server), "nobody computes any more")
    assert tab.evaluate("history.length") <= 3  # one step back for all of them
    assert_quiet(tab, server)


def test_back_forward_reload_and_a_second_tab(opened, server):
    tab = opened(1280)
    tab.evaluate("put('failures.mean', '40 h')")
    settled(tab, "failures.mean=40+h")
    tab.evaluate("put('cluster.parameter_servers', '16')")
    both = "failures.mean=40+h&cluster.parameter_servers=16"
    settled(tab, both)
    numbers = tab.evaluate("document.getElementById('tables').textContent")

    tab.evaluate("history.back()")
    settled(tab, "failures.mean=40+h")
    assert tab.evaluate("typed('cluster.parameter_servers').value") == "10"
    tab.evaluate("history.back()")
    settled(tab, "")
    assert tab.evaluate("typed('failures.mean').value") == "20 h"
    tab.evaluate("history.go(2)")
    settled(tab, both)
    assert tab.evaluate("typed('cluster.parameter_servers').value") == "16"
    assert tab.evaluate("document.getElementById('tables').textContent") == numbers

    tab.call("Page.reload")
    tab.wait("window.results && document.getElementById('results')?.dataset.query !== undefined")
    settled(tab, both)
    assert tab.evaluate("typed('failures.mean').value") == "40 h"
    assert tab.evaluate("document.getElementById('tables').textContent") == numbers

    other = opened(400, both)
    assert other.evaluate("document.getElementById('tables').textContent") == numbers
    other.evaluate("put('failures.mean', '9 h')")
    settled(other, "failures.mean=9+h&cluster.parameter_servers=16", "done")
    settled(tab, both, "done")  # the one has not replaced the other
    assert tab.evaluate("typed('failures.mean').value") == "40 h"
    assert_quiet(tab, server)
    assert_quiet(other, server)


def test_the_keyboard_alone_does_all(opened, server):
    tab = opened(1280)
    tab.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.press("Tab")
    assert tab.evaluate("document.activeElement === slider('failures.mean')")
    tab.press("ArrowRight")
    tab.wait("results().query.startsWith('failures.mean=')")
    settled(tab, search(tab))
    assert tab.evaluate("slider('failures.mean').getAttribute('aria-valuetext')") == tab.evaluate(
        "typed('failures.mean').value"
    )
    tab.press("Tab")
    assert tab.evaluate("document.activeElement === typed('failures.mean')")
    tab.evaluate("document.activeElement.select()")
    tab.write("31 h")
    tab.press("Enter", "\r")
    settled(tab, "failures.mean=31+h")
    tab.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "reset"
    tab.press("Enter", "\r")
    settled(tab, "")
    reached = set()
    for _ in range(150):
        tab.press("Tab")
        reached.add(tab.evaluate("document.activeElement.id || document.activeElement.textContent"))
        outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or tab.evaluate("document.activeElement === document.body")
    assert {"full", "c-seed", "c-objective", "reset-all", "run-command", "Copy"} <= reached
    assert_quiet(tab, server)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_and_inputs_have_names(tabs, server, scheme):
    tab = tabs(1280)
    tab.scheme(scheme)
    tab.open(server.address)
    tab.wait("document.getElementById('results')?.dataset.seen?.includes('done')")
    tab.evaluate("put('failures.mean', '40')")
    tab.wait("!error('failures.mean').hidden")
    tab.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    assert tab.evaluate(FAINT) == []
    nameless = (
        "[...document.querySelectorAll('input, select, button')].filter((each) =>"
        " !(each.labels?.length || each.ariaLabel || each.textContent.trim())).length"
    )
    assert tab.evaluate(nameless) == 0
    tab.evaluate("document.documentElement.style.setProperty('--ink', '#888')")
    assert tab.evaluate(FAINT) != []  # it would be found


def test_the_numbers_are_those_of_the_copied_command(opened, server, capsys):
    import shlex

    from cprsim.cli import command

    tab = opened(1280, "failures.mean=14+h&seed=2")
    rows = tab.evaluate(
        "[...document.querySelectorAll('#tables tbody tr')].map((row) =>"
        " [...row.children].map((cell) => cell.textContent).join(' '))"
    )
    copied = tab.evaluate("document.getElementById('run-command').textContent")
    assert command._main(shlex.split(copied)[1:]) == 0
    printed = " ".join(capsys.readouterr().out.split())

    assert len(rows) == 8
    for row in rows:
        assert row in printed


def test_copied_texts_are_those_that_are_shown(chromium, opened):
    tab = opened(1280)
    granted = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    chromium.call("Browser.grantPermissions", permissions=granted)
    tab.call("Page.bringToFront")
    for each in ("run-command", "advise-command", "toml"):
        tab.evaluate(
            f"document.getElementById('{each}').closest('details')?.setAttribute('open', '')"
        )
        tab.evaluate(f"document.querySelector('[data-copies={each}]').click()")
        shown = tab.evaluate(f"document.getElementById('{each}').textContent")
        tab.wait("document.getElementById('copied').textContent !== ''")
        assert tab.evaluate("navigator.clipboard.readText()") == shown


def test_a_page_of_another_origin_can_neither_read_nor_drive_it(tabs, server, tmp_path):
    """Even if it has got hold of the token."""
    other = tmp_path / "other.html"
    other.write_text(
        f"""<!DOCTYPE html><title>Other</title><iframe src="{server.address}"></iframe><script>
        window.told = [];
        const ask = async (path, options) => {{
          try {{ told.push(await (await fetch("{server.address}" + path, options)).text()); }}
          catch (error) {{ told.push(error.name); }}
        }};
        Promise.all([ask("controls"), ask("answer?tab=x"), ask("", {{ mode: "no-cors" }})])
          .then(() => {{ window.over = true; }});
        </script><script src="{server.address}app.js"></script>"""
    )
    before = server.tabs.take("x")
    tab = tabs(1280)
    tab.open(other.as_uri())
    tab.wait("window.over && document.readyState === 'complete'")

    assert tab.evaluate("told") == ["TypeError"] * 3  # not even an opaque answer
    framed = "document.querySelector('iframe').contentDocument?.body.textContent ?? ''"
    assert tab.evaluate(framed) == ""
    before.check()  # its question has replaced none
