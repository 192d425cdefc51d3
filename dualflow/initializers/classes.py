"""Initializers as classes, under the names of TensorFlow and Keras: constructed with
hyperparameters, called with the shape and dtype of a variable."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import dualflow as df
from dualflow._util.arguments import NOT_NEGATIVE, NUMBER, POSITIVE, Limits
from dualflow.dtypes import float32
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.initializers.functions import fans, scaled
from dualflow.ops.types import DTypeLike, TensorLike
from dualflow.trace_dependency import Checked

__all__ = ["Constant", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "Identity",
           "Initializer", "LecunNormal", "LecunUniform", "Ones", "Orthogonal", "RandomNormal",
           "RandomUniform", "TruncatedNormal", "VarianceScaling", "Zeros", "constant",
           "constant_initializer", "identity", "ones_initializer", "orthogonal", "random_normal",
           "random_normal_initializer", "random_uniform", "random_uniform_initializer",
           "truncated_normal", "variance_scaling", "zeros_initializer"]


class Initializer(Checked):
    """Base class of initializers, which are called with a shape.

    Examples
    --------
    >>> import dualflow as df
    >>> isinstance(df.initializers.Zeros(), df.initializers.Initializer)
    True
    """

    limits: ClassVar[Mapping[str, Limits]] = {
        "mean": NUMBER, "stddev": NOT_NEGATIVE, "minval": NUMBER, "maxval": NUMBER.or_none(),
        "gain": NUMBER, "scale": POSITIVE}

    def __call__(self, shape: Sequence[int], dtype: DTypeLike | None = None) -> df.Tensor:
        """Return a tensor of a shape and a dtype, by default float32."""
        return self.make(shape, float32 if dtype is None else df.as_dtype(dtype))

    def make(self, shape: Sequence[int], dtype: df.DType) -> df.Tensor:
        """Return the initial value."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Return an initializer constructed from a result of `get_config`."""
        return cls(**config)


# --- deterministic -----------------------------------------------------------------------------


class Zeros(Initializer):
    """Initializes with 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.initializers.Zeros()([2]).tolist()
    [0.0, 0.0]
    """

    def make(self, shape: Any, dtype: Any) -> Any:
        return df.zeros(shape, dtype)


class Ones(Initializer):
    """Initializes with 1.

    Examples
    --------
    >>> import dualflow as df
    >>> df.initializers.Ones()([2]).tolist()
    [1.0, 1.0]
    """

    def make(self, shape: Any, dtype: Any) -> Any:
        return df.ones(shape, dtype)


class Constant(Initializer):
    """Initializes with one value, or with one value per element.

    Parameters
    ----------
    value : number, nested lists or Tensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.initializers.Constant(0.5)([2]).tolist()
    [0.5, 0.5]
    """

    def __init__(self, value: TensorLike = 0.0) -> None:
        self.value = value

    def make(self, shape: Any, dtype: Any) -> Any:
        value = df.cast(self.value, dtype)
        return df.broadcast_to(value, shape) if value.ndim == 0 else df.reshape(value, shape)


