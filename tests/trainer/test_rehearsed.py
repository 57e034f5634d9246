"""What a rehearsal is, and what is measured in it; no test asserts seconds of a clock."""

from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

import pytest

from cprsim.contract import (
    Tracking,
)
from cprsim.contract.ledger import CAUSES
from cprsim.failures.hit import Hit
from cprsim.scenario import Scenario
from cprsim.trainer.coordinator.accounts import MeasuredSpan, ShardSave
from cprsim.trainer.members.trackers_lists import TOGETHER
from cprsim.trainer.validation import appended
from cprsim.trainer.validation.calibration import Calibration, averaged, measured
from cprsim.trainer.validation.longness import USUAL, Newness, longness
from cprsim.trainer.validation.rehearsal import (
    SHORT,
    rehearsal,
    strikes,
    struck,
)
from cprsim.trainer.validation.rehearsed import RehearsalTimes

ONE, TWO, TRAINER = Hit((0,), ()), Hit((0, 1), ()), Hit((), (0,))


@pytest.fixture(autouse=True)
def one_core(monkeypatch):
    """However many the machine has."""
    monkeypatch.setattr(appended, "cores", lambda: 1)


def test_a_rehearsal_strikes_after_two_steps_of_a_stretch():
    script = rehearsal(Tracking("mfu", 0.25)).script
    progress, executed, found = 0, 0, []
    for stretch in script:
        executed += stretch.end - progress
        if stretch.returns is not None:
            found.append(executed - (stretch.end - progress) + 2)
            executed += 2 if stretch.returns == "all" else 0
        progress = stretch.end

    assert [each.executed for each in strikes(script)] == found
    assert {each.returns for each in strikes(script)} == {"all", "lost"}
    # Each server is lost with either answer.
    hit = {(struck(i, 3).servers, each.returns) for i, each in enumerate(strikes(script))}
    assert hit == {((server,), returns) for server in range(3) for returns in ("all", "lost")}


@pytest.mark.parametrize("servers", [2, 3, 5])
@pytest.mark.parametrize("hits", [(ONE, TWO), (TWO, ONE, ONE, Hit((0, 1, 2), (0,)))])
def test_each_kind_of_failure_strikes_each_server_first(servers, hits):
    """For either answer: numbers of strikes that follow each other have both."""
    found = [struck(number, servers, hits) for number in range(2 * servers * len(set(hits)))]

    assert found[::2] == found[1::2]
    assert not any(hit.trainers for hit in found)
    assert Counter((hit.servers[0], len(hit.servers)) for hit in found[::2]) == Counter(
        (first, min(len(hit.servers), servers)) for first in range(servers) for hit in set(hits)
    )


def test_stretches_of_each_length_come_at_several_places_after_a_failure():
    """So what is slow for being new is told from what is so for being long."""
    places, since = {}, 0
    for stretch, steps in zip(script := rehearsal(None).script, lengths(script), strict=True):
        since = 0 if stretch.returns else since + 1
        if since:
            places.setdefault(steps, set()).add(since)

    assert set(places) == {6, 13, 14, 27}
    assert all(len(each) >= 4 for each in places.values())


def lengths(script):
    return [after - before for before, after in pairwise([0, *(each.end for each in script)])]


def test_three_kinds_of_failures_are_struck_in_the_shortest_rehearsal():
    """The trainer's among them, and each is followed by either answer."""
    script = rehearsal(None).script
    found = [struck(number, 2, (TWO, ONE, TRAINER, ONE)) for number in range(len(strikes(script)))]

    assert found == [TRAINER, TRAINER, ONE, ONE, TWO, TWO]
    assert {struck(number, 2, (TRAINER,)) for number in range(8)} == {TRAINER}


