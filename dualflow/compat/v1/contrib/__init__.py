"""`tf.contrib`: its most used parts."""

from dualflow.compat.v1.contrib import (
    data as data,
    eager as eager,
    framework as framework,
    layers as layers,
    rnn as rnn,
)
