"""Initializers under Keras's names: functions of a shape. Without a shape they return, as in
TensorFlow, an object that is called with shapes (`classes.py`). Capitalised names, and
their lower-case aliases in TensorFlow, are the classes themselves.

`fan_in` and `fan_out` are the last two dimensions times the product of all other dimensions (the
receptive field of a convolution); for a vector both are its length.
"""

from __future__ import annotations

from importlib import import_module

from dualflow.initializers.functions import (
    glorot_normal as glorot_normal,
    glorot_uniform as glorot_uniform,
    he_normal as he_normal,
    he_uniform as he_uniform,
    lecun_normal as lecun_normal,
    lecun_uniform as lecun_uniform,
    ones as ones,
    zeros as zeros,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.initializers.classes import (
        Constant as Constant,
        GlorotNormal as GlorotNormal,
        GlorotUniform as GlorotUniform,
        HeNormal as HeNormal,
        HeUniform as HeUniform,
        Identity as Identity,
        Initializer as Initializer,
        LecunNormal as LecunNormal,
        LecunUniform as LecunUniform,
        Ones as Ones,
        Orthogonal as Orthogonal,
        RandomNormal as RandomNormal,
        RandomUniform as RandomUniform,
        TruncatedNormal as TruncatedNormal,
        VarianceScaling as VarianceScaling,
        Zeros as Zeros,
        constant as constant,
        identity as identity,
        orthogonal as orthogonal,
        random_normal as random_normal,
        random_uniform as random_uniform,
        truncated_normal as truncated_normal,
        variance_scaling as variance_scaling,
    )

__all__ = ["glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal",
           "lecun_uniform", "ones", "zeros"]


def __getattr__(name: str) -> Any:
    classes = import_module("dualflow.initializers.classes") if name[:1] != "_" else None
    if name not in getattr(classes, "__all__", ()):
        raise AttributeError(f"module 'dualflow.initializers' has no attribute {name!r}")
    return getattr(classes, name)


def __dir__() -> list[str]:
    classes = import_module("dualflow.initializers.classes")
    return sorted([*__all__, *(name for name in classes.__all__ if name[0].isupper())])
