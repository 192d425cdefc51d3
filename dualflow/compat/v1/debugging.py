"""`tf.debugging`: assertions and checks for NaN and infinity."""

from dualflow.compat.v1.check_ops import (
    Assert as Assert,
    assert_equal as assert_equal,
    assert_greater as assert_greater,
    assert_greater_equal as assert_greater_equal,
    assert_less as assert_less,
    assert_less_equal as assert_less_equal,
    assert_near as assert_near,
    assert_negative as assert_negative,
    assert_non_negative as assert_non_negative,
    assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal,
    assert_positive as assert_positive,
    is_non_decreasing as is_non_decreasing,
    is_strictly_increasing as is_strictly_increasing,
)
from dualflow.compat.v1.logging_ops import (
    check_numerics as check_numerics,
    verify_tensor_all_finite as assert_all_finite,
)
from dualflow.compat.v1.math_ops import (
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
)

__all__ = ["assert_all_finite"]
from dualflow.compat.v1.static_checks import (
    assert_integer as assert_integer,
    assert_proper_iterable as assert_proper_iterable,
    assert_rank as assert_rank,
    assert_rank_at_least as assert_rank_at_least,
    assert_rank_in as assert_rank_in,
    assert_same_float_dtype as assert_same_float_dtype,
    assert_scalar as assert_scalar,
    assert_type as assert_type,
    is_numeric_tensor as is_numeric_tensor,
)


def __dir__() -> list[str]:
    return __all__
