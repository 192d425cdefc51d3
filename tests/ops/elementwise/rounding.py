import numpy as np

from tests.ops.case import FIELD, NUMBERS, case, sample

X = sample((3, 4), -9, 9)

case("floor", args=[X], ref=np.floor, grad=())
case("ceil", args=[X], ref=np.ceil, function="math.ceil", grad=())
case("round", args=[X], ref=np.rint, grad=())
case("round", args=[X], ref=lambda x: x, dtypes=NUMBERS[2:], grad=())
case("round", args=[np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])], ref=np.rint, grad=(),
     function="math.rint", dtypes=("float64",), name="rint of halves")
case("trunc", args=[X], ref=np.trunc, function="math.trunc", grad=())
case("is_nan", args=[X], ref=np.isnan, function="math.is_nan", grad=(),
     dtypes=FIELD)
case("is_inf", args=[X], ref=np.isinf, function="math.is_inf", grad=(),
     dtypes=FIELD)
case("is_finite", args=[X], ref=np.isfinite, function="math.is_finite", grad=(),
     dtypes=FIELD)