def rehearsed(plan, sizes=(2000, 2000), hits=(ONE,), rows_after=lambda steps: 80 + 20 * steps):
    """Spans of a rehearsal in which all that is alike takes the same time each time.

    `sizes`: of a save of chosen rows on each server, of which all are 20,000. `hits`: who fails
    at once. `rows_after`: of a save after so many steps, 200 after 6 and 340 after 13.
    """
    now_s, spans, parts, done, number = 0.0, [], [], 0, 0
    newness = Newness(2)
    files, appended, in_files = [0, 0], [0, 0], [0, 0]

    def take(cause, seconds):
        nonlocal now_s
        spans.append(MeasuredSpan(cause, now_s, now_s + seconds))
        now_s += seconds

    for place, stretch in enumerate(plan.script):
        steps = stretch.end - done
        trained = steps + 2 * (stretch.returns == "all")
        if stretch.returns is None:
            warm_s = 0 if place else 9.0  # the first warms up
            take("train", 0.01 * steps + 0.003 * longness(steps) + 0.002 + warm_s)
        else:
            take("train", 0.01 * 2 + 0.003 * longness(2) + 0.002)
            hit = struck(number, 2, hits)
            lost, both = hit.servers, len(hit.servers) == 2
            of_first_s = 0.002 + 0.004 * lost[0] if lost else 0.007
            take("detect", of_first_s + 0.001 * both)
            take("reschedule", 0.05 + 0.02 * both if lost else 0.03)
            read, at_once = max(range(2), key=appended.__getitem__), 2
            if stretch.returns == "lost" and not both:
                read, at_once = (*lost, 1) if lost else (0, 0)
            of_one = 0.001 * bool(files[read]) + 0.004 * files[read] + 1e-5 * appended[read]
            # One after the other on one core.
            of_lost_s = 0.02 + 0.006 * both if lost else 0.004
            take("load", (0.03 if stretch.returns == "all" else of_lost_s) + at_once * of_one)
            resumed_s = 0.001 + 0.008 * bool(hit.trainers)
            take("train", 0.01 * (trained - 2) + 0.003 * longness(trained - 2) + resumed_s)
            newness.failed(hit)
            number += 1
        done = stretch.end
        chosen = stretch.save.portion < 1
        late_s = 0.004 * newness.saved()
        used = rows_after(steps)
        long_s = 0.003 * longness(trained)
        merging, read_s = [], 0.0
        for server in range(2 * chosen):  # the store merges when twice as much is appended
            in_files[server] += sizes[server]
            merges = in_files[server] > 40_000
            if merges:  # the slowest of those that do reads what it merges
                of_files = 0.001 + 0.004 * (files[server] + 1)
                read_s = max(read_s, of_files + 1e-5 * (appended[server] + used))
            files[server] = 0 if merges else files[server] + 1
            appended[server] = 0 if merges else appended[server] + used
            in_files[server] *= not merges
            merging.append(merges)
        merging_s = sum(merging) * (0.02 + read_s)  # one after the other on one core
        of_rows_s = 0.005 + 2e-5 * used + long_s if chosen else 0.016 + 2 * long_s
        take("save", late_s + merging_s + of_rows_s)
        parts += parts_of(done, sizes, used) if chosen else parts_of(done, (20_000,) * 2, None)
    return SimpleNamespace(
        spans=spans, parts=parts, seconds=seconds_of(spans), replaced=10, struck=10
    )


def parts_of(step, sizes, rows):
    """Of a save: choosing takes 0 and 1 ms, the rest the same on each server."""
    return [
        ShardSave(step, server, size, rows, 0.001 * server, 0.002, 0.003)
        for server, size in enumerate(sizes)
    ]


def seconds_in(ran, plan, hits=(ONE,)):
    return SimpleNamespace(**RehearsalTimes(ran, plan, 2, hits).seconds())


def seconds_of(spans):
    seconds = dict.fromkeys(CAUSES, 0.0)
    for span in spans:
        seconds[span.cause] += span.lasted_s
    return seconds