class Identity(Initializer):
    """Initializes with the identity matrix times `gain`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.initializers.Identity(2.)([2, 2]).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def make(self, shape: Any, dtype: Any) -> Any:
        if len(shape) != 2:
            raise ShapeError(f"Identity: shape {tuple(shape)}, expected 2 dimensions")
        return df.eye(shape[0], shape[1], dtype=dtype) * self.gain


# --- random --------------------------------------------------------------------------------------


class RandomNormal(Initializer):
    """Initializes with normally distributed values.

    Parameters
    ----------
    mean, stddev : float
    seed : int, optional
        Returns the same values in each call. By default they depend on `random.set_seed`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.initializers.RandomNormal(stddev=1., seed=1)([3, 4]).shape
    (3, 4)
    """

    mean: float
    stddev: float
    seed: int | None

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def make(self, shape: Any, dtype: Any) -> Any:
        return df.random.normal(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """Initializes with normally distributed values within two standard deviations; the parameters
    are as for `RandomNormal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.initializers.TruncatedNormal(seed=1)([3, 4]).shape
    (3, 4)
    """

    def make(self, shape: Any, dtype: Any) -> Any:
        return df.random.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class RandomUniform(Initializer):
    """Initializes with values uniformly distributed over [minval, maxval).

    Parameters
    ----------
    minval, maxval : float
    seed : int, optional
        As for `RandomNormal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.initializers.RandomUniform(-1., 1., seed=1)([3, 4]).shape
    (3, 4)
    """

    minval: float
    maxval: float
    seed: int | None

    def __init__(self, minval: float = -0.05, maxval: float = 0.05,
                 seed: int | None = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def make(self, shape: Any, dtype: Any) -> Any:
        return df.random.uniform(shape, self.minval, self.maxval, dtype, self.seed)


class Orthogonal(Initializer):
    """Initializes with orthogonal rows or columns of length `gain`: q of the QR decomposition of a
    normally distributed matrix, whose rows are all dimensions except the last.

    Parameters
    ----------
    gain : float
    seed : int, optional
        As for `RandomNormal`.

    Notes
    -----
    Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks", ICLR 2014.

    Examples
    --------
    >>> import dualflow as df
    >>> q = df.initializers.Orthogonal(seed=1)([3, 3])
    >>> (df.transpose(q) @ q).numpy().round(4).tolist() == df.eye(3).tolist()
    True
    """

    gain: float
    seed: int | None

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain, self.seed = gain, seed

    def make(self, shape: Any, dtype: Any) -> Any:
        if len(shape) < 2:
            raise ShapeError(f"Orthogonal: shape {tuple(shape)}, expected at least 2 dimensions")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        drawn = df.random.normal([max(rows, columns), min(rows, columns)], dtype=dtype,
                                 seed=self.seed)
        q, r = df.linalg.qr(drawn)
        q = q * df.sign(df.linalg.diag_part(r))     # makes q uniformly distributed
        return df.reshape(df.transpose(q) if rows < columns else q, shape) * self.gain


class VarianceScaling(Initializer):
    """Initializes with random values of variance ``scale / n``, where n depends on the shape.

    Parameters
    ----------
    scale : float
    mode : {"fan_in", "fan_out", "fan_avg"}
        n is fan_in, fan_out, or their mean.
    distribution : {"truncated_normal", "untruncated_normal", "uniform"}
    seed : int, optional
        As for `RandomNormal`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.initializers.VarianceScaling(2., "fan_in", seed=1)([3, 4]).shape
    (3, 4)
    """

    scale: float
    mode: str
    distribution: str
    seed: int | None

    def __init__(self, scale: float = 1.0, mode: str = "fan_in",
                 distribution: str = "truncated_normal", seed: int | None = None) -> None:
        kinds = "truncated_normal", "untruncated_normal", "uniform", "normal"
        for name, value, wanted in (("mode", mode, ("fan_in", "fan_out", "fan_avg")),
                                    ("distribution", distribution, kinds)):
            if value not in wanted:
                raise InvalidArgumentError(f"{type(self).__name__}: {name} is {value!r}, expected "
                                           f"one of {', '.join(wanted)}")
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def make(self, shape: Any, dtype: Any) -> Any:
        fan_in, fan_out = fans(shape)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        return scaled(shape, self.scale / max(n, 1.0), self.distribution, dtype, self.seed)


def _scaling(name: str, scale: float, mode: str, distribution: str) -> type[VarianceScaling]:
    """Return the class of an initializer whose only parameter is a seed."""
    def __init__(self: VarianceScaling, seed: int | None = None) -> None:
        VarianceScaling.__init__(self, scale, mode, distribution, seed)

    def get_config(self: VarianceScaling) -> dict[str, Any]:
        return {"seed": self.seed}

    function = f"{name[:-6]}_normal" if name.endswith("Normal") else f"{name[:-7]}_uniform"
    doc = f"""`VarianceScaling({scale}, "{mode}", "{distribution}", seed)`.

    Examples
    --------
    >>> import dualflow as df
    >>> made = df.initializers.{name}(seed=1)([3, 4])
    >>> made.tolist() == df.initializers.{function.lower()}([3, 4], seed=1).tolist()
    True
    """
    return type(name, (VarianceScaling,), {"__doc__": doc, "__init__": __init__,
                                           "__module__": __name__, "get_config": get_config})


GlorotNormal: type[VarianceScaling] = _scaling("GlorotNormal", 1.0, "fan_avg", "truncated_normal")
GlorotUniform: type[VarianceScaling] = _scaling("GlorotUniform", 1.0, "fan_avg", "uniform")
HeNormal: type[VarianceScaling] = _scaling("HeNormal", 2.0, "fan_in", "truncated_normal")
HeUniform: type[VarianceScaling] = _scaling("HeUniform", 2.0, "fan_in", "uniform")
LecunNormal: type[VarianceScaling] = _scaling("LecunNormal", 1.0, "fan_in", "truncated_normal")
LecunUniform: type[VarianceScaling] = _scaling("LecunUniform", 1.0, "fan_in", "uniform")

# TensorFlow's aliases, here and in `initializers`.
constant = constant_initializer = Constant
identity = Identity
orthogonal = Orthogonal
random_normal = random_normal_initializer = RandomNormal
random_uniform = random_uniform_initializer = RandomUniform
truncated_normal = TruncatedNormal
variance_scaling = VarianceScaling
ones_initializer = Ones
zeros_initializer = Zeros
