"""Ten representative figures, which `history.py` draws, in seconds.

The work is taken from `side_by_side.py`.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))   # asv imports only this folder

from peers import in_dualflow as work

IMAGES = {"batch": 8, "size": 56, "inputs": 64, "outputs": 64, "kernel": 3, "backward": True}


class Headline:
    params = ["a + b, 4 elements", "traced a + b, 4 elements", "10 x tanh, sum, gradient",
              "traced chain of 1,000 ops", "GELU by hand, traced, 1 M", "softmax, 1024 x 1024",
              "matmul 64 x 1024 x 1024", "conv 3x3, 64 channels, with gradients",
              "training step 784-128-10", "training step, convolutional network"]
    param_names = ["work"]
    timeout = 300

    def setup(self, name):
        made = {
            "a + b, 4 elements": lambda: work.add(4),
            "traced a + b, 4 elements": lambda: work.add_traced(4),
            "10 x tanh, sum, gradient": work.ten_tanh,
            "traced chain of 1,000 ops": lambda: work.chain(1000),
            "GELU by hand, traced, 1 M": lambda: work.gelu(1 << 20),
            "softmax, 1024 x 1024": lambda: work.softmax(False),
            "matmul 64 x 1024 x 1024": lambda: work.matmul(64, 1024, 1024),
            "conv 3x3, 64 channels, with gradients": lambda: work.conv(**IMAGES),
            "training step 784-128-10": lambda: work.mlp_step(32, [784, 128, 10], False),
            "training step, convolutional network": lambda: work.cnn_step(64),
        }[name]
        try:
            self.call = made()
            self.call()
        except AttributeError as error:     # an older version lacks a function
            raise NotImplementedError(str(error)) from error

    def time_work(self, name):
        self.call()
