"""`dualflow.function`, with overloads that preserve the types of the decorated function."""

from __future__ import annotations

import functools

from dualflow._util.flags import Switches
from dualflow.graph.calls.function import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, ParamSpec, Protocol, TypeVar, overload

    P = ParamSpec("P")
    R = TypeVar("R")

    class Decorator(Protocol):
        """A decorator from a Python function to a Function."""

        def __call__(self, func: Callable[P, R], /) -> Function[P, R]: ...


if TYPE_CHECKING:
    @overload
    def function(func: Callable[P, R], input_signature: Sequence[Any] | None = None, *,
                 name: str | None = None, fast_math: bool = False, passes: bool = True,
                 autograph: bool = True, jit_compile: bool | None = None,
                 reduce_retracing: bool = False, experimental_compile: bool | None = None,
                 experimental_relax_shapes: bool | None = None) -> Function[P, R]: ...
    @overload
    def function(func: None = None, input_signature: Sequence[Any] | None = None, *,
                 name: str | None = None, fast_math: bool = False, passes: bool = True,
                 autograph: bool = True, jit_compile: bool | None = None,
                 reduce_retracing: bool = False, experimental_compile: bool | None = None,
                 experimental_relax_shapes: bool | None = None) -> Decorator: ...


def function(func: Callable[..., Any] | None = None, input_signature: Sequence[Any] | None = None,
             *, name: str | None = None, fast_math: bool = False, passes: bool = True,
             autograph: bool = True, jit_compile: bool | None = None,
             reduce_retracing: bool = False, experimental_compile: bool | None = None,
             experimental_relax_shapes: bool | None = None) -> Any:
    """Return a function that is traced to a graph and then runs as one program.

    Parameters
    ----------
    func : callable, optional
        A function of tensors and Python values; without it, a decorator is returned.
    input_signature : sequence of nested TensorSpec, optional
        Dtypes and shapes of the positional arguments; None in a shape admits any size. Without it,
        each combination of dtypes, shapes and values is traced; sizes that change become unknown.
    name : str, optional
    fast_math : bool, default False
        Whether rewrites may change the last bits of results.
    passes : bool, default True
        False: the graph is not optimised.
    autograph : bool, default True
        Whether `if`, `while` and `for` on traced tensors are converted.
    jit_compile : bool, optional
        Whether fused elementwise ops become machine code, compiled in the background by the
        system's C compiler. Results stay identical to the bit.
    experimental_compile : bool, optional
        An older name of `jit_compile`.
    reduce_retracing, experimental_relax_shapes : ignored

    Returns
    -------
    Function

    Notes
    -----
    Python runs only while tracing: its side effects do not repeat. Tensors and variables that it
    reads are captured, variables by reference. Without `fast_math`, results have the bits of eager
    mode.

    Examples
    --------
    >>> import dualflow as df
    >>> @df.function
    ... def norm(x):
    ...     return df.sqrt(df.reduce_sum(x * x))
    >>> norm(df.constant([3., 4.])).item()
    5.0
    """
    if func is None:
        return functools.partial(function, input_signature=input_signature, name=name,
                                 fast_math=fast_math, passes=passes, autograph=autograph,
                                 jit_compile=jit_compile, experimental_compile=experimental_compile)
    if jit_compile is None:
        jit_compile = experimental_compile
    return Function(func, name, input_signature, fast_math, passes and Switches.passes, autograph,
                    Switches.jit_compile if jit_compile is None else bool(jit_compile))
