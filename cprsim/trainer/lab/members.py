"""The processes of the lab: servers with a shard each, and a trainer, all of them with hooks.

A process has a pipe to the coordinator, over which it gets commands and agrees with the others, and
a link between the trainer and each server, for rows and their updates. A message is a tuple that
begins with its kind.
"""

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from cprsim.errors import CprsimError
from cprsim.runs.workers import end_with_parent
from cprsim.scenario import Scenario
from cprsim.trainer.data.contract import Batch, Data
from cprsim.trainer.hooks.adapter import TablePart
from cprsim.trainer.hooks.hooks import TrainerHooks
from cprsim.trainer.hooks.observer import HooksObserver, HooksWarning, StoredSave
from cprsim.trainer.lab.model import Dlrm, Placement, Shard, Uses
from cprsim.trainer.section import TrainerSection
from cprsim.trainer.store.files import Arrays

#: A kind, and what there is to say.
Message: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class ModelSpec:
    """The model, the same at its start in every process."""

    data: Data
    section: TrainerSection
    servers: int
    seed: int

    @cached_property
    def placement(self) -> Placement:
        """The placement of rows on servers."""
        return Placement.of(self.data, self.servers)

    def shard(self, server: int) -> Shard:
        """The rows of a server at the start of the job."""
        rows, dim = self.placement.rows_of(server), self.data.tables[0].dim
        seed = member_seed(self.seed, server)
        return Shard(rows, dim, seed, self.section.learning_rate)

    def model(self) -> Dlrm:
        """The dense part at the start of the job."""
        seed = member_seed(self.seed, self.servers)
        dense, tables = self.data.dense, self.data.tables
        widths = dense, len(tables), tables[0].dim, self.section.hidden
        return Dlrm(*widths, seed, self.section.learning_rate)


@dataclass(frozen=True)
class MemberSpec(ModelSpec):
    """The arguments of all processes, the same each time one is started.

    `folder`: of the whole job's checkpoints.
    """

    scenario: Scenario
    policy: str
    folder: Path

    @property
    def pinned(self) -> bool:
        """True if failures strike between steps, and a save in the background ends before one."""
        return self.section.failures == "at-step"


def member_seed(seed: int, member: int) -> int:
    """A seed for torch, of one process: a server by its number, and behind these the trainer."""
    return int(np.random.SeedSequence((seed, member)).generate_state(1)[0])


class MemberLostError(Exception):
    """Another process is lost: leave whatever was begun; the coordinator says how to go on."""


class PipeRanks:
    """`cprsim.trainer.hooks.ranks.Ranks` whose processes agree over the pipe to the coordinator.

    `command`: what the coordinator has said in the middle of something; that is to be left for it.
    `epoch`: counted up with each recovery: a question of an earlier one gets no answer.
    """

    def __init__(self, control: Connection) -> None:
        self._control = control
        self.command: Message | None = None
        self.epoch = 0

    def least(self, number: int) -> int:
        """The least of the numbers that all give."""
        return int(self._agreed("least", number))

    def total(self, number: float) -> float:
        """The sum of the numbers that all give."""
        return float(self._agreed("total", number))

    def copied(self, content: Arrays | None) -> Arrays | None:
        """Return the content of the first that has it."""
        found: Arrays | None = self._agreed("copied", content)
        return found

    def _agreed(self, what: str, mine: Any) -> Any:
        if self.command is None:
            self._control.send((what, self.epoch, mine))
            answer = self._control.recv()
            if answer[0] == "agreed":
                return answer[1]
            self.command = answer
        raise MemberLostError


class _Told(HooksObserver):
    """Reports to the coordinator how many rows saves have, and of a disk that fails."""

    def __init__(self, control: Connection) -> None:
        self._control = control

    def saved(self, save: StoredSave) -> None:
        """A save is stored."""
        if save.rows is not None:
            self._control.send(("saved", save.rows))

    def save_failed(self, step: int, error: Exception) -> None:  # noqa: ARG002
        """A save came to nothing: not its fault if another process is lost."""
        if isinstance(error, OSError):
            self._control.send(("failed", _said(error)))


class Updates(NamedTuple):
    """The updates of a server in a step: distinct rows, how often each was used, and the gradients.

    `ids` and `times` have shape (rows,), `gradients` (rows, dim).
    """

    ids: Tensor
    times: Tensor
    gradients: Tensor


