"""`tf.contrib`: the parts that programs used most."""

from dualflow.compat.v1.contrib import eager as eager, layers as layers, rnn as rnn
