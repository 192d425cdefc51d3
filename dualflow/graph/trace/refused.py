"""Values whose gradient is refused."""

from __future__ import annotations

from typing import Any

from dualflow.autodiff import custom_gradient
from dualflow.errors import UnimplementedError
from dualflow.ops.array import identity


def without_gradient(y: Any, why: str) -> Any:
    """A value whose gradient raises."""
    def refuse(g: Any) -> Any:
        raise UnimplementedError(why)

    return custom_gradient(lambda y: (identity(y), refuse))(y)
