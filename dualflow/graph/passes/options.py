"""The settings of one compilation, passed to every pass."""

from __future__ import annotations

from dualflow._util.named_tuple import NamedTuple

FOLD_LIMIT = 65536


class Options(NamedTuple):
    """Settings of one compilation.

    Attributes
    ----------
    passes : bool
        False: only the passes that lowering requires run.
    fast_math : bool
        Whether rewrites may change the last bits of a result.
    fold_limit : int
        Largest number of elements of a constant that `fold` computes.
    check : bool
        Whether `ir.check` runs after every pass.
    check_numerics : bool
        Whether the program stops at the first op that produces a NaN or an infinity.
    jit : bool
        Whether clusters are compiled to machine code in the background.
    portable : bool
        Whether the program must run at other SIMD levels, too: then only arrays whose packed size
        is the same at every level are packed.
    lent_bytes : int
        Smallest argument, in bytes, that a run may free after its last reader, and smallest result
        that it may allocate at its first writer (csrc/exec/program.h); 0: none.
    """

    passes: bool = True
    fast_math: bool = False
    fold_limit: int = FOLD_LIMIT
    check: bool = False
    check_numerics: bool = False
    jit: bool = False
    portable: bool = False
    donation_min_bytes: int = 0
