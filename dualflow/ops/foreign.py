"""Attributes that tensors lack and users of NumPy or PyTorch type: access raises an AttributeError
that names the dualflow code to use.

A ``__getattr__`` would slow down every access to a method, because the interpreter caches method
lookups only of types without it. So each name is a descriptor, which `hasattr` and `dir` do not
see. `_util/foreign_names.py` has the messages.
"""

from __future__ import annotations

from dualflow._core import TensorBase, bind, bind_methods
from dualflow._util.late_binding import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn

__all__ = ["ABSENT"]

_NAMES = """
    view view_as reshape_as detach to type type_as float double half bfloat16 int long bool cpu cuda
    contiguous is_contiguous clone unsqueeze permute t backward grad grad_fn requires_grad
    requires_grad_ retain_grad data dim numel element_size expand expand_as masked_fill index_select
    add_ sub_ mul_ div_ copy_ zero_ fill_ matmul mm bmm exp log sqrt abs pow sigmoid tanh relu
    softmax norm add mul eq at fill argsort split chunk gather dot flip block_until_ready
    real imag conj angle conjugate
"""
ABSENT = frozenset(_NAMES.split())


class Absent:
    """A descriptor that raises AttributeError with advice."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: Any, owner: type) -> NoReturn:
        raise AttributeError(late("no_attribute")(owner.__name__, self.name), name=self.name,
                             obj=owner if x is None else x)


def present(names: Iterable[str]) -> list[str]:
    """Return the names of the attributes that tensors have."""
    return [name for name in names if name not in ABSENT]


bind(dir=present)
bind_methods(TensorBase, type("Foreign", (), {name: Absent(name) for name in ABSENT}))
