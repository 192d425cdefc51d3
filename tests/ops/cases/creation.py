import numpy as np

from tests.ops.case import ANY, case, normal

case("broadcast_to", function="fill", args=[(2, 3), normal()], ref=np.full, dtypes=ANY, grad=(1,))
case("broadcast_to", function="zeros_like", args=[normal(2, 3)], ref=np.zeros_like, dtypes=ANY,
     grad=())
case("broadcast_to", function="ones_like", args=[normal(2, 0)], ref=np.ones_like, dtypes=ANY,
     grad=())
