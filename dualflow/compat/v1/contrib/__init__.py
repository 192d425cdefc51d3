"""`tf.contrib`: its most used parts."""

from dualflow.compat.v1.contrib import eager as eager, layers as layers, rnn as rnn
