"""Callbacks for Keras models on many ranks, with the names of Horovod's callbacks."""

from __future__ import annotations

from typing import Any

from keras import backend
from keras.callbacks import Callback

from dualflow._core import unwrapped
from dualflow.distribute.objects import allgather_object, broadcast_variables
from dualflow.distribute.overlap import Distributed, ReductionConfig, reduced
from dualflow.distribute.world import ProcessSet, check_set, global_process_set
from dualflow.errors import InvalidArgumentError

__all__ = ["BroadcastGlobalVariablesCallback", "LearningRateWarmupCallback",
           "MetricAverageCallback"]

if backend.backend() != "dualflow":
    raise ImportError(f"dualflow.distribute.keras: Keras runs on {backend.backend()}; import "
                      "dualflow.keras before keras")


class BroadcastGlobalVariablesCallback(Callback):
    """Copies the weights and optimizer variables of one rank to all ranks when training begins.

    Parameters
    ----------
    root_rank : int, default 0
    process_set : ProcessSet

    Examples
    --------
    >>> import dualflow as df
    >>> import dualflow.keras as keras
    >>> import dualflow.distribute.keras
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> model = keras.Sequential([keras.layers.Dense(1)])
    >>> model.compile(df.distribute.DistributedOptimizer(keras.optimizers.SGD(0.1)), "mse")
    >>> everywhere = df.distribute.keras.BroadcastGlobalVariablesCallback()
    >>> history = model.fit(df.ones([8, 3]), df.ones([8, 1]), callbacks=[everywhere], verbose=0)
    """

    def __init__(self, root_rank: int = 0, *,
                 process_set: ProcessSet = global_process_set) -> None:
        super().__init__()
        check_set("BroadcastGlobalVariablesCallback", process_set)
        self._root, self._group = root_rank, process_set

    def on_train_begin(self, logs: Any = None) -> None:
        """Broadcast the variables, all of which exist by now."""
        variables = [*self.model.weights, *self.model.optimizer.variables]
        broadcast_variables(variables, self._root, process_set=self._group)


class MetricAverageCallback(Callback):
    """Averages the logs of an epoch over all ranks, for callbacks after it in the list.

    Parameters
    ----------
    process_set : ProcessSet
    """

    def __init__(self, *, process_set: ProcessSet = global_process_set) -> None:
        super().__init__()
        check_set("MetricAverageCallback", process_set)
        self._group = process_set

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Replace the values in `logs` by their means."""
        by_rank = allgather_object({k: float(v) for k, v in (logs or {}).items()},
                                   process_set=self._group)
        for key in logs or ():
            if any([key not in part for part in by_rank]):
                raise InvalidArgumentError(f"MetricAverageCallback: not all ranks have {key!r}; "
                                           "use the same metrics and validation on all ranks")
            logs[key] = sum([part[key] for part in by_rank]) / len(by_rank)


class LearningRateWarmupCallback(Callback):
    """Increases the learning rate in the first epochs from its value for one rank to its value for
    all ranks (Goyal et al., "Accurate, large minibatch SGD", 2017, section 2.2).

    Parameters
    ----------
    initial_learning_rate : float
        The final rate: the rate for one rank times the number of ranks.
    warmup_epochs : int, default 5
    verbose : int, default 0
        If 1, rank 0 prints a line when the final rate is reached.
    process_set : ProcessSet
    """

    def __init__(self, initial_learning_rate: float, warmup_epochs: int = 5, verbose: int = 0, *,
                 process_set: ProcessSet = global_process_set) -> None:
        super().__init__()
        check_set("LearningRateWarmupCallback", process_set)
        self._rate, self._epochs, self._verbose = initial_learning_rate, warmup_epochs, verbose
        self._group, self._epoch = process_set, 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Store the number of the epoch."""
        self._epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Set the rate of this batch."""
        if self._epoch < self._epochs:
            n = self._group.size()
            done = (self._epoch + batch / (self.params.get("steps") or 1)) / self._epochs
            self.model.optimizer.learning_rate = self._rate / n * (1 + done * (n - 1))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Set the final rate after the last warmup epoch."""
        if epoch == self._epochs - 1:
            self.model.optimizer.learning_rate = self._rate
            if self._verbose and self._group.rank() == 0:
                print(f"the learning rate is {self._rate:g} from here on, for "
                      f"{self._group.size()} ranks")


class _Distributed(Distributed):
    """The overridden methods of distributed Keras optimizers."""

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        variables: Any = self
        variables = variables._trainable_variables if trainable_variables is None else (
            list(trainable_variables))
        names = [getattr(unwrapped(v), "name", f"gradient {k}") for k, v in enumerate(variables)]
        update: Any = super()
        update.apply(reduced(self._how, list(grads), names), trainable_variables)


def distributed(optimizer: Any, how: ReductionConfig) -> Any:
    """Return a distributed optimizer that shares its state and serialised class name with another.
    """
    if how.passes > 1:
        raise InvalidArgumentError("DistributedOptimizer: an optimizer of Keras accumulates micro-"
                                   "batches itself; pass it gradient_accumulation_steps instead of "
                                   "backward_passes_per_step and shards")
    cls = type(optimizer)
    made: Any = object.__new__(type(cls.__name__, (_Distributed, cls),
                                    {"__module__": cls.__module__}))
    object.__setattr__(made, "__dict__", vars(optimizer))
    vars(made)["_how"] = how
    return made
