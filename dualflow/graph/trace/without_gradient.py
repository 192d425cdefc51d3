"""Values whose gradient raises, for example in a saved trace with a Python gradient rule."""

from __future__ import annotations

from dualflow.autodiff import custom_gradient
from dualflow.errors import UnimplementedError
from dualflow.ops.array.shape import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def without_gradient(y: Any, why: str) -> Any:
    """Return `y` with a gradient rule that raises UnimplementedError with the message `why`."""
    def refuse(g: Any) -> Any:
        raise UnimplementedError(why)

    return custom_gradient(lambda y: (identity(y), refuse))(y)
