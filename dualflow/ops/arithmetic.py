"""Arithmetic with its gradients. Integers wrap around; Python numbers take the tensors' dtype."""

from dualflow._core import Tensor, apply
from dualflow.gradients import gradient
from dualflow.ops.types import TensorLike

__all__ = ["add", "multiply"]


def add(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """a + b, elementwise.

    Parameters
    ----------
    a, b : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient flows unchanged to both.

    Examples
    --------
    >>> import dualflow as df
    >>> df.add([1, 2], 10).numpy().tolist()
    [11, 12]
    """
    return apply("add", a, b, name=name)


@gradient("add", saves="none")
def _(g, y, a, b):
    return g, g


def multiply(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """a * b, elementwise.

    Parameters
    ----------
    a, b : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient is ``g * b`` to a and ``g * a`` to b.

    Examples
    --------
    >>> import dualflow as df
    >>> df.multiply([1., 2.], [3., 4.]).numpy().tolist()
    [3.0, 8.0]
    """
    return apply("multiply", a, b, name=name)


@gradient("multiply", saves="inputs")
def _(g, y, a, b):
    return lambda: g * b, lambda: g * a
