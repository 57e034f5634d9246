"""Answers to one question, the quickest first: equations, few runs, more runs, the advisor."""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from cprsim.advice.advice import Advice
from cprsim.advice.advising import advise
from cprsim.advice.aims import MEASURED, useful_cost_of
from cprsim.advice.search import Leading
from cprsim.app import pictures
from cprsim.app.controls import texts_in
from cprsim.app.subject import MovesError, Subject, WhatIf, faults_at
from cprsim.app.turns import Turn
from cprsim.basics.machine import cores
from cprsim.basics.units import format_duration
from cprsim.errors import CprsimError, ScenarioError
from cprsim.estimates.decision import decide
from cprsim.report import html
from cprsim.report.answer import answer_lines, detail_lines, known_so_far
from cprsim.report.candidates import answer_table
from cprsim.report.conclusion import conclusion, findings
from cprsim.report.configuration import configuration
from cprsim.report.decision import decision_lines
from cprsim.report.tables import RunTable, notes, resources_table
from cprsim.runs.engines import chosen, is_ready, prepare, simulate
from cprsim.runs.result import Result
from cprsim.runs.runner import run
from cprsim.scenario import Scenario

#: Replications of the first simulated answer: a cohort, whose draws are shared.
COARSE: Final = 256
#: Questions whose answers are kept, for who goes back.
_KEPT = 12
#: Takes a part of the answer, as one JSON object.
Send = Callable[[dict[str, Any]], None]


class Answering:
    """Answers questions about one scenario file, and keeps the latest answers."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._results: OrderedDict[tuple[str, int], Result] = OrderedDict()
        self._advice: OrderedDict[str, Advice] = OrderedDict()

    @property
    def objectives(self) -> list[str]:
        """What the advisor may make least in this job."""
        priced = useful_cost_of(self.subject.scenario(WhatIf())) > 0
        return [each for each in MEASURED if priced or each != "cost"]

    def warm_up(self) -> None:
        """Load and compile what answers need, so that the first one is as quick as the others."""
        scenario = self.subject.scenario(WhatIf())
        with suppress(CprsimError):
            engines = _engines(scenario)
            prepare(engines.values())
            simulate(scenario, engines, range(2), 0)

    def answer(self, query: str, turn: Turn, send: Send) -> None:
        """Tell all parts of an answer, or what is wrong with the question.

        Raises
        ------
        ReplacedError
            As soon as the tab has asked something else.
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
        send(self._asked(asked, scenario))
        send({"part": "coarse", "bars": pictures.expected_bars(scenario)})
        send(
            {
                "part": "equations",
                "curve": pictures.curve(scenario),
                "lines": _decided(scenario),
                "toml": scenario.to_toml(),
            }
        )
        try:
            self._play(asked, scenario, turn, send)
            self._advise(asked, scenario, turn, send)
        except CprsimError as error:
            send({"part": "failed", "lines": str(error).splitlines()})
        send({"part": "done"})

    def result(
        self, asked: WhatIf, scenario: Scenario, turn: Turn, replications: int | None = None
    ) -> Result:
        """Of the command `cprsim run` that the page shows, or of as many replications."""
        count = asked.replications if replications is None else replications
        key = asked.query, count
        result = self._results.get(key)
        if result is None:
            with turn.computing():
                result = _run(scenario, count, asked.seed, turn)
            _keep(self._results, key, result)
        return result

    def advice(self, asked: WhatIf) -> Advice | None:
        """The advisor's answer to a question, if he has given it and it is kept."""
        return self._advice.get(asked.query)

    def _asked(self, asked: WhatIf, scenario: Scenario) -> dict[str, Any]:
        """What was understood: where each control stands, the commands, the scenario."""
        controls = self.subject.controls
        stands = texts_in(scenario, controls)
        return {
            "part": "asked",
            "query": asked.query,
            "texts": {each.name: asked.moved.get(each.name, each.text) for each in controls},
            "numbers": {each.name: each.number(stands[each.name]) for each in controls},
            "commands": self.subject.commands(asked),
            "facts": _facts(scenario),
        }

    def _play(self, asked: WhatIf, scenario: Scenario, turn: Turn, send: Send) -> None:
        """Replications, few and then all; one run as a timeline; intervals beside the chosen."""
        known = (asked.query, asked.replications) in self._results
        if asked.replications > COARSE and not known:
            send(_ran(self.result(asked, scenario, turn, COARSE)))
            send(_progress(f"{asked.replications:,} replications", 0, 0))
        result = self.result(asked, scenario, turn)
        send(_ran(result) | _told(result))
        for policy in scenario.policies:
            with turn.computing():
                found = pictures.lane(scenario, policy, asked.seed, asked.replication)
            send({"part": "lane", "replication": asked.replication} | found)
        self._intervals(asked, scenario, turn, send)

    @staticmethod
    def _intervals(asked: WhatIf, scenario: Scenario, turn: Turn, send: Send) -> None:
        try:
            points = pictures.points(scenario, asked.seed)
            while True:
                with turn.computing():
                    found = next(points, None)
                if found is None:
                    break
                send({"part": "points", "system": found[0], "points": found[1]})
        except (CprsimError, ValueError):  # as `pictures.curve` has told
            return

    def _advise(self, asked: WhatIf, scenario: Scenario, turn: Turn, send: Send) -> None:
        known = self.advice(asked)
        if known is None:

            def tell(what: str, done: int, total: int, so_far: Advice | Leading | None) -> None:
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
    """Those that end soonest in a process that has loaded both."""
    return dict(chosen(scenario, list(scenario.policies), "auto"))


def _run(scenario: Scenario, replications: int, seed: int, turn: Turn) -> Result:
    compiled = is_ready() and set(_engines(scenario).values()) == {"batch"}
    # Threads of the compiled engine cost nothing to start, processes of the other seconds.
    workers = min(2, cores()) if compiled else 1
    engine = "batch" if compiled else "auto"
    return run(scenario, None, replications, seed, engine, workers, turn.check)


def _progress(what: str, done: int, total: int) -> dict[str, Any]:
    return {"part": "progress", "what": what, "done": done, "total": total}


def _facts(scenario: Scenario) -> list[tuple[str, str]]:
    """What follows from the values, in words."""
    context = scenario.context
    found = [("MTBF of the job", format_duration(context.mtbf_s))]
    with suppress(CprsimError):  # no policy needs it, or there would be no scenario
        found.append(("one save of everything", format_duration(context.save_s)))
    return found


def _decided(scenario: Scenario) -> list[str]:
    try:
        return list(decision_lines(decide(scenario)))
    except CprsimError:
        return []


def _ran(result: Result) -> dict[str, Any]:
    """What is drawn of a run."""
    return {
        "part": "run",
        "sharp": False,
        "replications": result.count,
        "conclusion": conclusion(result),
        "bars": pictures.bars(result),
        "currency": result.currency,
    }


def _told(result: Result) -> dict[str, Any]:
    """All that the command says of a run."""
    shown = [RunTable(result).wide(), resources_table(result)]
    tables = [
        {"title": str(each.title), "headings": headings, "rows": rows}
        for each in shown
        if each is not None
        for headings, rows in [html.cells(each)]
    ]
    return {
        "sharp": True,
        "document": result.document(),
        "tables": tables,
        "lines": [*findings(result), *notes(result)],
    }
