"""Answers to a question, the quickest first: equations, few runs, more runs, the advisor."""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from cprsim.advice.advice import Advice
from cprsim.advice.advising import advise
from cprsim.advice.criteria import MEASURED, useful_cost_of
from cprsim.advice.decision import decide
from cprsim.advice.search import Incumbent
from cprsim.app import pictures
from cprsim.app.controls import texts_in
from cprsim.app.page_model import MovesError, PageModel, WhatIf, faults_at
from cprsim.app.requests import RequestToken
from cprsim.basics.machine import cores
from cprsim.basics.units import format_duration
from cprsim.errors import CprsimError, ScenarioError, UsageError
from cprsim.figures import save_bytes
from cprsim.figures.timeline import timeline
from cprsim.report import html, outputs
from cprsim.report.answer import answer_lines, detail_lines, known_so_far
from cprsim.report.conclusion import conclusion, findings
from cprsim.report.decision import decision_lines
from cprsim.report.report import reference_policy
from cprsim.report.screen import answer_table, configuration
from cprsim.report.tables import accuracy_table, causes_table, notes, resources_table, run_table
from cprsim.runs.engines import chosen, is_ready, prepare, simulate
from cprsim.runs.result import Result
from cprsim.runs.runner import run
from cprsim.scenario import Scenario
from cprsim.sim.history.recorder import record

#: Files that can be taken from the page, and their media types.
FILES: Final = {
    "report.html": "text/html; charset=utf-8",
    "breakdown.svg": "image/svg+xml",
    "timeline.svg": "image/svg+xml",
    "answer.svg": "image/svg+xml",
    "scenario.toml": "application/toml",
}
#: Replications of the first simulated answer: a cohort, whose draws are shared.
COARSE: Final = 256
#: Questions whose answers are kept, for going back.
_KEPT = 12
#: Takes a part of the answer, as one JSON object.
Send = Callable[[dict[str, Any]], None]


