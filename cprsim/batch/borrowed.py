"""Rows of the machine as NumPy records, and the types by which compiled functions pass them.

Rows, numbers and lists are passed as addresses.

Numba's arrays count references and pass ten numbers each, and a record's type is as long as its
columns, which type inference compares at every step. Two dozen of them take most of the time of a
run, and minutes to compile. A borrowed value must not outlive the array that it points into.
"""

import operator
from functools import cache
from typing import Any

import numpy as np
from numba import from_dtype
from numba.core import cgutils, types
from numba.core.types.containers import BaseTuple
from numba.core.typing import templates
from numba.core.typing.templates import infer_getattr, infer_global, signature
from numba.extending import intrinsic, lower_builtin, lower_getattr_generic, models, register_model
from numpy.typing import NDArray

from cprsim.machine import draws_row, plan_rows, run_rows
from cprsim.machine.rows import Row
from cprsim.sim.tables import Tables


@cache
def dtype(kind: Any) -> np.dtype[Any]:
    """Return the record type of a kind of row: its columns, in order."""
    columns = kind.columns()
    assert not columns.keys() & set(dir(np.record))  # names that NumPy's records use
    types = [(name, np.asarray(zero).dtype, np.shape(zero)) for name, zero in columns.items()]
    return np.dtype(types, align=True)


def records(kind: Any, count: int) -> Any:
    """Return `count` new records."""
    return np.full(count, np.array(tuple(kind.columns().values()), dtype(kind))).view(np.recarray)


def arrays(tables: Tables) -> tuple[NDArray[Any], ...]:
    """Return the tables of plans in the order in which `play` takes them."""
    kinds: Any = tables.of_rows
    values = ((kind, [row.numbers() for row in rows]) for kind, rows in kinds)
    rows = (np.array(each, dtype(kind)).view(np.recarray) for kind, each in values)
    return *rows, np.array(tables.whole, np.int64), np.array(tables.real)


class RowRecord(types.Record):
    """A row: a record whose name is short, since type inference compares names at every step."""

    def __init__(self, kind: Any) -> None:
        own: Any = from_dtype(dtype(kind))
        fields = [(name, field._asdict()) for name, field in own.fields.items()]
        super().__init__(fields, own.size, own.aligned)
        self.name = f"Row({kind.__name__})"


_ROWS = {
    from_dtype(dtype(kind)): RowRecord(kind)
    for module in (draws_row, plan_rows, run_rows)
    for kind in vars(module).values()
    if getattr(kind, "__base__", None) is Row
}


class Borrowed(types.Type):
    """Consecutive rows or numbers of one type, or lists of numbers of equal length (`width`)."""

    def __init__(self, of: Any) -> None:
        self.of = of
        super().__init__(name=f"Borrowed({of})")


class BorrowedBundle(types.Type):
    """The address of a named tuple."""

    def __init__(self, bundle: Any) -> None:
        self.bundle = bundle
        super().__init__(name=f"BorrowedBundle({bundle.instance_class.__name__})")


register_model(RowRecord)(models.RecordModel)


@register_model(BorrowedBundle)
class _BundleModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, cgutils.voidptr_t)


@register_model(Borrowed)
class _BorrowedModel(models.StructModel):
    def __init__(self, manager: Any, kind: Borrowed) -> None:
        members = [("data", types.voidptr), ("count", types.intp)]
        if isinstance(kind.of, Borrowed):
            members.append(("width", types.intp))
        super().__init__(manager, kind, members)


@intrinsic
def borrow(_typing: Any, arrays: Any) -> Any:
    """Borrow each of a tuple of arrays, of one or two dimensions."""
    made: Any = BaseTuple.from_types([_lent(array) for array in arrays])

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        found = []
        values = cgutils.unpack_tuple(builder, arguments[0])
        for array, own, value in zip(arrays, made, values, strict=True):
            given = context.make_array(array)(context, builder, value)
            lent = cgutils.create_struct_proxy(own)(context, builder)
            lent.data = builder.bitcast(given.data, cgutils.voidptr_t)
            lent.count, *width = cgutils.unpack_tuple(builder, given.shape)
            if width:
                (lent.width,) = width
            found.append(lent._getvalue())
        return context.make_tuple(builder, made, found)

    return made(arrays), build