class Member:
    """A process with hooks, which are made again until it has begun or replaces a lost one."""

    def __init__(self, spec: MemberSpec, control: Connection, number: int) -> None:
        self.spec, self.control = spec, control
        #: Among the processes; its folder is called by it, and its draws are made with it.
        self.number = number
        self.ranks = PipeRanks(control)
        self.links: list[Connection] = []
        self._hooks: TrainerHooks[Any] | None = None

    # --- What hooks ask for ---

    def shards(self) -> Mapping[int, Sequence[TablePart]]:
        """The parts of tables that are here."""
        return {}

    def dense(self) -> Mapping[str, Any]:
        """All else: the MLPs of the trainer, and how many steps are in them; a server has none."""
        return {"model": self}

    def state_dict(self) -> Mapping[str, Any]:
        """The state of all else."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take it over."""

    def lookups(self, batch: Any) -> Mapping[int, Tensor]:  # noqa: ARG002
        """The rows of this process that a batch has looked up."""
        return {}

    # --- Steps and recoveries ---

    @property
    def hooks(self) -> TrainerHooks[Any]:
        """The hooks of a process that has begun."""
        assert self._hooks is not None
        return self._hooks

    def after_step(self, batch: Any) -> None:
        """A step is done; pinned to steps, a save in the background is stored before the next."""
        self.hooks.after_step(batch)
        if self.spec.pinned:
            self.hooks.settle()

    def resume(self, epoch: int, lost: Sequence[int] | None, dense: bool, links: int) -> None:
        """Go on after a failure, or begin where `lost` is None; then report to the coordinator."""
        self.ranks.command = None
        self.ranks.epoch = epoch
        for each in self.links:
            each.close()
        self.links = [Connection(recv_handle(self.control)) for _ in range(links)]
        hooks = self._hooks if lost is not None else None
        if hooks is None:
            spec = self.spec
            hooks = TrainerHooks(
                spec.scenario,
                spec.policy,
                self,
                spec.folder / f"process-{self.number}",
                spec.data.steps,
                self.ranks,
                member_seed(spec.seed, self.number),
                observers=[_Told(self.control)],
            )
        step = hooks.restore() if lost is None else hooks.on_failure(lost, dense)
        self._hooks = hooks
        self.control.send(("resumed", epoch, step, hooks.whole_step))


class Server(Member):
    """A server: its rows, how often each was updated, and the link to the trainer."""

    def __init__(self, spec: MemberSpec, control: Connection, number: int) -> None:
        super().__init__(spec, control, number)
        self._shard = spec.shard(number)
        #: Saved and loaded with the rows, so they count the updates that rows have not lost.
        self._updates = torch.zeros(len(self._shard), dtype=torch.int32)
        #: Of each table the rows that are here, and how many are on servers before.
        self._parts = {
            table: (rows, spec.placement.before(table, number))
            for table in range(len(spec.placement.rows))
            if (rows := spec.placement.range_of(table, number))
        }

    def shards(self) -> Mapping[int, Sequence[TablePart]]:
        """One, with the part of each table that is here.

        Rows of a table are numbered server by server, since each has every n-th of them.
        """
        found = []
        for table, (rows, first) in self._parts.items():
            here = slice(rows.start, rows.stop)
            state = self._shard.squares[here], self._updates[here]
            found.append(TablePart(table, self._shard.weights[here], state, first))
        return {self.number: found}

    def lookups(self, batch: Updates) -> Mapping[int, Tensor]:
        """By table, each row as often as it was used."""
        ids, found = batch.ids.repeat_interleave(batch.times), {}
        for table, (rows, before) in self._parts.items():
            first, end = torch.searchsorted(ids, torch.tensor([rows.start, rows.stop])).tolist()
            found[table] = ids[first:end] + (before - rows.start)
        return found

    def serve(self) -> None:
        """Answer the trainer and obey the coordinator until that is gone."""
        while True:
            command = self.ranks.command
            if command is None and self.control not in wait([self.control, *self.links]):
                self._answer()
            else:
                self._obey(command or self.control.recv())

    def _obey(self, command: Message) -> None:
        self.ranks.command = command
        while self.links and self.links[0].poll():  # what the trainer did before
            self._answer()
        self.ranks.command = None
        kind, *facts = command
        if kind == "resume":
            with contextlib.suppress(MemberLostError):
                self.resume(*facts)
        else:
            self.control.send(("counted", int(self._updates.sum())))

    def _answer(self) -> None:
        (link,) = self.links
        try:
            kind, *arrays = link.recv()
            if kind == "lookup":
                link.send(self._shard.lookup(torch.from_numpy(arrays[0])).numpy())
                return
        except (EOFError, OSError):  # the trainer is gone
            link.close()
            self.links = []
            return
        batch = Updates(*map(torch.from_numpy, arrays))
        self._shard.update(batch.ids, batch.gradients)
        self._updates.index_add_(0, batch.ids, batch.times)
        with contextlib.suppress(MemberLostError):
            self.after_step(batch)


