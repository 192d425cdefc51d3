"""Options of datasets, under the names of tf.data. Their values are stored; none changes the
elements or the threads of a dataset."""

from __future__ import annotations

import enum
from typing import Any

from dualflow._core import Tensor
from dualflow._util.arguments import shown
from dualflow._util.cached import cached_property
from dualflow.data.stage import Cursor, Stage, stages
from dualflow.errors import DTypeError


class AutoShardPolicy(enum.IntEnum):
    """Rules by which TensorFlow distributes a dataset to workers; no effect here."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class AutotuneAlgorithm(enum.Enum):
    """Algorithms of TensorFlow's tuning; no effect here."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class ExternalStatePolicy(enum.Enum):
    """Rules by which TensorFlow saves datasets with state; no effect here."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class OptionsBase:
    """Attributes with the names of a class of TensorFlow; an attribute that is not set is None."""

    _names: tuple[str, ...] = ()
    _parts: dict[str, type[OptionsBase]] = {}       # noqa: RUF012

    def __init__(self) -> None:
        for name, part in self._parts.items():
            object.__setattr__(self, name, part())

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            return None
        raise AttributeError(f"{type(self).__name__} has no option {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._parts:
            if not isinstance(value, self._parts[name]):
                raise DTypeError(f"{type(self).__name__}.{name}: got {shown(value)}, expected "
                                 f"{self._parts[name].__name__}")
        elif name not in self._names:
            raise AttributeError(f"{type(self).__name__} has no option {name}; it has "
                                 f"{', '.join(sorted([*self._names, *self._parts]))}")
        object.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._names]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None         # type: ignore[assignment]

    def __repr__(self) -> str:
        values = [f"{name}={value!r}" for name, value in vars(self).items()
                  if not isinstance(value, OptionsBase) or vars(value)]
        return f"{type(self).__name__}({', '.join(values)})"

    def _updated(self, other: OptionsBase) -> Any:
        """Return a copy in which the values that `other` has take precedence."""
        made = type(self)()
        for options in (self, other):
            for name, value in vars(options).items():
                before = vars(made).get(name)
                object.__setattr__(made, name, before._updated(value)
                                   if isinstance(before, OptionsBase) else value)
        return made


class AutotuneOptions(OptionsBase):
    """TensorFlow's options of tuning. They have no effect here: nothing is tuned."""

    _names = ("autotune_algorithm", "cpu_budget", "enabled", "initial_parallelism",
              "min_parallelism", "ram_budget")


class DistributeOptions(OptionsBase):
    """TensorFlow's options of distribution. They have no effect here: `shard` splits a dataset."""

    _names = "auto_shard_policy", "num_devices"


class OptimizationOptions(OptionsBase):
    """TensorFlow's options of graph rewrites. They have no effect here: nothing is rewritten."""

    _names = ("apply_default_optimizations", "filter_fusion", "filter_parallelization",
              "inject_prefetch", "map_and_batch_fusion", "map_and_filter_fusion", "map_fusion",
              "map_parallelization", "noop_elimination", "parallel_batch",
              "seq_interleave_prefetch", "shuffle_and_repeat_fusion")


class ServiceOptions(OptionsBase):
    """TensorFlow's options of the data service. They have no effect here."""

    _names = ("pinned",)


class ThreadingOptions(OptionsBase):
    """TensorFlow's options of threads. They have no effect here: `num_parallel_calls` and
    `df.config` choose numbers of threads."""

    _names = "max_intra_op_parallelism", "private_threadpool_size"


class Options(OptionsBase):
    """Options of a dataset, which `Dataset.with_options` attaches.

    Values of TensorFlow's names are accepted and stored, other names raise AttributeError. No
    option changes anything here: the order is deterministic unless `map` is called with
    ``deterministic=False``, and threads are chosen by `num_parallel_calls` and `prefetch`.

    Attributes
    ----------
    autotune : AutotuneOptions
    experimental_distribute : DistributeOptions
    experimental_optimization : OptimizationOptions
    experimental_service : ServiceOptions
    threading, experimental_threading : ThreadingOptions
    deterministic, experimental_deterministic, dataset_name, framework_type
    experimental_external_state_policy, experimental_slack, experimental_symbolic_checkpoint
    experimental_warm_start

    Examples
    --------
    >>> import dualflow as df
    >>> options = df.data.Options()
    >>> options.threading.private_threadpool_size = 4
    >>> options.deterministic = False
    >>> df.data.Dataset.range(3).with_options(options).options()
    Options(threading=ThreadingOptions(private_threadpool_size=4), deterministic=False)
    """

    _names = ("dataset_name", "deterministic", "experimental_deterministic",
              "experimental_external_state_policy", "experimental_slack",
              "experimental_symbolic_checkpoint", "experimental_warm_start", "framework_type")
    _parts = {"autotune": AutotuneOptions,          # noqa: RUF012
              "experimental_distribute": DistributeOptions,
              "experimental_optimization": OptimizationOptions,
              "experimental_service": ServiceOptions,
              "experimental_threading": ThreadingOptions,
              "threading": ThreadingOptions}

    def merge(self, options: Options) -> Options:
        """Return options in which the values of `options` take precedence.

        Examples
        --------
        >>> import dualflow as df
        >>> a, b = df.data.Options(), df.data.Options()
        >>> a.deterministic, b.experimental_slack = True, False
        >>> a.merge(b)
        Options(deterministic=True, experimental_slack=False)
        """
        found: Options = self._updated(options)
        return found


class Configured(Stage):
    """A source with options. Positions do not depend on options."""

    given: Options

    def __init__(self, source: Stage, options: Options) -> None:
        super().__init__(source)
        self.given = Options().merge(options)           # later changes have no effect
        self.addressable: bool = source.addressable

    def describe(self) -> list[Any]:
        return self.source.describe()

    @property
    def size(self) -> int:
        return self.source.size

    @cached_property
    def spec(self) -> Any:
        return self.source.spec

    @property
    def is_cheap(self) -> bool:
        return self.source.is_cheap

    def cursor(self, epoch: int) -> Cursor:
        return self.source.cursor(epoch)

    def at(self, i: int) -> Any:
        return self.source.at(i)

    def span(self, begin: int, end: int) -> Any:
        return self.source.span(begin, end)

    def gather(self, order: Tensor, begin: int, end: int) -> Any:
        return self.source.gather(order, begin, end)


def options_of(last: Stage) -> Options:
    """Return the merged options of a stage and its inputs; later stages take precedence."""
    found = Options()
    for stage in stages(last):
        if isinstance(stage, Configured):
            found = stage.given.merge(found)
    return found
