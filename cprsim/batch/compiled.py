"""The machine, compiled by Numba.

`cprsim.machine` is plain Python. Each of its functions is copied here, with a twin of its module
for its globals, in which the functions that it calls are compiled as well, at their first call. In
a twin integers are NumPy's: Numba would compile a function again for each Python integer constant.

Numba optimises each function that it compiles, together with all that it calls, and makes machine
code of it. For two hundred functions that call each other this took a minute, mostly for code that
never runs by itself. Inner functions are lowered only, and optimised once, with the entry point.
"""

from collections import namedtuple
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from llvmlite.binding import Linkage
from numba.core import typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, Flags, compile_extra
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from numba.core.types.containers import StarArgTuple
from numba.core.types.misc import Omitted, unliteral
from numba.core.typing.templates import fold_arguments
from numba.core.utils import pysignature
from numba.extending import models, register_model, typeof_impl

from cprsim.batch import readiness
from cprsim.batch.borrowed import borrow, part, together
from cprsim.machine import rows
from cprsim.machine.codes import NONE
from cprsim.machine.rows import Running
from cprsim.sim.outside import Outside, OwnController

# --- How functions are compiled ------------------------------------------------------------------


class InnerLibrary(JITCodeLibrary):
    """The lowered code of inner functions."""

    def add_linking_library(self, library: Any) -> None:
        """Add the code that they call, but not themselves."""
        if library is not self:
            super().add_linking_library(library)

    def finalize(self) -> None:
        """Do nothing: inner functions are not optimised by themselves."""

    def _optimize_functions(self, _module: Any) -> None:
        """Do nothing, likewise."""

    def _get_module_for_linking(self) -> Any:
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        module = self._final_module.clone()
        for function in module.functions:
            if not function.is_declaration:
                function.linkage = "linkonce_odr"  # dropped where all calls were inlined
        return module


class EntryLibrary(JITCodeLibrary):
    """The code of an entry point, with that of the inner functions that it calls."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage is Linkage.linkonce_odr:
                function.linkage = Linkage.internal  # LLVM inlines what is called from one place
        super()._optimize_final_module()


class EntryCompiler(Compiler):
    """Numba's compiler, for an entry point."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Return the compiled function."""
        self.state.library = EntryLibrary(self.state.targetctx.codegen(), function.__name__)
        self.state.library.enable_object_caching()  # as Numba does where it makes the library
        return super().compile_extra(function)


class _Plainly(CompilerBase):
    """The passes of Numba's that plain functions need."""

    def define_pipelines(self) -> list[PassManager]:
        """Return the only pipeline."""
        manager = PassManager("plainly")
        for each in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference,
            typed_passes.PreLowerStripPhis,
            typed_passes.IRLegalization,
            typed_passes.AnnotateTypes,
            typed_passes.NativeLowering,
            typed_passes.NoPythonBackend,
        ):
            manager.add_pass(each, each.__name__)
        manager.finalize()
        return [manager]


