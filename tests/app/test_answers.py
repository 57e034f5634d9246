"""The numbers of the page are those of the commands that it copies, to the last digit."""

import itertools
import json
import shlex
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cprsim
from cprsim.app import pictures
from cprsim.app.answers import Answering
from cprsim.app.page_model import PageModel, WhatIf
from cprsim.app.pictures import BarBlock, merged
from cprsim.app.requests import ReplacedError, Sessions
from cprsim.cli import command
from tests.app.serving import KAGGLE, QUICKSTART, get, parts, served

MOVED = "failures.mean=14+h&policies.full.interval=45+min&seed=3&replications=400"


@pytest.fixture(scope="module")
def server():
    with served() as running:
        yield running


def named(found: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [each for each in found if each["part"] == name]


@pytest.mark.parametrize("query", ["", MOVED])
def test_the_page_has_the_numbers_of_the_command_it_copies(server, capsys, query):
    found = parts(server, query, until="lane")
    (asked,), (first, last) = named(found, "asked"), named(found, "run")
    arguments = shlex.split(asked["commands"][0])
    assert arguments[0] == "cprsim"

    assert command._main([*arguments[1:], "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert (first["sharp"], first["replications"], last["sharp"]) == (False, 256, True)

    rows = {row["policy"]: row for row in last["bars"]}
    for name, policy in expected["policies"].items():
        overhead = rows[name]["measures"]["overhead"]
        assert overhead["mean"] == policy["overhead"]["mean"]
        assert [overhead["low"], overhead["high"]] == policy["overhead"]["ci95"]
        assert rows[name]["causes"] == policy["breakdown"]

    assert command._main(arguments[1:]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for table in last["tables"]:
        for row in table["rows"]:
            assert " ".join(row) in printed


@pytest.mark.slow
def test_the_advisors_answer_is_that_of_the_command(server, capsys):
    found = parts(server, "failures.mean=14+h")
    (asked,), (advice,) = named(found, "asked"), named(found, "advice")

    assert command._main([*shlex.split(asked["commands"][1])[1:], "--details"]) == 0
    printed = capsys.readouterr().out
    flat = " ".join(printed.split())
    for line in (*advice["lines"], *advice["details"]):
        assert line in flat
    assert advice["toml"] in printed
    for row in advice["table"]["rows"]:
        assert " ".join(row[1:]) in flat
    assert advice["lines"][0].startswith(("Use ", "Keep "))
    assert {each["part"] for each in found} == {
        *("asked", "coarse", "equations", "run", "progress", "lane", "points", "advice", "done")
    }


def test_the_first_answer_is_of_equations_alone(server):
    asked, coarse, equations = parts(server, "failures.mean=7+h", until="equations")

    assert asked["facts"][0] == ["MTBF of the job", "7 h"]
    assert asked["numbers"]["failures.mean"] == 7 * 3600
    assert {row["policy"] for row in coarse["bars"]} == {"full", "async", "cpr", "replication"}
    for row in coarse["bars"]:
        overhead = row["measures"]["overhead"]
        assert overhead["mean"] == pytest.approx(sum(row["causes"].values()))
        assert overhead["low"] is overhead["high"] is None
    lines = equations["curve"]["lines"]
    best_s, least = equations["curve"]["best"]
    assert least == min(share for _, share in lines["full"])
    young_s = (2 * 300.0025 * 7 * 3600) ** 0.5
    assert best_s == pytest.approx(young_s, rel=0.1)


def test_a_wrong_value_is_told_and_nothing_is_played(server):
    assert parts(server, "failures.mean=14") == [
        {
            "part": "faults",
            "at": {"failures.mean": '14 has no unit: write a string with one, e.g. "14 h"'},
            "others": [],
        }
    ]


def test_a_job_that_gets_nowhere_is_told(server):
    query = "failures.mean=3+h&policies.full.interval=4+d&replications=1"
    found = parts(server, query, until="failed")

    assert named(found, "failed")[0]["lines"][0].startswith("policy 'full': the job gets nowhere")


@pytest.mark.slow
def test_the_timeline_is_the_replication_of_the_median_or_the_one_asked_for(server):
    query = "replications=20"
    one, *_ = named(parts(server, query, until="lane"), "lane")
    other, *_ = named(parts(server, f"{query}&replication=7", until="lane"), "lane")

    played = cprsim.run("quickstart", policies=["full"], replications=20).replications
    overheads = played.set_index("replication").overhead
    order = overheads.sort_values(kind="stable").index
    assert one["policy"] == "full"
    assert one["overhead"] == pytest.approx(overheads[one["replication"]])
    assert one["replication"] in order[9:11]
    assert one["note"].startswith(f"Replication {one['replication']}, whose overhead under full")
    assert (other["replication"], other["note"]) == (7, "Replication 7. Triangles: failures.")


@pytest.mark.slow
def test_files_are_those_of_the_commands(server):
    query = "failures.mean=14+h&replications=20"
    subject = server.answers.subject
    page = get(server, f"/{server.token}/report.html?{query}")
    toml = get(server, f"/{server.token}/scenario.toml?{query}")
    picture = get(server, f"/{server.token}/timeline.svg?{query}&policy=full")
    early = get(server, f"/{server.token}/answer.svg?{query}")

    assert page.text.startswith("<!DOCTYPE html>")
    assert "20 replications" in page.text
    assert toml.text == subject.scenario(WhatIf({"failures.mean": "14 h"})).to_toml()
    assert picture.body.startswith(b"<?xml")
    assert early.status == 400
    assert early.text == (
        "cprsim app: answer.svg: the advisor has not answered this yet; wait for it\n"
    )
    for each in (page, toml, picture):
        assert each.headers["Content-Disposition"].startswith("attachment; filename=")


def test_an_old_question_is_dropped_as_its_tab_asks_another():
    answers, tabs = Answering(PageModel.read(KAGGLE)), Sessions()
    turn, told = tabs.take("tab"), []

    def send(part):  # as the server does
        turn.check()
        told.append(part["part"])
        if part["part"] == "run":
            tabs.take("tab")

    with pytest.raises(ReplacedError):
        answers.answer("", turn, send)
    assert told == ["asked", "coarse", "equations", "run"]


def test_who_waits_for_the_cores_gives_up_once_replaced():
    tabs = Sessions()
    old, other = tabs.take("tab"), tabs.take("other")
    came = []

    def compute():
        try:
            with old.computing():
                came.append("computed")
        except ReplacedError:
            came.append("replaced")

    with tabs.computing:
        waiting = threading.Thread(target=compute)
        waiting.start()
        tabs.take("tab")
    waiting.join()
    assert came == ["replaced"]
    other.check()  # another tab is replaced by none


def test_lanes_tile_the_run():
    subject = PageModel.read(QUICKSTART)
    job = subject.scenario(WhatIf())
    for policy in subject.policies:
        found = pictures.lane(job, policy, 0, 1)
        blocks = found["blocks"]
        assert blocks[0].start == 0
        assert blocks[-1].end == pytest.approx(found["wall_s"])
        total = sum(sum(each.amounts.values()) for each in blocks)
        assert total == pytest.approx(found["wall_s"])
        assert len(blocks) < 1500


# --- Blocks of a bar ------------------------------------------------------------------------------


def test_short_blocks_are_merged_and_long_ones_are_not():
    def block(start, end, kind):
        return BarBlock(start, end, {kind: end - start})

    blocks = [block(0, 5, "a"), block(5, 5.5, "b"), block(5.5, 6, "a"), block(6, 6.5, "b")]
    after = [block(6.5, 9, "a"), block(9, 9.2, "b"), block(12, 12.2, "b")]

    assert merged([*blocks, *after], 1.0) == [
        blocks[0],
        BarBlock(5, 6, {"b": 0.5, "a": 0.5}),  # as long as the least: it takes in no more
        blocks[3],
        *after,  # a gap is no part of a block
    ]


@given(
    st.lists(st.tuples(st.floats(0.01, 3.0), st.floats(0.0, 0.5), st.sampled_from("abc"))),
    st.floats(0.1, 2.0),
)
def test_merging_keeps_amounts_and_order(parts, least):
    at, blocks = 0.0, []
    for length, gap, kind in parts:
        blocks.append(BarBlock(at, at + length, {kind: length}))
        at += length + gap
    found = merged(blocks, least)

    for kind in "abc":
        total = sum(b.amounts.get(kind, 0.0) for b in blocks)
        assert sum(b.amounts.get(kind, 0.0) for b in found) == pytest.approx(total)
    for one, other in itertools.pairwise(found):
        assert one.end <= other.start
    for each in found:
        assert sum(each.amounts.values()) <= (each.end - each.start) * (1 + 1e-9)
        # Less than the least before the last, which is shorter than that, and the gap between.
        assert len(each.amounts) == 1 or each.end - each.start < 2 * least + 0.5
