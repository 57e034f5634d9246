"""The model of the protocol with arrays in plain Python, which PyPy compiles as it runs.

`pypy3 -m tests.plain --schedules N --seed S` tries the seeds of `interleavings` that have 4
servers and 3 copies, in a fraction of the time that CPython takes. PyPy needs NumPy, pydantic and
pytest for what is imported, and no PyTorch: of the code under test nothing is replaced but arrays
(`Numbers`), a batch's index (`PlainUses`), and how messages are copied on their way. A test says
that the schedules are the same, action by action.
"""

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from math import prod
from types import ModuleType, SimpleNamespace
from unittest import mock


class _NoTorch(ModuleType):
    """Names of PyTorch, for annotations and bases of classes."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__class_getitem__": classmethod(lambda cls, _: cls)})


def _import_no_torch():
    found = {name: _NoTorch(name) for name in ("torch", "torch.nn", "torch.nn.functional")}
    found["torch"].set_num_threads = lambda _: None
    found["torch"].no_grad = found["torch"].inference_mode = lambda: lambda function: function
    found["torch"].nn, found["torch.nn"].functional = (
        found["torch.nn"],
        found["torch.nn.functional"],
    )
    sys.modules.update(found)


if sys.implementation.name == "pypy":
    _import_no_torch()


class Numbers:
    """Numbers in C order; what the members of the model need of arrays and of tensors."""

    __slots__ = ("data", "shape")

    def __init__(self, data, shape=None):
        self.data = data
        self.shape = (len(data),) if shape is None else shape

    def __len__(self):
        return self.shape[0]

    @property
    def nbytes(self):
        return 4 * len(self.data)

    @property
    def _dim(self):
        """Of a row."""
        return prod(self.shape[1:])

    def numpy(self):
        return self

    def clone(self):
        return Numbers(self.data[:], self.shape)

    copy = clone

    def view(self, *shape):
        """The same numbers; -1, in the first place only, is as many as there are."""
        if shape[0] == -1:
            shape = (len(self.data) // prod(shape[1:]), *shape[1:])
        return Numbers(self.data, shape)

    reshape = view

    def tolist(self):
        if len(self.shape) == 1:
            return self.data[:]
        dim = self._dim
        return [self.data[at : at + dim] for at in range(0, len(self.data), dim)]

    def index_select(self, _axis, rows):
        dim, data = self._dim, self.data
        if dim == 1:
            found = [data[row] for row in rows.data]
        else:
            found = [each for row in rows.data for each in data[row * dim : (row + 1) * dim]]
        return Numbers(found, (len(rows), *self.shape[1:]))

    def __getitem__(self, key):
        if isinstance(key, Numbers):
            return self.index_select(0, key)
        if isinstance(key, slice):
            first, end = self._range(key)
            found = self.data[first:end]
            return Numbers(found, (len(found) // self._dim, *self.shape[1:]))
        if isinstance(key, tuple):  # the one column that there is
            assert key == (slice(None), 0)
            assert self._dim == 1
            return Numbers(self.data)
        return self.data[key]

    def __setitem__(self, key, given):
        if isinstance(key, int):
            self.data[key] = given
        elif not isinstance(key, Numbers):
            first, end = self._range(slice(None) if key is Ellipsis else key)
            assert len(given.data) == end - first
            self.data[first:end] = given.data
        elif given is True:
            for row in key.data:
                self.data[row] = given
        else:
            assert self._dim == 1
            for row, number in zip(key.data, given.data, strict=True):
                self.data[row] = number

    def _range(self, rows):
        dim = self._dim
        first, end, _ = rows.indices(len(self))
        return first * dim, max(first, end) * dim

    def __iadd__(self, number):
        self.data[:] = [each + number for each in self.data]
        return self

    def __radd__(self, number):
        return Numbers([number + each for each in self.data], self.shape)

    def __truediv__(self, number):
        return Numbers([each / number for each in self.data], self.shape)

    def __float__(self):
        (number,) = self.data
        return number


class PlainUses:
    """What `Uses` says of a batch."""

    def __init__(self, servers, room, numbers):
        places = sorted(
            ((number % servers) * room + number // servers, use)
            for use, number in enumerate(numbers)
        )
        rows = sorted({place for place, _ in places})
        self._uses = [[use for place, use in places if place == row] for row in rows]
        of_use = [0] * len(numbers)
        for row, uses in enumerate(self._uses):
            for use in uses:
                of_use[use] = row
        self._rows_of_uses = Numbers(of_use)
        ends = [sum(row < room * server for row in rows) for server in range(servers + 1)]
        self.parts = [slice(*each) for each in pairwise(ends)]
        self.ids = Numbers([row % room for row in rows])
        self.times = Numbers([len(each) for each in self._uses])

    def spread(self, rows):
        return rows.index_select(0, self._rows_of_uses)

    def collect(self, of_uses):
        sums = [sum(of_uses.data[use] for use in uses) for uses in self._uses]
        return Numbers(sums, (len(sums), 1))


@lru_cache
def _uses(servers, room, numbers):
    return PlainUses(servers, room, numbers)


def uses_of(placement, sparse):
    numbers = (sparse + placement.offsets).reshape(-1).tolist()
    return _uses(placement.servers, placement.rows_of(0), tuple(numbers))


def zeros(shape, dtype=float):
    shape = shape if isinstance(shape, tuple) else (shape,)
    return Numbers([dtype()] * prod(shape), shape)


@lru_cache
def _initial(rows, seed):
    drawn = random.Random(seed)
    return Numbers([drawn.uniform(-0.5, 0.5) for _ in range(rows)], (rows, 1))


def copied(part):
    """A part of a message on its way: nobody writes into what is no array."""
    return part.clone() if type(part) is Numbers else part


def _as_told(facts):
    """As JSON would bring it: keys are text, and tuples lists."""
    kind = type(facts)
    if kind is dict:
        return {str(key): _as_told(each) for key, each in facts.items()}
    return [_as_told(each) for each in facts] if kind in (list, tuple) else facts


class _Some(SimpleNamespace):
    """Some names of a module, and all others from itself."""

    def __getattr__(self, name):
        return getattr(self.module, name)


_NUMPY = {
    "frombuffer": lambda part, _kind: part,
    "zeros": zeros,
    "empty": lambda size, _kind: Numbers([0] * size),
    "flatnonzero": lambda marks: Numbers([at for at, each in enumerate(marks.data) if each]),
}
_EQUAL = {"array_equal": lambda one, other: (one.data, one.shape) == (other.data, other.shape)}
_TORCH = {"from_numpy": lambda numbers: numbers, "zeros": zeros, "tensor": Numbers}


def _replaced():
    """Of modules, by which name what stands in whose place."""
    modelled, world = (import_module(f"tests.trainer.{name}") for name in ("modelled", "world"))
    remote = import_module("cprsim.trainer.members.remote")
    names = ("checkpoint_writer", "copying", "dense_part", "remote", "server", "shard_state")
    members = [import_module(f"cprsim.trainer.members.{name}") for name in (*names, "trainer")]
    background = import_module("cprsim.trainer.coordinator.background")
    for module, name, some in (
        *((each, "np", _NUMPY) for each in (*members, background)),
        *((each, "torch", _TORCH) for each in (*members, modelled)),
        (modelled, "np", _EQUAL),
    ):
        if hasattr(module, name):
            yield module, name, _Some(module=getattr(module, name), **some)
    yield remote, "Uses", uses_of
    yield modelled, "_initial", _initial
    # Nothing has stripes, and to patch how many are sent at a time takes time.
    yield modelled, "mock", SimpleNamespace(patch=SimpleNamespace(object=lambda *_: nullcontext()))
    yield world, "copied", copied
    yield world, "_text", _as_told
    yield world, "_facts", lambda facts: facts


@contextmanager
def plain_numbers() -> Iterator[None]:
    """In here the model has no other arrays; parities are not for it."""
    expected = import_module("tests.trainer.modelled")._expected
    with ExitStack() as held:
        for each in _replaced():
            held.enter_context(mock.patch.object(*each))
        expected.cache_clear()  # what rows are to be is kept as arrays, too
        held.callback(expected.cache_clear)
        yield


if __name__ in ("__main__", "__mp_main__"):  # a worker imports it, too
    _held = plain_numbers()
    _held.__enter__()  # for as long as the process lives

if __name__ == "__main__":
    from tests.trainer.interleavings import main, of_three_copies

    main(which=of_three_copies)