class Inner:
    """A function that is compiled with its callers, once for each set of argument types."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.takes = function, pysignature(function)
        self._made: dict[Any, Any] = {}

    def called(self, arguments: Any, keywords: Any) -> Any:
        """Return the signature of a call, after lowering the function for it if need be."""
        given = fold_arguments(
            self.takes,
            arguments,
            keywords,
            lambda _place, _name, kind: unliteral(kind),
            lambda _place, _name, value: Omitted(value),
            lambda _place, _name, kinds: StarArgTuple([unliteral(kind) for kind in kinds]),
        )
        if given not in self._made:
            self._made[given] = self._compiled(given)
        return self._made[given]

    def _compiled(self, given: Any) -> Any:
        flags = Flags()
        flags.nrt = flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        flags.error_model = "numpy"
        typing, target = cpu_target.typing_context, cpu_target.target_context
        found = compile_extra(
            typing, target, self.function, given, None, flags, {}, _LIBRARY, _Plainly
        )
        target.insert_user_function((self, given), found.fndesc, [_LIBRARY])
        return found.signature.replace(pysig=self.takes)


class _InnerType(types.Callable, types.Dummy):
    """The type of an inner function."""

    def __init__(self, inner: Inner) -> None:
        self._inner = inner
        super().__init__(f"Inner({inner.function.__module__}.{inner.function.__qualname__})")

    def get_call_type(self, _context: Any, arguments: Any, keywords: Any) -> Any:
        """Return the signature of a call."""
        return self._inner.called(arguments, keywords)

    def get_call_signatures(self) -> Any:
        """Return no signatures: they depend on the call."""
        return [], True

    def get_impl_key(self, signature: Any) -> Any:
        """Return the key of the compiled function."""
        return self._inner, tuple(signature.args)


register_model(_InnerType)(models.OpaqueModel)


@typeof_impl.register(Inner)
def _type_of(inner: Inner, _context: Any) -> _InnerType:
    return _InnerType(inner)


_LIBRARY = InnerLibrary(cpu_target.target_context.codegen(), "machine")


# --- What is compiled ----------------------------------------------------------------------------


def kept(function: Callable[..., Any]) -> Any:
    """Return the function compiled, and cached on disk with all that it calls.

    Numba's cache notices only a change of the function itself. So its closure must hold a digest of
    all sources that are compiled. Where no folder is writable, nothing is cached.
    """
    made = partial(
        numba.njit,
        pipeline_class=EntryCompiler,
        nogil=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
    )
    try:
        return made(cache=True)(function)
    except RuntimeError:  # "no locator available"
        return made()(function)


def _twins(names: Iterable[str], replaced: dict[Any, Any]) -> dict[str, ModuleType]:
    """Return twins of modules by name; `replaced` has substitutes for some of their functions."""
    modules = {name: import_module(name) for name in names}
    twins = {name: ModuleType(name) for name in modules}
    made = dict(replaced)
    for module in modules.values():
        for function in vars(module).values():
            if isinstance(function, FunctionType) and function not in made:
                made[function] = _in_twin(function, twins)
    for name, module in modules.items():
        for key, value in vars(module).items():
            vars(twins[name])[key] = _of_twin(value, made, twins, modules)
    return twins


def _in_twin(function: FunctionType, twins: dict[str, ModuleType]) -> Any:
    name = function.__module__
    if name not in twins:
        return function
    twin = FunctionType(function.__code__, vars(twins[name]), function.__name__)
    twin.__module__, twin.__qualname__ = name, function.__qualname__
    return Inner(twin)


def _of_twin(
    value: Any, made: dict[Any, Any], twins: dict[str, ModuleType], modules: dict[str, ModuleType]
) -> Any:
    if isinstance(value, FunctionType):
        return made.get(value, value)
    if isinstance(value, ModuleType):
        return twins[value.__name__] if value.__name__ in modules else value
    if isinstance(value, bool):
        return np.bool_(value)
    return np.int64(value) if isinstance(value, int) else value


def _put(rows: Any, place: int, row: Any) -> None:
    rows[place] = row


def _close_up(rows: Any, place: int, count: int) -> None:
    for later in range(place, count - 1):
        rows[later] = rows[later + 1]


def _nothing(*_told: Any) -> None:
    pass


def _no_number(*_asked: Any) -> Any:
    return np.int64(NONE)


def _no(*_asked: Any) -> bool:
    return False


def _no_outside() -> Any:
    """Return methods without effect: no observer, controller or other job."""
    names = [name for each in (Outside, OwnController) for name in vars(each) if name[0] != "_"]
    nothing, no_number = Inner(_nothing), Inner(_no_number)
    answers = {"answer": no_number, "by_rule": no_number, "must_wait": Inner(_no)}
    methods = {name: answers.get(name, nothing) for name in names}
    return namedtuple("NoOutside", methods)(**methods)


_NO_OUTSIDE = _no_outside()
_OF_RECORDS = {rows.part: part, rows.put: Inner(_put), rows.close_up: Inner(_close_up)}
_machine = _twins(readiness.COMPILED, _OF_RECORDS)
_step, _ledger = (_machine[f"cprsim.machine.{name}"] for name in ("step", "ledger"))
_start, _happen, _is_under_way = _step.start, _step.happen, _step.is_under_way
_write = _ledger.write


def _entry(sources: str) -> Any:
    @kept
    def play_runs(
        runs: Any, tables: Any, drawn: Any, room: Any, ledgers: Any, statuses: Any
    ) -> None:
        """Play runs; write the ledger and the status of each.

        `runs`: for each run the numbers of its plan, of its random numbers, and of its ledger.
        """
        assert sources
        plans, draws, own = borrow(tables), borrow(drawn), borrow(room)
        (all_ledgers,) = borrow((ledgers,))
        for place in range(len(runs)):
            number = runs[place, 2]
            # The fields of `Running`, in order: of all plans and draws, those of this run.
            of_plan = (plans[0][runs[place, 0]], *plans[1:])
            of_draws = (draws[0][runs[place, 1]], *draws[1:])
            fields: Any = (*of_plan, *of_draws, own[0][0], *own, _NO_OUTSIDE)
            job = together(Running(*fields))
            _start(job)
            while _is_under_way(job):
                _happen(job)
            _write(job, all_ledgers[number])
            statuses[number] = job.run.status

    return play_runs


play_runs = _entry(readiness.sources())
