"""Forward-mode differentiation: directional derivatives by the reverse-mode rules.

The gradients of a function are linear in the cotangents of its outputs. The gradient of that linear
map with respect to the cotangents, along a direction of the inputs, is the directional derivative
of the outputs: the transpose of the backward pass. Every op with a gradient rule therefore has
directional derivatives of any order without a second table of rules. The cotangents of the first
backward pass may have any value; in a graph most of that pass is dead code.
"""

from __future__ import annotations

from dualflow._core import Recorder, Tensor, TensorBase, as_tensor, tensor_id
from dualflow._util.arguments import shown
from dualflow.autodiff.backward import backward, ones, unbroadcast, zeros
from dualflow.autodiff.functional import fresh
from dualflow.autodiff.tape import GradientTape, UnconnectedGradients, wants_zero
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.nest import (
    flatten_tensors,
    flatten_up_to,
    is_numbers,
    pack_sequence_as,
    rebuild,
)
from dualflow.ops.array.shape import same_shape
from dualflow.ops.indexing.indexed_slices import IndexedSlices
from dualflow.tracebacks import filtered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["ForwardAccumulator", "hvp", "jvp", "vjp"]


class ForwardAccumulator(Recorder):
    """Computes directional derivatives: Jacobian-vector products.

    Parameters
    ----------
    primals : Tensor, Variable, or nested lists, tuples, dicts of them
        The point at which to differentiate.
    tangents : the same structure of tensors
        The direction.

    Notes
    -----
    The accumulator records the ops in its ``with`` block, as a tape does. `jvp` runs the backward
    pass and differentiates it along the direction. In eager mode both passes run; in a graph only
    the parts of the first pass that the second reads. Accumulators nest, and enclosing tapes record
    what they compute.

    See Also
    --------
    dualflow.jvp : the same for a function.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.constant([2., 3.])
    >>> with df.autodiff.ForwardAccumulator(x, df.constant([1., 0.])) as acc:
    ...     y = x * x
    >>> acc.jvp(y).tolist()
    [4.0, 0.0]
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        self._primals = flatten_tensors(primals)
        for x in self._primals:
            if not isinstance(x, TensorBase) or not x.dtype.is_inexact:
                raise DTypeError(f"ForwardAccumulator: a primal is {shown(x)}, expected a tensor "
                                 "of a floating dtype")
        self._tangents = fitting(primals, self._primals, tangents, "ForwardAccumulator: a tangent")
        super().__init__(watch_accessed_variables=False)
        for x in self._primals:
            self._tape.watch(x)

    def jvp(self, primals: Any, unconnected_gradients: str = UnconnectedGradients.NONE) -> Any:
        """Return the derivatives of tensors computed in the block, along the direction.

        Parameters
        ----------
        primals : Tensor, or nested lists, tuples, dicts of them
        unconnected_gradients : {"none", "zero"}
            The derivative of tensors that do not depend on the accumulator's primals.

        Returns
        -------
        The structure of `primals`, with tensors of the same shapes and dtypes
        """
        zero = wants_zero(unconnected_gradients)
        active = self._tape.active
        if active:
            self._tape.pop()
        try:
            found = [self._along(y) for y in flatten_tensors(primals)]
        finally:
            if active:
                self._tape.push()
        return pack_sequence_as(primals, [zeros(y) if t is None and zero else t for t, y in
                                          zip(found, flatten_tensors(primals), strict=True)])

    def _along(self, y: Any) -> Tensor | None:
        """Return the derivative of one tensor, or None if it does not depend on the primals."""
        if not isinstance(y, TensorBase):
            raise DTypeError(f"ForwardAccumulator.jvp: got {shown(y)}, expected a tensor")
        if not y.dtype.is_inexact:
            return None
        ids = [tensor_id(x) for x in self._primals]
        inner = GradientTape(watch_accessed_variables=False)
        with inner:
            into = ones(y)
            inner.watch(into)
            found = backward(self._tape, {tensor_id(y): into}, ids)
        pairs = [(found[key], t) for key, t in zip(ids, self._tangents, strict=True)
                 if key in found]
        if not pairs:
            return None
        return inner.gradient([g for g, _ in pairs], into, [t for _, t in pairs],
                              UnconnectedGradients.ZERO)


def fitting(structure: Any, values: Sequence[Any], given: Any, what: str) -> list[Tensor]:
    """Convert `given` to tensors in the structure, with the shapes and dtypes, of others."""
    try:
        leaves = flatten_up_to(structure, given)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{what} for each of the tensors, in the same structure: {error}"
                                   ) from None
    found = []
    for x, t in zip(values, leaves, strict=True):
        t = as_tensor(t)
        if not t.dtype.is_inexact or not same_shape(t.shape, x.shape):
            raise ShapeError(f"{what} is {t.dtype} {t.shape}, expected {x.dtype} {x.shape}")
        found.append(unbroadcast(t, x))
    return found


def as_sources(caller: str, args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arguments with new tensor identities."""
    return tuple([rebuild(a, lambda x: fresh(caller, x), is_numbers) for a in args])


def as_tensors(result: Any) -> Any:
    """Convert the numbers in the result of a function to tensors."""
    return rebuild(result, as_tensor, lambda x: isinstance(x, IndexedSlices) or is_numbers(x))


def numbers_as_tensors(items: Sequence[Any]) -> tuple[Any, ...]:
    """Convert nested lists of numbers among the arguments to tensors."""
    return tuple([rebuild(x, as_tensor, is_numbers) for x in items])


