import numpy as np

from tests.ops.case import MOVABLE, case, normal


def moved(op, dims, ref, /, large=None, function=None, **kwargs):
    """Add a row of an op that only moves elements: any dtype, exact, NaN included."""
    case(op, args=[normal(*dims)], kwargs=kwargs, ref=ref, dtypes=MOVABLE,
         function=function, large=large and [normal(*large)])


moved("reshape", (3, 4), lambda x, shape: x.reshape(shape), shape=(2, -1))
moved("reshape", (0, 4), lambda x, shape: x.reshape(shape), shape=(4, 0, 2))
moved("reshape", (1,), lambda x, shape: x.reshape(shape), shape=())
moved("expand_dims", (3, 4), np.expand_dims, axis=1)
moved("expand_dims", (3, 4), np.expand_dims, axis=-1)
moved("squeeze", (1, 3, 1), np.squeeze)
moved("squeeze", (1, 3, 1), np.squeeze, axis=-1)
moved("identity", (3, 4), lambda x: x)
case("stop_gradient", args=[normal(3, 4)], ref=lambda x: x, dtypes=MOVABLE, grad=())
moved("broadcast_to", (3, 1), np.broadcast_to, shape=(2, 3, 4))
moved("broadcast_to", (5,), np.broadcast_to, shape=(2, 3, 5))
moved("broadcast_to", (2, 1, 3, 1), np.broadcast_to, shape=(2, 4, 3, 5))
for _shape, _perm in [((3, 4), None), ((33, 70), (1, 0)), ((2, 3, 4), (2, 0, 1)),
                      ((2, 1, 3), (1, 0, 2)), ((4, 19, 3, 17), (0, 2, 3, 1)),
                      ((3, 17, 4, 18), (2, 0, 3, 1)), ((2, 20, 40), (0, 2, 1)), ((), None)]:
    moved("transpose", _shape, lambda x, perm: np.transpose(x, perm), perm=_perm)
case("shape", args=[normal(3, 4)], ref=lambda x: np.array(x.shape), dtypes=MOVABLE, grad=())
case("size", args=[normal(3, 4)], ref=np.size, dtypes=MOVABLE, grad=())
moved("transpose", (33, 70), lambda x, perm: np.transpose(x, perm), large=(700, 900), perm=(1, 0))
