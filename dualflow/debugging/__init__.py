"""Debugging: checks for NaN and infinity, and assertions, in eager and traced code."""

from dualflow.debugging.assertions import (
    Assert,
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_negative,
    assert_non_negative,
    assert_non_positive,
    assert_none_equal,
    assert_positive,
    assert_rank,
    assert_shapes,
    assert_true,
    assert_type,
)
from dualflow.debugging.log import get_log_device_placement, set_log_device_placement
from dualflow.debugging.numerics import (
    assert_all_finite,
    check_numerics,
    disable_check_numerics,
    enable_check_numerics,
)
from dualflow.tracebacks import (
    disable_traceback_filtering,
    enable_traceback_filtering,
    is_traceback_filtering_enabled,
)

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "assert_shapes",
    "assert_true",
    "assert_type",
    "check_numerics",
    "disable_check_numerics",
    "disable_traceback_filtering",
    "enable_check_numerics",
    "enable_traceback_filtering",
    "get_log_device_placement",
    "is_traceback_filtering_enabled",
    "set_log_device_placement",
]


def __dir__() -> list[str]:
    return __all__
