import numpy as np

from tests.ops.case import case, normal, positive

case("exp", args=[normal(3, 4)], ref=np.exp, ulp=2)
case("log", args=[positive(3, 4)], ref=np.log, ulp=2)
