"""Functions of the machine that are compiled within their caller.

Numba optimises each function that it compiles, together with all that it calls, and makes machine
code of it. For two hundred functions that call each other this took a minute, mostly for code that
never runs by itself. Inner functions are lowered only, and optimised once, with the entry point.
"""

from collections.abc import Callable
from typing import Any

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
