"""Keras models on many ranks: callbacks, under the names that Horovod gives them."""

from __future__ import annotations

from typing import Any

from keras import backend
from keras.callbacks import Callback

from dualflow._core import unwrapped
from dualflow.distribute.objects import allgather_object, broadcast_variables
from dualflow.distribute.overlap import Distributed, How, reduced
from dualflow.distribute.world import ProcessSet, check_set, global_process_set
from dualflow.errors import InvalidArgumentError

__all__ = ["BroadcastGlobalVariablesCallback", "LearningRateWarmupCallback",
           "MetricAverageCallback"]

if backend.backend() != "dualflow":
    raise ImportError(f"dualflow.distribute.keras: Keras runs on {backend.backend()}; import "
                      "dualflow.keras before keras")


class BroadcastGlobalVariablesCallback(Callback):
    """When training begins, all ranks get the weights of one, and what its optimizer holds.

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
        """All variables are made by now."""
        variables = [*self.model.weights, *self.model.optimizer.variables]
        broadcast_variables(variables, self._root, process_set=self._group)


class MetricAverageCallback(Callback):
    """What is told at the end of an epoch is the mean over ranks, for callbacks that come later.

    Parameters
    ----------
    process_set : ProcessSet
    """

    def __init__(self, *, process_set: ProcessSet = global_process_set) -> None:
        super().__init__()
        check_set("MetricAverageCallback", process_set)
        self._group = process_set

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Replaces the numbers in `logs`."""
        told = allgather_object({k: float(v) for k, v in (logs or {}).items()},
                                process_set=self._group)
        for key in logs or ():
            if any([key not in part for part in told]):
                raise InvalidArgumentError(f"MetricAverageCallback: not all ranks tell {key!r}; "
                                           "all have the same metrics, and validate or don't")
            logs[key] = sum([part[key] for part in told]) / len(told)


class LearningRateWarmupCallback(Callback):
    """The learning rate grows to that of all ranks, from that of one, in the first epochs (Goyal et
    al., "Accurate, large minibatch SGD", 2017, section 2.2).

    Parameters
    ----------
    initial_learning_rate : float
        That of one rank times the number of ranks: it is reached at the end.
    warmup_epochs : int, default 5
    verbose : int, default 0
        1: rank 0 says when it is reached.
    process_set : ProcessSet
    """

    def __init__(self, initial_learning_rate: float, warmup_epochs: int = 5, verbose: int = 0, *,
                 process_set: ProcessSet = global_process_set) -> None:
        super().__init__()
        check_set("LearningRateWarmupCallback", process_set)
        self._rate, self._epochs, self._verbose = initial_learning_rate, warmup_epochs, verbose
        self._group, self._epoch = process_set, 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Counts epochs."""
        self._epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """The rate of this batch."""
        if self._epoch < self._epochs:
            n = self._group.size()
            done = (self._epoch + batch / (self.params.get("steps") or 1)) / self._epochs
            self.model.optimizer.learning_rate = self._rate / n * (1 + done * (n - 1))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """From the next batch on, it is the whole rate."""
        if epoch == self._epochs - 1:
            self.model.optimizer.learning_rate = self._rate
            if self._verbose and self._group.rank() == 0:
                print(f"the learning rate is {self._rate:g} from here on, of "
                      f"{self._group.size()} ranks")


class _Distributed(Distributed):
    """What optimizers of Keras do instead, once they are distributed."""

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        variables: Any = self
        variables = variables._trainable_variables if trainable_variables is None else (
            list(trainable_variables))
        names = [getattr(unwrapped(v), "name", f"gradient {k}") for k, v in enumerate(variables)]
        update: Any = super()
        update.apply(reduced(self._how, list(grads), names), trainable_variables)


def distributed(optimizer: Any, how: How) -> Any:
    """An optimizer that has the state of another one; files know it as that."""
    if how.passes > 1:
        raise InvalidArgumentError("DistributedOptimizer: an optimizer of Keras adds up micro-"
                                   "batches by itself; give that gradient_accumulation_steps in "
                                   "place of backward_passes_per_step and shards")
    cls = type(optimizer)
    made: Any = object.__new__(type(cls.__name__, (_Distributed, cls),
                                    {"__module__": cls.__module__}))
    object.__setattr__(made, "__dict__", vars(optimizer))
    vars(made)["_how"] = how
    return made
