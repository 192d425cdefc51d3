import numpy as np

from tests.ops.case import NUMBERS, case, normal

case("add", args=[normal(3, 4), normal(4)], ref=np.add, dtypes=NUMBERS, grad=(0, 1))
case("multiply", args=[normal(3, 4), normal(3, 1)], ref=np.multiply, dtypes=NUMBERS, grad=(0, 1))