def test_a_calibrated_model_charges_what_was_measured():
    scenario = Scenario(
        job={"useful_time": "1 s", "samples": 10_000},
        model={"tables": [{"rows": 4000, "dim": 4}]},
        cluster={"parameter_servers": 2, "trainers": 1},
        costs={"save": "1 s", "load": "1 s"},
        failures={"exactly": 0},
        policies={"full": {"system": "full", "interval": "1 s"}},
    )
    plan = rehearsal(Tracking("mfu", 0.125))
    ran = rehearsed(plan)

    found = measured([ran], plan, scenario)
    model = Scenario(**(scenario.mapping() | {"costs": found.costs})).cost_model
    tier = plan.tier("remote")

    trained = (found.step_s, found.slow_s, found.stretch_s, found.resumed_s)
    assert trained == pytest.approx((0.01, 0.003, 0.002, 0.001))
    assert found.new_s == pytest.approx(0.004)
    assert found.merge_s == pytest.approx(0.02)
    long_s = 0.003 * longness(USUAL)
    of_chosen = (found.chosen_s, found.row_s, found.long_s)
    assert of_chosen == pytest.approx((0.005 + long_s, 2e-5, 0.003))
    assert model.seconds(model.save(tier)) == pytest.approx(0.016 + 2 * long_s)
    # 200 of the 2000 rows of a server are a tenth. What that takes of a whole save, 1 ms to choose
    # them, and what it takes to collect them are parts of what a save of them takes.
    collected_s = found.gather_s * 200 / 1e6
    fixed_s = found.save_fixed_s("mfu", 200, 0.1)
    of_saves_s = 0.005 + long_s + 2e-5 * 200 - (0.016 + 2 * long_s) / 10
    assert fixed_s == pytest.approx(of_saves_s - 0.001 - collected_s)
    assert found.save_fixed_s("mfu", 200, 0.9) == 0
    assert model.seconds(model.load(tier, "all", 1)) == pytest.approx(0.03)
    assert model.seconds(model.load(tier, "lost", 1)) == pytest.approx(0.02)
    assert model.reschedule_mean_s == pytest.approx(0.05)
    assert found.detect_s == pytest.approx(0.004)  # of both servers, as often
    assert found.select_s == {"mfu": pytest.approx(0.001)}  # of the slower server
    assert (found.appended_s, found.append_s) == pytest.approx((0.001, 0.004))
    assert found.append_row_s == pytest.approx(1e-5)
    assert measured([ran, ran], plan, scenario) == found


def test_where_no_server_merges_it_takes_what_is_read_and_written():
    """Servers whose files of chosen rows are too short, and others."""
    plan = rehearsal(Tracking("mfu", 0.125))
    one = seconds_in([rehearsed(plan, (1, 1))], plan)
    several = seconds_in([rehearsed(plan, (1, 1), [ONE, TWO])], plan, [ONE, TWO])
    trainers = seconds_in([rehearsed(plan, (1, 1), [TRAINER])], plan, [TRAINER])
    costs = [Calibration(*(1.0,) * 6, merge_s=s, select_s={"mfu": 1.0}) for s in (0.5, 0.25)]
    apart = seconds_in([rehearsed(plan, (3500, 5000))], plan)  # and once together

    # But for what was appended; both save at once.
    both_save_s = 0.016 + 0.006 * longness(USUAL)
    assert (one.merge_s, several.merge_s) == pytest.approx((0.02 + both_save_s / 2,) * 2)
    assert trainers.merge_s == pytest.approx((0.03 + both_save_s) / 2)  # of servers none loads
    assert apart.merge_s == pytest.approx(0.02)
    assert averaged(costs).merge_s == 0.375


def test_rows_that_hardly_vary_say_nothing_of_what_one_takes():
    """All saves have 200 but those after one step."""
    plan = rehearsal(Tracking("mfu", 0.125))
    found = seconds_in([rehearsed(plan, rows_after=lambda steps: 200 - 10 * (steps == 1))], plan)

    assert found.row_s == 0
    usual_s = 0.005 + 0.003 * longness(USUAL) + 2e-5 * 200
    assert found.chosen_s == pytest.approx(usual_s, rel=0.01)