class Answering:
    """Answers questions about one scenario file, and keeps the latest answers."""

    def __init__(self, subject: PageModel) -> None:
        self.subject = subject
        self._results: OrderedDict[tuple[str, int], Result] = OrderedDict()
        self._advice: OrderedDict[str, Advice] = OrderedDict()

    @property
    def objectives(self) -> list[str]:
        """Return the objectives that the advisor may minimise in this job."""
        priced = useful_cost_of(self.subject.scenario(WhatIf())) > 0
        return [each for each in MEASURED if priced or each != "cost"]

    def warm_up(self) -> None:
        """Load and compile what answers need, so that the first one is as quick as the others."""
        scenario = self.subject.scenario(WhatIf())
        with suppress(CprsimError):
            engines = _engines(scenario)
            prepare(engines.values())
            simulate(scenario, engines, range(2), 0)

    def answer(self, query: str, turn: RequestToken, send: Send) -> None:
        """Send all parts of an answer, or what is wrong with the question.

        Raises `ReplacedError` as soon as the tab has sent another question.
        """
        try:
            asked = WhatIf.from_query(query, self.subject.controls)
        except MovesError as error:
            send({"part": "faults", "at": error.faults, "others": []})
            return
        try:
            scenario = self.subject.scenario(asked)
        except ScenarioError as error:
            at, others = faults_at(error, self.subject.controls, asked)
            send({"part": "faults", "at": at, "others": others})
            return
        controls = self.subject.controls
        now = texts_in(scenario, controls)
        send(
            {
                "part": "asked",
                "query": asked.query,
                "texts": {each.name: asked.moved.get(each.name, each.text) for each in controls},
                "numbers": {each.name: each.number(now[each.name]) for each in controls},
                "commands": self.subject.commands(asked),
                "facts": _facts(scenario),
            }
        )
        send({"part": "coarse", "bars": pictures.expected_bars(scenario)})
        lines = list[str]()
        with suppress(CprsimError):
            lines += decision_lines(decide(scenario))
        curve, toml = pictures.curve(scenario), scenario.to_toml()
        send({"part": "equations", "curve": curve, "lines": lines, "toml": toml})
        try:
            self._play(asked, scenario, turn, send)
            self._advise(asked, scenario, turn, send)
        except CprsimError as error:
            send({"part": "failed", "lines": str(error).splitlines()})
        send({"part": "done"})

    def file(self, query: str, name: str, policy: str, turn: RequestToken) -> bytes:
        """The bytes of one of `FILES`; `policy`: of the timeline.

        Raises `CprsimError` for an invalid question, and for the advisor's picture
        before there is an answer.
        """
        asked = WhatIf.from_query(query, self.subject.controls)
        scenario = self.subject.scenario(asked)
        if name == "scenario.toml":
            return scenario.to_toml().encode()
        if name == "timeline.svg":
            result = self._result(asked, scenario, turn, asked.replications)
            history = record(scenario, policy, asked.seed, _replication(asked, result)[0])
            with turn.computing():
                return save_bytes(timeline(history, scenario.title), "svg")
        if name == "answer.svg":
            advice = self._advice.get(asked.query)
            if advice is None:
                raise UsageError("answer.svg: the advisor has not answered this yet; wait for it")
            with turn.computing():
                return save_bytes(advice.figure(), "svg")
        result = self._result(asked, scenario, turn, asked.replications)
        # Matplotlib's style is one for all threads, too.
        with turn.computing():
            if name == "breakdown.svg":
                return save_bytes(result.figure(), "svg")
            page = outputs.contents(result, self.subject.source(asked))["report.html"]
        assert page is not None
        return page

    def _result(self, asked: WhatIf, scenario: Scenario, turn: RequestToken, count: int) -> Result:
        """Return the result of the shown command `cprsim run`, with so many replications."""
        key = asked.query, count
        result = self._results.get(key)
        if result is None:
            with turn.computing():
                compiled = is_ready() and set(_engines(scenario).values()) == {"batch"}
                # Threads of the compiled engine cost nothing to start, processes of the other
                # seconds.
                workers = min(2, cores()) if compiled else 1
                engine = "batch" if compiled else "auto"
                result = run(scenario, None, count, asked.seed, engine, workers, turn.check)
            _keep(self._results, key, result)
        return result

    def _play(self, asked: WhatIf, scenario: Scenario, turn: RequestToken, send: Send) -> None:
        """Replications, few and then all; one run as a timeline; intervals near the chosen one."""
        known = (asked.query, asked.replications) in self._results
        if asked.replications > COARSE and not known:
            send(_ran(self._result(asked, scenario, turn, COARSE)))
            send(_progress(f"{asked.replications:,} replications", 0, 0))
        result = self._result(asked, scenario, turn, asked.replications)
        more = resources_table(result), causes_table(result), accuracy_table(result)
        tables = [
            {"title": str(each.title), "headings": headings, "rows": rows}
            for each in (run_table(result).table, *more)
            if each is not None
            for headings, rows in [html.cells(each)]
        ]
        lines = [*findings(result), *notes(result)]
        send(_ran(result) | {"sharp": True, "tables": tables, "lines": lines})
        number, note = _replication(asked, result)
        for policy in scenario.policies:
            with turn.computing():
                found = pictures.lane(scenario, policy, asked.seed, number)
            send({"part": "lane", "replication": number, "note": note} | found)
        points = pictures.points(scenario, asked.seed)
        with suppress(CprsimError, ValueError):  # `pictures.curve` has sent it
            while True:
                with turn.computing():
                    of_system = next(points, None)
                if of_system is None:
                    break
                send({"part": "points", "system": of_system[0], "points": of_system[1]})

    def _advise(self, asked: WhatIf, scenario: Scenario, turn: RequestToken, send: Send) -> None:
        known = self._advice.get(asked.query)
        if known is None:

            def tell(what: str, done: int, total: int, so_far: Advice | Incumbent | None) -> None:
                turn.check()
                said = "" if so_far is None else known_so_far(so_far)
                send(_progress(f"the advisor: {what}", done, total) | {"known": said})

            with turn.advising():
                known = advise(scenario, asked.objective, seed=asked.seed, tell=tell)
            _keep(self._advice, asked.query, known)
        headings, rows = html.cells(answer_table(known))
        send(
            {
                "part": "advice",
                "lines": list(answer_lines(known)),
                "details": list(detail_lines(known)),
                "toml": configuration(known),
                "table": {"headings": headings, "rows": rows},
                "verdict": known.verdict,
            }
        )


def _keep(kept: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    kept[key] = value
    if len(kept) > _KEPT:
        kept.popitem(last=False)


def _engines(scenario: Scenario) -> dict[str, Any]:
    """Return the engines that end soonest in a process that has loaded both."""
    return dict(chosen(scenario, list(scenario.policies), "auto"))


def _progress(what: str, done: int, total: int) -> dict[str, Any]:
    return {"part": "progress", "what": what, "done": done, "total": total}


def _facts(scenario: Scenario) -> list[tuple[str, str]]:
    """Return the consequences of the values, in words."""
    context = scenario.context
    found = [("MTBF of the job", format_duration(context.mtbf_s))]
    with suppress(CprsimError):  # no policy needs it, or there would be no scenario
        found.append(("one save of everything", format_duration(context.save_s)))
    return found


def _replication(asked: WhatIf, result: Result) -> tuple[int, str]:
    """Return the replication of the timeline, and the sentence below it."""
    if asked.replication != "median":
        return asked.replication, f"Replication {asked.replication}. Triangles: failures."
    reference = reference_policy(result)
    number = result.kept.median(reference)
    why = f"whose overhead under {reference} is the median"
    return number, f"Replication {number}, {why}. Triangles: failures."


def _ran(result: Result) -> dict[str, Any]:
    """Return the pictures of a run."""
    return {
        "part": "run",
        "sharp": False,
        "replications": result.count,
        "conclusion": conclusion(result),
        "bars": pictures.bars(result),
        "currency": result.currency,
    }
