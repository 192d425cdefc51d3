"""Maps the steps of a cluster to vector formulas of csrc, which the records of ops name."""

from __future__ import annotations

from typing import NamedTuple

from dualflow._core import Op
from dualflow.dtypes import ALL, DType

HEADER = "ops/formulas.h"       # included first by generated code
ROW_CHUNK = 16384               # elements: the library reduces longer rows in chunks

# Suffixes of names in C by dtype: of vector functions, and of casts.
CAST_TAGS = {d.name: "boolean" if d.is_bool else d.short_name.lower() for d in ALL}
TAGS = {d.name: "u8" if d.is_bool else "u16" if d.is_reduced_float else d.short_name.lower()
        for d in ALL}
REDUCED_FLOATS = frozenset([d.name for d in ALL if d.is_reduced_float])


class Formula(NamedTuple):
    """A formula on vectors.

    Attributes
    ----------
    name : str
        The name in C, without the suffix of the dtype.
    tag : str
        The suffix of the dtype.
    form : str
        Its operands and result: "vector", "mask" or "choice" (see df_form in csrc/op/op.h).
    with_attribute : bool
        Whether attribute 0 is the last operand.
    wide : bool
        Whether 16-bit floats are widened to float32 for it.
    """

    name: str
    tag: str
    form: str
    with_attribute: bool
    wide: bool


class Reduction(NamedTuple):
    """The reduction of rows of floats by an op.

    Attributes
    ----------
    name : str
        The reducer in C: <name>_identity, <name>_map and <name>_combine, without the suffix of the
        dtype.
    tag : str
        The suffix of the dtype in which it is computed.
    finish : str
        The function applied to the result of a row at the end, or "".
    wide : bool
        Whether 16-bit floats are widened for it.
    """

    name: str
    tag: str
    finish: str
    wide: bool


def formula_of(op: Op, key: DType, words: tuple[int, ...]) -> Formula | None:
    """Return the formula of an elementwise op for the dtype of its key operand, or None if the
    library's tile function is to be called."""
    if op.formula is None or key.is_complex or key.name not in op.dtypes:
        return None
    form, name, if_true, of_bools, _ = op.formula
    if key.is_bool and of_bools:
        name = of_bools
    elif if_true and words[0]:
        name = if_true
    half = key.name in REDUCED_FLOATS
    if form == "choice" and half:
        return Formula(name, "i16", form, False, False)
    with_attribute = op.attr_types[:1] == ("float",)
    return Formula(name, "f32" if half else TAGS[key.name], form, with_attribute, half)


def reduction_of(op: Op, dtype: DType, row_length: int) -> Reduction | None:
    """Return an op's reduction of rows, or None if the library's function is to be called."""
    if op.formula is None or not dtype.is_floating or row_length > ROW_CHUNK:
        return None
    _, name, _, _, finish = op.formula
    wide = dtype.name in REDUCED_FLOATS
    return Reduction(name, "f32" if wide else TAGS[dtype.name], finish, wide)
