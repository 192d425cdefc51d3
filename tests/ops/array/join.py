import numpy as np

from tests.ops.case import MOVABLE, case, normal


def split(x, num_or_size_splits, axis=0):
    cut = num_or_size_splits
    if not isinstance(cut, int):
        cut = np.cumsum([n if n >= 0 else x.shape[axis] - sum(cut) - 1 for n in cut])[:-1]
    return tuple(np.split(x, cut, axis))


def unstack(x, axis=0):
    return tuple(np.moveaxis(x, axis, 0))


for _shapes, _axis in [(((2, 3), (4, 3)), 0), (((2, 3), (2, 1), (2, 0)), -1), (((2, 3),), 1),
                       (((0, 3), (0, 3)), 0)]:
    case("concat", args=[[normal(*s) for s in _shapes]], kwargs={"axis": _axis},
         dtypes=MOVABLE, ref=np.concatenate)
for _shape, _n, _axis in [((2, 3), 2, 0), ((2, 3), 3, -1), ((), 2, 0), ((0, 2), 2, 1)]:
    case("stack", args=[[normal(*_shape) for _ in range(_n)]], kwargs={"axis": _axis},
         dtypes=MOVABLE, ref=np.stack)
case("split", args=[normal(6, 4), 3], ref=split, dtypes=MOVABLE)
case("split", args=[normal(3, 6), [1, -1, 2]], kwargs={"axis": 1}, ref=split, dtypes=MOVABLE)
case("unstack", args=[normal(3, 4)], ref=unstack, dtypes=MOVABLE)
case("unstack", args=[normal(3, 4)], kwargs={"axis": -1}, ref=unstack, dtypes=MOVABLE)
