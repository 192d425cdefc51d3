import numpy as np

from tests.ops.case import NUMBERS
from tests.ops.elementwise.activation import activation, backward

activation("relu", ref=lambda x: np.where(x <= 0, 0, x).astype(x.dtype), dtypes=NUMBERS,
           signed_zero=False)
backward("relu", module="relu", ref=lambda g, y: np.where(y > 0, g, 0), edges=True)
activation("relu6", ref=lambda x: np.clip(x, 0, 6), dtypes=NUMBERS, signed_zero=False)
backward("relu6", module="relu", ref=lambda g, y: np.where((y > 0) & (y < 6), g, 0), edges=True)
# 0.2 is rounded to float32 before use
activation("leaky_relu", ref=lambda x, alpha: np.where(x > 0, x, alpha * x), ulp=2,
           kwargs={"alpha": 0.2})
backward("leaky_relu", module="relu", ref=lambda g, x, alpha: np.where(x > 0, g, alpha * g), ulp=2,
         kwargs={"alpha": 0.3})
