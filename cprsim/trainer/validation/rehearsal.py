"""A rehearsal: a plan that tries out, again and again, what costs are to be known of.

It is asked and told like any other, and members are really killed in it. Saves of everything come
first, then saves of chosen rows; between them servers are lost, and what is lost returns to the
last save, alone and with the whole job in turn. Most saves come with nothing lost before them: one
that follows a recovery takes longer, and the next few do, too, and what is trained between them,
while new members warm up. Some stretches are short and some are long, in an order in which a
machine that slows down meanwhile slows both.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cprsim.contract import (
    Action,
    Always,
    Clock,
    Event,
    Failed,
    Loss,
    Plan,
    Recover,
    Save,
    Saved,
    Tracking,
    Train,
    every,
)
from cprsim.failures.hit import Hit
from cprsim.job.costs import Rollback

#: Steps between saves, those of chosen rows all in turn: so trackers that look at some batches at
#: a time mostly have some left to look at when a save is due, as they have in most runs. SSU puts
#: four on its lists at once, of all, of every other one or of every fourth; nine steps have its
#: turn anywhere.
LONG, SHORT = (13, 14), 6
_SHORT_OF_CHOSEN = (2, SHORT, 1)
#: Steps between saves of everything, in turn: five, while every sixth has a failure, so that each
#: comes as soon after one as others do.
_OF_WHOLE = (LONG[0], SHORT, 27, SHORT, LONG[1])
#: Steps before a failure, and those of a long stretch with one, without those trained again.
BEFORE, STRUCK = 2, 12
#: Saves of everything, and saves of chosen rows: as many as may take so many times what everything
#: is, so that stores merge them.
_WHOLE, _FEWEST, _MOST, _TIMES = 36, 36, 200, 8
#: Of so many stretches the last has a failure: most of a run is as far from one as the others are.
_KILLED = 6

_WAITED_FOR = Save()
#: What fails where nothing else is said.
ONE_SERVER = Hit((0,), ())


class Stretch(NamedTuple):
    """Training up to step `end`, where `save` is due; `returns` if servers are lost before that."""

    end: int
    save: Save
    returns: Rollback | None = None

    @property
    def again(self) -> int:
        """Steps that are trained again in it."""
        return BEFORE if self.returns == "all" else 0


class Strike(NamedTuple):
    """Servers are killed once so many steps have been trained, rolled back or not.

    `appended`: saves of chosen rows before it.
    """

    executed: int
    returns: Rollback
    appended: int


def stretches(
    portion: float, whole: Save = _WAITED_FOR, answers: Sequence[Rollback] = ("lost", "all")
) -> list[Stretch]:
    """What is rehearsed; saves of chosen rows only if they take less than everything.

    A quarter of those follows short stretches, then two follow long ones, and one short ones again:
    as many files are of fewer rows and of more, and a machine that slows down meanwhile slows both.
    """
    chosen = min(max(math.ceil(_TIMES / portion), _FEWEST), _MOST) if portion < 1 else 0
    # Steps of each stretch, and where servers are lost in it.
    steps = [(_OF_WHOLE[number % len(_OF_WHOLE)], STRUCK) for number in range(_WHOLE)]
    steps += [
        (LONG[number % 2], STRUCK)
        if number * 4 // chosen in (1, 2)
        else (_SHORT_OF_CHOSEN[number % len(_SHORT_OF_CHOSEN)], SHORT)
        for number in range(chosen)
    ]
    found, end = [], 0
    for number, (quiet, with_failure) in enumerate(steps):
        turn, place = divmod(number, _KILLED)
        killed = place == _KILLED - 1
        end += with_failure if killed else quiet
        save = whole if number < _WHOLE else Save(portion=portion)
        found.append(Stretch(end, save, answers[turn % len(answers)] if killed else None))
    return found


def strikes(script: Sequence[Stretch]) -> list[Strike]:
    """When servers are killed in it."""
    found, again, appended, start = [], 0, 0, 0
    for each in script:
        if each.returns is not None:
            found.append(Strike(start + BEFORE + again, each.returns, appended))
            again += each.again
        appended += each.save.portion < 1
        start = each.end
    return found


def kinds(hits: Iterable[Hit]) -> list[int]:
    """How many servers fail at once, each number once; none where the trainer does alone."""
    return sorted({len(hit.servers) for hit in hits})


def struck(number: int, servers: int, hits: Iterable[Hit] = (ONE_SERVER,)) -> Hit:
    """Who is killed by a strike of that number: each kind of `hits`, then with the next server.

    Answers alternate, so two strikes follow each other that kill the same. A trainer that fails
    together with servers is left alone.
    """
    each = kinds(hits)
    first, kind = divmod(number // 2, len(each))
    at_once = range(first, first + min(each[kind], servers))
    return Hit(tuple(server % servers for server in at_once), () if each[kind] else (0,))


@dataclass(frozen=True, slots=True)
class Rehearsal(Plan):
    """Carries out a script; a step is a useful second.

    `own`: failures are answered by `recover`, and not as the script says.
    """

    script: Sequence[Stretch] = ()
    own: bool = False

    @property
    def steps(self) -> int:
        """Of the job: one more, since none is saved that has ended."""
        return self.script[-1].end + 1

    def start(self) -> "_Controller":
        """A controller that goes through the script."""
        return _Controller(self)


class _Controller:
    def __init__(self, plan: Rehearsal) -> None:
        self._plan, self._left = plan, list(plan.script)
        self._answers: list[Rollback] = [each.returns for each in strikes(plan.script)]
        self._failed: Loss | None = None

    def tell(self, event: Event) -> None:
        """Go on with the next stretch once the save of this one is there."""
        if isinstance(event, Saved):
            self._left.pop(0)
        elif isinstance(event, Failed):
            self._failed = event.loss

    def ask(self, now: Clock) -> Action:
        """Return what was lost, or train until the next save is due."""
        if self._failed is not None:
            lost, self._failed = self._failed, None
            if self._plan.own:
                return self._plan.recover(lost)
            # Where members were silent for too long, there are more failures than the script has.
            return Recover(self._answers.pop(0) if self._answers else "lost")
        due = self._left[0].end if self._left else math.inf
        return Train(due) if now.progress_s < due else self._left[0].save


def rehearsal(tracking: Tracking | None) -> Rehearsal:
    """The plan; without a tracker it leaves saves of chosen rows out."""
    portion = 1.0 if tracking is None else tracking.fraction
    if tracking is not None:
        tracking = tracking._replace(left=None)  # of other intervals; no tracker looks at it
    return Rehearsal(
        "partial",
        every(math.inf),
        Always(Recover("lost")),
        tracking=tracking,
        script=tuple(stretches(portion)),
    )


def lost(servers: int, trainers: int = 0) -> Loss:
    """The first of them are."""
    return Loss(frozenset(range(servers)), frozenset(range(trainers)))


def trains_beside(plan: Plan) -> bool:
    """Whether it has a rehearsal of its own: training goes on beside saves, copies or losses."""
    return not plan.schedules[0].save.blocking or plan.redundancy is not None


def rehearsal_of(plan: Plan) -> Rehearsal:
    """Of a plan that trains on beside saves or losses: with its own saves, copies and answers.

    It answers all failures of servers alike, else it couldn't be predicted.
    """
    schedule = plan.schedules[0]
    whole = Save() if schedule.save.blocking else schedule.save
    return Rehearsal(
        plan.recovery,
        every(math.inf, whole),
        plan.recover,
        tiers=plan.tiers,
        redundancy=plan.redundancy,
        script=tuple(stretches(1.0, whole, [plan.recover(lost(1)).rollback])),
        own=True,
    )
