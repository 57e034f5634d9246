"""What can be taken from the page as files: the report of a run, and the pictures."""

from typing import Final

from cprsim.app.answers import Answering
from cprsim.app.subject import WhatIf
from cprsim.app.turns import Turn
from cprsim.errors import UsageError
from cprsim.figures import save_bytes
from cprsim.figures.timeline import timeline
from cprsim.history.recorder import record
from cprsim.report import outputs

#: Names of the files, and their media types.
NAMES: Final = {
    "report.html": "text/html; charset=utf-8",
    "breakdown.svg": "image/svg+xml",
    "timeline.svg": "image/svg+xml",
    "answer.svg": "image/svg+xml",
    "scenario.toml": "application/toml",
}


def contents(answers: Answering, query: str, name: str, policy: str, turn: Turn) -> bytes:
    """The bytes of one of `NAMES`; `policy`: of the timeline.

    Raises
    ------
    UsageError
        For the advisor's picture while he has given no answer yet.
    CprsimError
        For a question that can't be asked, as `Answering.answer` tells it.
    """
    subject = answers.subject
    asked = WhatIf.from_query(query, subject.controls)
    scenario = subject.scenario(asked)
    if name == "scenario.toml":
        return scenario.to_toml().encode()
    if name == "timeline.svg":
        history = record(scenario, policy, asked.seed, asked.replication)
        with turn.computing():
            return save_bytes(timeline(history, scenario.title), "svg")
    if name == "answer.svg":
        advice = answers.advice(asked)
        if advice is None:
            raise UsageError("answer.svg: the advisor has not answered this yet; wait for him")
        with turn.computing():
            return save_bytes(advice.figure(), "svg")
    result = answers.result(asked, scenario, turn)
    # Matplotlib's style is one for all threads, too.
    with turn.computing():
        if name == "breakdown.svg":
            return save_bytes(result.figure(), "svg")
        page = outputs.contents(result, subject.source(asked))["report.html"]
    assert page is not None
    return page
