"""`tf.nn.rnn_cell`: cells of recurrent networks."""

from dualflow.compat.v1.rnn_cell.base import (
    LSTMStateTuple as LSTMStateTuple,
    RNNCell as RNNCell,
)
from dualflow.compat.v1.rnn_cell.cells import (
    BasicLSTMCell as BasicLSTMCell,
    BasicRNNCell as BasicRNNCell,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
)
from dualflow.compat.v1.rnn_cell.wrappers import (
    DropoutWrapper as DropoutWrapper,
    MultiRNNCell as MultiRNNCell,
    ResidualWrapper as ResidualWrapper,
)

_MODULES = {"base", "cells", "wrappers"}


def __dir__() -> list[str]:
    return sorted({*globals()} - {*_MODULES, "_MODULES"})