class Trainer(Member):
    """The trainer: the dense part, and links to the servers."""

    def __init__(self, spec: MemberSpec, control: Connection, number: int) -> None:
        super().__init__(spec, control, number)
        self._model = spec.model()
        self._steps = 0  # in the MLPs: those that were lost for good are not among them

    def state_dict(self) -> Mapping[str, Any]:
        """Weights, optimiser state, and steps."""
        of = self._model
        return {"weights": of.weights, "squares": of.squares, "steps": self._steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take them over."""
        self._model.weights.copy_(state["weights"])
        self._model.squares.copy_(state["squares"])
        self._steps = state["steps"]

    def serve(self) -> None:
        """Obey the coordinator until that is gone."""
        while True:
            kind, *facts = self.ranks.command or self.control.recv()
            self.ranks.command = None
            with contextlib.suppress(MemberLostError):
                if kind == "resume":
                    self.resume(*facts)
                elif kind == "train":
                    self._train(*facts)
                elif kind == "predict":
                    self._predict(*facts)
                else:
                    self.control.send(("counted", self._steps))

    def _train(self, first: int, end: int) -> None:
        made = self._make(first)
        for step in range(first, end):
            self._step(*made)
            self.control.send(("stepped", step + 1))
            if step + 1 < end:  # while servers update rows
                made = self._make(step + 1)
            before = dict(self.hooks.summary.seconds)
            self.after_step(None)
            after = self.hooks.summary.seconds
            spent = {cause: after[cause] - before[cause] for cause in ("save", "stall")}
            if any(spent.values()):
                self.control.send(("spent", max(spent, key=lambda cause: spent[cause])))
        self.control.send(("trained",))

    def _make(self, step: int) -> tuple[Batch, Uses]:
        batch = self.spec.data.batch(step)
        return batch, Uses(self.spec.placement, batch.sparse)

    def _step(self, batch: Batch, uses: Uses) -> None:
        gradients = self._model.learn(batch, uses, self._look_up(uses)).numpy()
        self._steps += 1
        for link, part in zip(self.links, uses.parts, strict=True):
            # A server that does not take it is found out at the next lookup: the step is done.
            with contextlib.suppress(OSError):
                link.send(("update", uses.ids[part], uses.times[part], gradients[part]))

    def _look_up(self, uses: Uses) -> Tensor:
        """Return the distinct rows, shape (rows, dim); raises `MemberLostError`."""
        found = torch.zeros((len(uses.ids), self.spec.data.tables[0].dim))
        for server, (link, part) in enumerate(zip(self.links, uses.parts, strict=True)):
            try:
                link.send(("lookup", uses.ids[part]))
            except OSError:
                self._leave(server)
        for server, (link, part) in enumerate(zip(self.links, uses.parts, strict=True)):
            ready = wait([self.control, link], self.spec.section.answer_s)
            if self.control in ready or not ready:
                self._leave(server)
            try:
                found[part] = torch.from_numpy(link.recv())
            except (EOFError, OSError):
                self._leave(server)
        return found

    def _leave(self, silent: int) -> None:
        """Leave what was begun; that server has not answered, unless another is lost."""
        if not self.control.poll():
            self.control.send(("silent", self.ranks.epoch, silent))
        self.ranks.command = self.control.recv()
        raise MemberLostError

    def _predict(self, first: int, end: int) -> None:
        """Predict the batches from one step to another: probabilities, and the labels."""
        predicted, labels = [], []
        for step in range(first, end):
            batch, uses = self._make(step)
            rows = uses.spread(self._look_up(uses)).view(*batch.sparse.shape, -1)
            predicted.append(self._model.predict(torch.from_numpy(batch.dense), rows).numpy())
            labels.append(batch.labels)
        self.control.send(("predicted", np.concatenate(predicted), np.concatenate(labels)))


def run_member(spec: MemberSpec, number: int, control: Connection) -> None:
    """Be the server of that number, or behind these the trainer, until the coordinator is gone."""
    end_with_parent()
    torch.set_num_threads(1)  # more would spin for cores that other processes use
    warnings.simplefilter("ignore", HooksWarning)  # of plans, and of what a kill has cut short
    with reported(control):
        is_server = number < spec.servers
        member = Server(spec, control, number) if is_server else Trainer(spec, control, number)
        control.send(("ready",))
        member.serve()


@contextlib.contextmanager
def reported(control: Connection) -> Iterator[None]:
    """Report errors of the member to the coordinator, and end."""
    try:
        yield
    except (EOFError, BrokenPipeError, ConnectionResetError):  # the coordinator is gone
        return
    except Exception as error:
        with contextlib.suppress(OSError):
            control.send(("failed", _said(error)))
        if not isinstance(error, OSError | CprsimError):  # a defect: where it is helps
            raise


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:  # a full disk, and which
        return f"{error.filename}: {error.strerror}"
    return str(error) if isinstance(error, CprsimError) else repr(error)