def _lent(array: Any) -> Any:
    of = _ROWS.get(array.dtype, array.dtype)
    return Borrowed(of if array.ndim == 1 else Borrowed(of))


def _place(context: Any, builder: Any, of: Any, data: Any, index: Any) -> Any:
    """Return the address of an element."""
    first = builder.bitcast(data, context.get_data_type(of).as_pointer())
    return builder.gep(first, [index])


@intrinsic
def together(_typing: Any, bundle: Any) -> Any:
    """Return the address of a named tuple of rows and borrowed values."""

    def build(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        place = cgutils.alloca_once(builder, context.get_value_type(bundle))
        builder.store(arguments[0], place)
        return builder.bitcast(place, cgutils.voidptr_t)

    return BorrowedBundle(bundle)(bundle), build


@intrinsic
def part(_typing: Any, numbers: Any, first: Any, count: Any) -> Any:
    """Return `count` elements from place `first` on."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = cgutils.create_struct_proxy(numbers)(context, builder, arguments[0])
        found = cgutils.create_struct_proxy(numbers)(context, builder)
        place = _place(context, builder, numbers.of, given.data, arguments[1])
        found.data, found.count = builder.bitcast(place, cgutils.voidptr_t), arguments[2]
        return found._getvalue()

    return numbers(numbers, types.intp, types.intp), build


# --- job.run -------------------------------------------------------------------------------------


@infer_getattr
class _Member(templates.AttributeTemplate):
    key = BorrowedBundle

    def generic_resolve(self, kind: BorrowedBundle, name: str) -> Any:
        return kind.bundle.types[kind.bundle.fields.index(name)]


@lower_getattr_generic(BorrowedBundle)
def _member(context: Any, builder: Any, kind: BorrowedBundle, value: Any, name: str) -> Any:
    place = builder.bitcast(value, context.get_value_type(kind.bundle).as_pointer())
    member = kind.bundle.fields.index(name)
    return builder.load(cgutils.gep_inbounds(builder, place, 0, member))


# --- rows[index], rows[index] = value, len(rows) --------------------------------------------------


@infer_global(operator.getitem)
class _Getting(templates.AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        elements, index = arguments
        if not isinstance(index, types.Integer) or not isinstance(elements, Borrowed):
            return None
        # One type for all integers, or many functions are compiled twice.
        whole = isinstance(elements.of, types.Integer)
        return signature(types.intp if whole else elements.of, elements, types.intp)


@infer_global(operator.setitem)
class _Setting(templates.AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        elements, index, _ = arguments
        if isinstance(elements, Borrowed) and isinstance(index, types.Integer):
            return signature(types.void, elements, types.intp, elements.of)
        return None


@infer_global(len)
class _Counting(templates.AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        (elements,) = arguments
        if isinstance(elements, Borrowed):
            return signature(types.intp, elements)
        return None


@lower_builtin(operator.getitem, Borrowed, types.Integer)
def _element(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    elements = called.args[0]
    given = cgutils.create_struct_proxy(elements)(context, builder, arguments[0])
    if isinstance(elements.of, Borrowed):
        found = cgutils.create_struct_proxy(elements.of)(context, builder)
        first = builder.mul(arguments[1], given.width)
        place = _place(context, builder, elements.of.of, given.data, first)
        found.data, found.count = builder.bitcast(place, cgutils.voidptr_t), given.width
        return found._getvalue()
    place = _place(context, builder, elements.of, given.data, arguments[1])
    element = context.unpack_value(builder, elements.of, place)
    return context.cast(builder, element, elements.of, called.return_type)


@lower_builtin(operator.setitem, Borrowed, types.Integer, types.Any)
def _put(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    elements = called.args[0]
    given = cgutils.create_struct_proxy(elements)(context, builder, arguments[0])
    place = _place(context, builder, elements.of, given.data, arguments[1])
    if isinstance(elements.of, RowRecord):
        size = context.get_constant(types.intp, elements.of.size)
        cgutils.raw_memcpy(builder, place, arguments[2], size, 1)
    else:
        context.pack_value(builder, elements.of, arguments[2], place)
    return context.get_dummy_value()


@lower_builtin(len, Borrowed)
def _length(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    return cgutils.create_struct_proxy(called.args[0])(context, builder, arguments[0]).count