@filtered
def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any],
        has_aux: bool = False) -> Any:
    """Return the result of a function and its derivative along a direction.

    Parameters
    ----------
    f : callable
        Returns a tensor, or nested tensors.
    primals : list or tuple
        The arguments of `f`: nested tensors of floating dtypes.
    tangents : list or tuple
        The direction: one tensor per argument tensor, of the same shape.
    has_aux : bool, default False
        Whether `f` returns a pair, whose first item is differentiated.

    Returns
    -------
    (result, tangent), or (result, tangent, aux): the tangent has the structure of the result, with
    zeros for tensors that do not depend on the arguments or are not floating

    Raises
    ------
    InvalidArgumentError, ShapeError, DTypeError
        If the tangents do not match the primals, or the primals are not floating.

    Notes
    -----
    `autodiff.ForwardAccumulator` describes the method and its cost.

    Examples
    --------
    >>> import dualflow as df
    >>> y, slope = df.jvp(lambda x: x * x, (3.,), (1.,))
    >>> y.item(), slope.item()
    (9.0, 6.0)
    """
    arguments("jvp", f, primals)
    arguments("jvp", f, tangents)
    given = as_sources("jvp", primals)
    with ForwardAccumulator(given, numbers_as_tensors(tangents)) as forward:
        out, aux = with_aux("jvp", f(*given), has_aux)
    made = forward.jvp(out, UnconnectedGradients.ZERO)
    return (out, made, aux) if has_aux else (out, made)


@filtered
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the result of a function and its vector-Jacobian product.

    Parameters
    ----------
    f : callable
        Returns a tensor, or nested tensors.
    *primals : nested tensors of floating dtypes
        The arguments of `f`.
    has_aux : bool, default False
        Whether `f` returns a pair, whose first item is differentiated.

    Returns
    -------
    (result, back), or (result, back, aux): `back` takes a gradient in the structure of the result
    and returns a tuple of gradients of the arguments. It may be called repeatedly and keeps the
    residuals alive.

    Examples
    --------
    >>> import dualflow as df
    >>> y, back = df.vjp(lambda a, b: a * b, [1., 2.], [3., 4.])
    >>> [g.tolist() for g in back([1., 10.])]
    [[3.0, 40.0], [1.0, 20.0]]
    """
    arguments("vjp", f, primals)
    given = as_sources("vjp", primals)
    tape = GradientTape(persistent=True, watch_accessed_variables=False)
    with tape:
        tape.watch(given)
        out, aux = with_aux("vjp", f(*given), has_aux)

    @filtered
    def back(gradients: Any) -> Any:
        if isinstance(out, TensorBase):
            gradients = as_tensor(gradients)
        seeds = fitting(out, flatten_tensors(out), gradients, "vjp: a gradient")
        found = tape.gradient(out, given, pack_sequence_as(out, seeds), UnconnectedGradients.ZERO)
        return rebuild(found, as_tensor, lambda g: isinstance(g, IndexedSlices))

    return (out, back, aux) if has_aux else (out, back)


@filtered
def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    """Return the product of the Hessian of a scalar function with a vector.

    Parameters
    ----------
    f : callable
        Returns a tensor with one element.
    primals, tangents : list or tuple
        The arguments of `f`, and the vector in the same structure.

    Returns
    -------
    tuple, in the structure of `primals`

    Notes
    -----
    The gradient of the product of the gradient with the vector: two backward passes, no matrix.

    Examples
    --------
    >>> import dualflow as df
    >>> cubes = lambda x: df.reduce_sum(x * x * x)
    >>> df.hvp(cubes, ([1., 2.],), ([1., 10.],))[0].tolist()
    [6.0, 120.0]
    """
    arguments("hvp", f, primals)
    arguments("hvp", f, tangents)
    given = as_sources("hvp", primals)
    along = fitting(given, flatten_tensors(given), numbers_as_tensors(tangents),
                    "hvp: a tangent")
    outer = GradientTape(watch_accessed_variables=False)
    with outer:
        outer.watch(given)
        with GradientTape(watch_accessed_variables=False) as inner:
            inner.watch(given)
            value = as_tensor(f(*given))
        if value.size != 1:
            raise ShapeError(f"hvp: the function returned a tensor of shape {value.shape}, "
                             "expected one number")
        gradients = inner.gradient(value, given, unconnected_gradients=UnconnectedGradients.ZERO)
    made = outer.gradient(gradients, given, pack_sequence_as(given, along),
                          UnconnectedGradients.ZERO)
    return rebuild(made, as_tensor, lambda g: isinstance(g, IndexedSlices))


def arguments(caller: str, f: Any, items: Any) -> None:
    """Raise unless `f` is a function and `items` a list or tuple of its arguments."""
    if not callable(f):
        raise InvalidArgumentError(f"{caller}: f is {shown(f)}, expected a function")
    if not isinstance(items, list | tuple):
        raise InvalidArgumentError(f"{caller}: got {shown(items)}, expected a tuple with an item "
                                   "for "
                                   "each argument of the function")


def with_aux(caller: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """Split the result of a function into the differentiated part and the auxiliary part."""
    if has_aux and not (isinstance(result, tuple) and len(result) == 2):
        raise InvalidArgumentError(f"{caller}: with has_aux the function must return a pair, got "
                                   f"{type(result).__name__}")
    out, aux = result if has_aux else (result, None)
    return as_tensors(out), aux


