"""Arrays as the compiled engine passes them on: where they are and how long, and no more.

An array of Numba's counts who uses it, and has ten numbers to pass; two dozen of them at every call
take most of the time of a run, and minutes to compile. Whoever borrows one must not outlive it.
"""

import operator
from typing import Any

from numba.core import cgutils, types
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import (
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
)


class Borrowed(types.Type):
    """Elements of one type in a row: records, numbers, or rows of those."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Borrowed({dtype})")


class BorrowedRows(types.Type):
    """Rows of the same length, of one type of number."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"BorrowedRows({dtype})")


class ByAddress(types.Type):
    """A named tuple that is passed on by where it is."""

    def __init__(self, bundle: Any) -> None:
        self.bundle = bundle
        super().__init__(name=f"ByAddress({bundle})")


@register_model(ByAddress)
class _TogetherModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: ByAddress) -> None:
        super().__init__(manager, kind, cgutils.voidptr_t)


@register_model(Borrowed)
class _BorrowedModel(models.StructModel):
    def __init__(self, manager: Any, kind: Borrowed) -> None:
        super().__init__(manager, kind, [("data", types.voidptr), ("count", types.intp)])


@register_model(BorrowedRows)
class _BorrowedRowsModel(models.StructModel):
    def __init__(self, manager: Any, kind: BorrowedRows) -> None:
        members = [("data", types.voidptr), ("count", types.intp), ("width", types.intp)]
        super().__init__(manager, kind, members)


@intrinsic
def borrow(_typing: Any, array: Any) -> Any:
    """An array of one dimension, or of two."""
    made = (Borrowed if array.ndim == 1 else BorrowedRows)(array.dtype)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = context.make_array(array)(context, builder, arguments[0])
        found = cgutils.create_struct_proxy(made)(context, builder)
        found.data = builder.bitcast(given.data, cgutils.voidptr_t)
        shape = cgutils.unpack_tuple(builder, given.shape)
        found.count = shape[0]
        if array.ndim == 2:
            found.width = shape[1]
        return found._getvalue()

    return made(array), build


def _place(context: Any, builder: Any, dtype: Any, data: Any, index: Any) -> Any:
    """Pointer to an element."""
    size = context.get_abi_sizeof(context.get_data_type(dtype))
    offset = builder.mul(index, context.get_constant(types.intp, size))
    return builder.gep(data, [offset])


@intrinsic
def together(_typing: Any, bundle: Any) -> Any:
    """A named tuple of records and borrowed arrays."""

    def build(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        place = cgutils.alloca_once(builder, context.get_value_type(bundle))
        builder.store(arguments[0], place)
        return builder.bitcast(place, cgutils.voidptr_t)

    return ByAddress(bundle)(bundle), build


@infer_getattr
class _Member(AttributeTemplate):
    key = ByAddress

    def generic_resolve(self, kind: ByAddress, name: str) -> Any:
        return kind.bundle.types[kind.bundle.fields.index(name)]


@lower_getattr_generic(ByAddress)
def _member(context: Any, builder: Any, kind: ByAddress, value: Any, name: str) -> Any:
    place = builder.bitcast(value, context.get_value_type(kind.bundle).as_pointer())
    member = kind.bundle.fields.index(name)
    return builder.load(cgutils.gep_inbounds(builder, place, 0, member))


@intrinsic
def part(_typing: Any, rows: Any, first: Any, count: Any) -> Any:
    """So many elements from one on."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = cgutils.create_struct_proxy(rows)(context, builder, arguments[0])
        found = cgutils.create_struct_proxy(rows)(context, builder)
        found.data = _place(context, builder, rows.dtype, given.data, arguments[1])
        found.count = arguments[2]
        return found._getvalue()

    return rows(rows, types.intp, types.intp), build


# --- rows[index], rows[index] = value, len(rows) --------------------------------------------------


@infer_global(operator.getitem)
class _Getting(AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        rows, index = arguments
        if not isinstance(index, types.Integer):
            return None
        if isinstance(rows, BorrowedRows):
            return signature(Borrowed(rows.dtype), rows, types.intp)
        if not isinstance(rows, Borrowed):
            return None
        whole = isinstance(rows.dtype, types.Integer)  # all alike, or functions are compiled twice
        return signature(types.intp if whole else rows.dtype, rows, types.intp)


@infer_global(operator.setitem)
class _Setting(AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        rows, index, _ = arguments
        if isinstance(rows, Borrowed) and isinstance(index, types.Integer):
            return signature(types.void, rows, types.intp, rows.dtype)
        return None


@infer_global(len)
class _Counting(AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        (rows,) = arguments
        return signature(types.intp, rows) if isinstance(rows, Borrowed | BorrowedRows) else None


@lower_builtin(operator.getitem, Borrowed, types.Integer)
def _element(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    rows = called.args[0]
    given = cgutils.create_struct_proxy(rows)(context, builder, arguments[0])
    place = _place(context, builder, rows.dtype, given.data, arguments[1])
    if isinstance(rows.dtype, types.Record):
        return builder.bitcast(place, context.get_value_type(rows.dtype))
    data = builder.bitcast(place, context.get_data_type(rows.dtype).as_pointer())
    value = context.unpack_value(builder, rows.dtype, data)
    return context.cast(builder, value, rows.dtype, called.return_type)


@lower_builtin(operator.getitem, BorrowedRows, types.Integer)
def _row(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    rows = called.args[0]
    given = cgutils.create_struct_proxy(rows)(context, builder, arguments[0])
    found = cgutils.create_struct_proxy(Borrowed(rows.dtype))(context, builder)
    first = builder.mul(arguments[1], given.width)
    found.data = _place(context, builder, rows.dtype, given.data, first)
    found.count = given.width
    return found._getvalue()


@lower_builtin(operator.setitem, Borrowed, types.Integer, types.Any)
def _put(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    rows = called.args[0]
    given = cgutils.create_struct_proxy(rows)(context, builder, arguments[0])
    place = _place(context, builder, rows.dtype, given.data, arguments[1])
    if isinstance(rows.dtype, types.Record):
        source = builder.bitcast(arguments[2], cgutils.voidptr_t)
        size = context.get_constant(types.intp, rows.dtype.size)
        cgutils.raw_memcpy(builder, place, source, size, 1)
    else:
        data = builder.bitcast(place, context.get_data_type(rows.dtype).as_pointer())
        context.pack_value(builder, rows.dtype, arguments[2], data)
    return context.get_dummy_value()


@lower_builtin(len, Borrowed)
@lower_builtin(len, BorrowedRows)
def _length(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    return cgutils.create_struct_proxy(called.args[0])(context, builder, arguments[0]).count
