"""`tf.contrib.rnn`: aliases of `tf.nn.rnn_cell` and `tf.nn.static_rnn`."""

from dualflow.compat.v1.rnn import (
    static_bidirectional_rnn as static_bidirectional_rnn,
    static_rnn as static_rnn,
)
from dualflow.compat.v1.rnn_cell import (
    BasicLSTMCell as BasicLSTMCell,
    BasicRNNCell as BasicRNNCell,
    DropoutWrapper as DropoutWrapper,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    LSTMStateTuple as LSTMStateTuple,
    MultiRNNCell as MultiRNNCell,
    ResidualWrapper as ResidualWrapper,
    RNNCell as RNNCell,
)
