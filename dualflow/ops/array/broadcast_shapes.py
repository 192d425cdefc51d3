"""The broadcast shape of two shapes."""

from typing import Any

from dualflow._core import Tensor, as_tensor, larger
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.padding import pad
from dualflow.ops.control_flow.host import host_call
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.reduction.reduce import reduce_all
from dualflow.ops.tensor_shape import TensorShape

__all__ = ["broadcast_dynamic_shape", "broadcast_static_shape"]


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Return the broadcast shape of two shapes, which may have unknown dimensions.

    Parameters
    ----------
    shape_x, shape_y : TensorShape, or a value convertible to it

    Raises
    ------
    ValueError
        If they do not broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.broadcast_static_shape(df.TensorShape([5, 1]), df.TensorShape([3]))
    TensorShape([5, 3])
    """
    x, y = TensorShape(shape_x), TensorShape(shape_y)
    if not (x.known_rank and y.known_rank):
        return TensorShape(None)
    rank = max(len(x), len(y))
    made = []
    for a, b in zip([1] * (rank - len(x)) + x.as_list(), [1] * (rank - len(y)) + y.as_list(),
                    strict=True):
        if None not in (a, b) and a != b and 1 not in (a, b):
            raise ValueError(f"Shapes {x} and {y} do not broadcast: {a} and {b} differ")
        made.append(b if a == 1 else a if b == 1 or a == b else b if a is None else a)
    return TensorShape(made)


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """Return the broadcast shape of two shapes given as tensors.

    Parameters
    ----------
    shape_x, shape_y : Tensor, int32 or int64, shape (rank,)

    Returns
    -------
    Tensor, of the promoted dtype

    Raises
    ------
    InvalidArgumentError
        At run time, if they do not broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.broadcast_dynamic_shape([5, 1], [3]).tolist()
    [5, 3]
    """
    x, y = as_tensor(shape_x), as_tensor(shape_y)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"broadcast_dynamic_shape: shapes {tuple(x.shape)} and {tuple(y.shape)}, "
                         "expected lists of sizes")
    rank = larger(x.shape[0], y.shape[0])
    x = pad(x, [[rank - x.shape[0], 0]], constant_values=1)
    y = pad(y, [[rank - y.shape[0], 0]], constant_values=1)
    good = reduce_all(equal(x, y) | equal(x, 1) | equal(y, 1))
    host_call(check_broadcast, [good, x, y], "assert")
    return where(equal(x, 1), y, x)


def check_broadcast(good: Tensor, x: Tensor, y: Tensor) -> None:
    """Raise unless `good` is true."""
    if not good.item():
        raise InvalidArgumentError(f"broadcast_dynamic_shape: {x.tolist()} and {y.tolist()} do not "
                                   "broadcast")
