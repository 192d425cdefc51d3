"""What the passes are asked to do."""

from dataclasses import dataclass

FOLD_LIMIT = 65536


@dataclass(frozen=True)
class Options:
    """Settings of one compilation.

    Attributes
    ----------
    passes : bool
        False: the graph is lowered as it was traced.
    fast_math : bool
        Whether rewrites may change the last bits of a result.
    fold_limit : int
        Constants with more elements are not computed ahead.
    check : bool
        Whether the rules of the IR are checked after every pass.
    check_numerics : bool
        Whether the program stops at the first op that produces a NaN or an infinity.
    jit : bool
        Whether clusters become compiled code, in the background.
    portable : bool
        Whether it is to run at other SIMD levels, too: no matrix is packed for this one.
    lent_bytes : int
        Arguments and results of at least so many bytes may be lent to a run (csrc/exec/program.h);
        0: none.
    """

    passes: bool = True
    fast_math: bool = False
    fold_limit: int = FOLD_LIMIT
    check: bool = False
    check_numerics: bool = False
    jit: bool = False
    portable: bool = False
    lent_bytes: int = 0
