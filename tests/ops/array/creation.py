import numpy as np

from tests.ops.case import ANY, INTS, MOVABLE, case, normal, sample

case("broadcast_to", function="fill", args=[(2, 3), normal()], ref=np.full, dtypes=MOVABLE,
     grad=(1,))
case("broadcast_to", function="zeros_like", args=[normal(2, 3)], ref=np.zeros_like, dtypes=MOVABLE,
     grad=())
case("broadcast_to", function="ones_like", args=[normal(2, 0)], ref=np.ones_like, dtypes=MOVABLE,
     grad=())
case("one_hot", args=[sample((2, 3), 0, 4), 4], kwargs={"axis": 1}, dtypes=INTS,
     ref=lambda i, depth, axis: np.moveaxis(np.eye(9)[i][..., :depth], -1, axis), grad=())
case("range", args=[2, 11, 3], ref=lambda *a: np.arange(*a, dtype=np.int32), grad=(),
     dtypes=("int32",))
case("range", args=[0.0, 1.0, 0.1], ref=lambda *a: np.arange(*a), rel=1e-7, grad=(),
     dtypes=("float32",))
case("linspace", args=[normal(), normal(), 7], ref=lambda a, b, n: np.linspace(a * 1.0, b * 1.0, n),
     dtypes=ANY, rel=2e-7, grad=(0, 1))
case("linspace", args=[normal(2, 3), normal(2, 3), 7], kwargs={"axis": 1}, ref=np.linspace,
     rel=2e-7, grad=(0, 1))