def test_times_are_reduced_over_repeats_before_what_each_cause_adds_is_fitted():
    """One run of three hiccups at each save, another one each time, and one is quick."""
    plan = rehearsal(Tracking("mfu", 0.125))
    usual, *runs = (rehearsed(plan) for _ in range(4))
    for number, ran in enumerate(runs):
        shift = 0.0
        for place, span in enumerate(ran.spans):
            turn = (place // 2 - number) % 3
            more_s = (0.5, -0.002, 0.0)[turn] * (span.cause == "save")
            ran.spans[place] = span._replace(
                start_s=span.start_s + shift, end_s=span.end_s + shift + more_s
            )
            shift += more_s

    found, expected = (seconds_in(each, plan) for each in (runs, [usual]))
    assert (found.save_s, found.chosen_s) == pytest.approx((expected.save_s, expected.chosen_s))


def test_whole_saves_are_those_after_usual_stretches_by_servers_that_are_not_new():
    plan = rehearsal(None)
    found = seconds_in([rehearsed(plan)], plan)

    assert (found.long_s, found.new_s) == pytest.approx((0.006, 0.004))
    assert found.save_s == pytest.approx(0.016 + 0.006 * longness(USUAL))


def test_repeats_are_put_at_one_pace():
    """A save that took longer in a run that was quick at all is not in the middle of three."""
    plan = rehearsal(None)
    usual, slow, quick = (rehearsed(plan) for _ in range(3))
    stretched(slow, 3.0)
    stretched(quick, 0.5)
    stretched(quick, 2.5, "save")  # 1.25 times as long as usual

    found, expected = (seconds_in(each, plan) for each in ([slow, quick, usual], [usual]))
    assert found.save_s == pytest.approx(expected.save_s)


def stretched(ran, factor, cause=None):
    """All its spans, or those of one cause, take so many times as long."""
    for place, span in enumerate(ran.spans):
        if cause in (None, span.cause):
            ran.spans[place] = span._replace(start_s=0.0, end_s=factor * span.lasted_s)
    ran.seconds = seconds_of(ran.spans)


def test_what_is_far_off_hardly_counts_where_nothing_is_repeated():
    plan = rehearsal(None)
    usual, ran = rehearsed(plan), rehearsed(plan)
    for place in [i for i, span in enumerate(ran.spans) if span.cause == "save"][4::11]:
        span = ran.spans[place]
        ran.spans[place] = span._replace(end_s=span.end_s + 0.2)

    found, expected = (seconds_in([each], plan) for each in (ran, usual))
    assert (found.save_s, found.detect_s) == pytest.approx((expected.save_s, expected.detect_s))


@pytest.mark.parametrize("servers", [2, 3])
def test_few_strikes_tell_the_first_server_from_how_many_there_are(servers):
    """Of a job most of whose failures are of two servers; the first of them takes 4 ms longer."""
    plan, hits = rehearsal(None), [ONE, TWO, TWO, TWO]
    ran, strike = rehearsed(plan), 0
    for place, span in enumerate(ran.spans):
        if span.cause == "reschedule":
            hit = struck(strike, servers, hits)
            took_s = 0.03 + 0.004 * (hit.servers[0] == 0) + 0.02 * (len(hit.servers) - 1)
            ran.spans[place] = span._replace(end_s=span.start_s + took_s)
            strike += 1
    ran.seconds = seconds_of(ran.spans)
    found = RehearsalTimes([ran], plan, servers, hits).seconds()

    # Of the two servers that any rehearsed failure begins with.
    assert found["reschedule_s"] == pytest.approx(0.03 + 0.004 / 2 + 0.75 * 0.02)


@pytest.mark.parametrize(("hits", "more"), [([ONE], 0), ([TWO], 1), ([ONE, TWO, ONE, ONE], 0.25)])
def test_recoveries_take_what_they_do_of_as_many_servers_as_fail_at_once_in_the_mean(hits, more):
    """Of a server that merges each other save, and one that never does."""
    plan = rehearsal(Tracking("mfu", 0.125))
    found = seconds_in([rehearsed(plan, (21_000, 1), hits)], plan, hits)

    assert found.detect_s == pytest.approx(0.004 + 0.001 * more)
    assert found.reschedule_s == pytest.approx(0.05 + 0.02 * more)
    assert (found.load_full_s, found.load_partial_s) == pytest.approx((0.03, 0.02 + 0.006 * more))
    assert (found.appended_s, found.append_s) == pytest.approx((0.001, 0.004))
    assert found.append_row_s == pytest.approx(1e-5)


def test_failures_of_the_trainer_are_no_servers():
    """A quarter of them here: it starts and dies in other times, and loads its dense part alone."""
    plan, hits = rehearsal(Tracking("mfu", 0.125)), [ONE, TRAINER, ONE, ONE]
    found = seconds_in([rehearsed(plan, (21_000, 1), hits)], plan, hits)
    alone = seconds_in([rehearsed(plan, hits=[TRAINER])], plan, [TRAINER])

    assert found.detect_s == pytest.approx(0.75 * 0.004 + 0.25 * 0.007)
    assert found.reschedule_s == pytest.approx(0.75 * 0.05 + 0.25 * 0.03)
    assert (found.load_full_s, found.load_partial_s) == pytest.approx((0.03, 0.02))
    assert (found.load_trainer_s, found.new_s) == pytest.approx((0.004, 0.004))
    assert found.resumed_s == pytest.approx(0.75 * 0.001 + 0.25 * 0.009)
    assert (alone.reschedule_s, alone.detect_s) == pytest.approx((0.03, 0.007))
    assert (alone.load_trainer_s, alone.new_s) == pytest.approx((0.004, 0.004))
    assert alone.load_partial_s == alone.load_full_s  # of servers alone nothing is known


@pytest.mark.parametrize(("fraction", "saves"), [(0.5, 36), (0.125, 64), (0.01, 200), (1.0, 0)])
def test_as_many_saves_of_chosen_rows_as_it_takes_for_servers_to_merge(fraction, saves):
    script = rehearsal(Tracking("mfu", fraction)).script

    assert sum(each.save.portion < 1 for each in script) == saves


@pytest.mark.parametrize("looked_at", [2, 4])
def test_ssu_looks_at_a_batch_in_any_of_the_short_stretches(looked_at):
    """And not always in those of one step, or never: of each kind some begin at each place."""
    script = rehearsal(Tracking("ssu", 0.125)).script
    begins = Counter(
        (after.end - one.end, one.end % looked_at)
        for one, after in pairwise(script)
        if after.save.portion < 1 and after.end - one.end <= SHORT
    )

    kinds = [(steps, place) for steps in (1, 2, SHORT) for place in range(looked_at)]
    assert min(begins[each] for each in kinds) >= 1


@pytest.mark.parametrize(("looked_at", "most"), [(1, 10), (2, 10), (4, 20)])
def test_few_saves_find_nothing_left_to_put_on_the_lists(looked_at, most):
    """Those that do take less time: four batches are put there at once (`TOGETHER`). Of 64."""
    script = rehearsal(Tracking("ssu", 0.125)).script
    left = []
    for one, after in pairwise(script):
        seen = sum(step % looked_at == 0 for step in range(one.end, after.end))
        left.append(seen % TOGETHER)

    assert left[35:].count(0) <= most


@pytest.mark.parametrize("fraction", [1.0, 0.5, 0.125, 0.01])
def test_most_of_what_is_rehearsed_is_far_from_a_failure(fraction):
    """New members are slow for some saves: in runs, few saves are as near to a failure."""
    script = rehearsal(Tracking("mfu", fraction)).script
    failed = [number for number, each in enumerate(script) if each.returns is not None]

    assert failed[0] == 5
    assert {later - one for one, later in pairwise(failed)} == {6}
