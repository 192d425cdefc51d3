"""Optimizers with Keras' names, which update variables in place by gradients."""

from dualflow.optimizers import schedules
from dualflow.optimizers.adagrad import Adagrad
from dualflow.optimizers.adam import Adam, AdamW
from dualflow.optimizers.base import Optimizer
from dualflow.optimizers.rmsprop import RMSprop
from dualflow.optimizers.sgd import SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "schedules"]


def __dir__() -> list[str]:
    return __all__
