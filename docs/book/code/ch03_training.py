"""The code of docs/book/ch03_training.md, from which docs/ext/book.py writes this file."""

import gzip
import sys
from pathlib import Path

import numpy as np
from ch01_tensors import Tensor, network, reduce_sum
from ch02_tape import GradientTape

FONT = """
01110 00100 01110 01110 00010 11111 00110 11111 01110 01110
10001 01100 10001 10001 00110 10000 01000 00001 10001 10001
10011 00100 00001 00001 01010 11110 10000 00010 10001 10001
10101 00100 00010 00110 10010 00001 11110 00100 01110 01111
11001 00100 00100 00001 11111 00001 10001 01000 10001 00001
10001 00100 01000 10001 00010 10001 10001 01000 10001 00010
01110 01110 11111 01110 00010 01110 01110 01000 01110 01100
"""


def generate(n, seed=0):
    """Return n noisy digits: images of shape (n, 56) and labels."""
    rows = [row.split() for row in FONT.split("\n")[1:-1]]
    font = np.array([[[int(pixel) for pixel in row[digit]] for row in rows]
                     for digit in range(10)], np.float32)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, n)
    images = rng.normal(0, 0.2, (n, 8, 7))
    for image, label in zip(images, labels, strict=True):
        y, x = rng.integers(0, 2), rng.integers(0, 3)
        image[y:y + 7, x:x + 5] += font[label]
    return images.clip(0, 1).reshape(n, 56), labels


def read_mnist(folder):
    """Return images of shape (n, 196) and labels from the files of a folder."""
    arrays = []
    for kind, header in (("images-idx3", 16), ("labels-idx1", 8)):
        path = min(Path(folder).glob(f"*{kind}-ubyte.gz"))
        arrays.append(np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=header))
    images = arrays[0].reshape(-1, 14, 2, 14, 2).mean((2, 4)) / 255
    return images.reshape(-1, 196), arrays[1]


def read_uci():
    """Return images of shape (1797, 64) and labels."""
    from sklearn.datasets import load_digits
    digits = load_digits()
    order = np.random.default_rng(1).permutation(1797)      # the writers differ, so mix them
    return digits.data[order] / 16, digits.target[order]


def one_hot(labels):
    return np.eye(10)[labels]


def loss_of(x, labels, *parameters):
    """Return the mean squared distance between the outputs and one-hot rows."""
    difference = network(x, *parameters) - labels
    return reduce_sum(difference * difference) / float(x.shape[0])


def initial_parameters(n_inputs, n_hidden, seed=0):
    """Return w1, b1, w2 and b2 for ten outputs."""
    rng = np.random.default_rng(seed)
    return [Tensor(rng.normal(0, (2 / n_inputs) ** 0.5, (n_inputs, n_hidden))),
            Tensor(np.zeros(n_hidden)),
            Tensor(np.zeros((n_hidden, 10))),
            Tensor(np.zeros(10))]


RATE = 0.2                  # the learning rate


def step(x, labels, *parameters):
    """Return the loss, and the parameters after one step."""
    with GradientTape() as tape:
        loss = loss_of(x, labels, *parameters)
    gradients = tape.gradient(loss, parameters)
    return [loss, *[p - RATE * g for p, g in zip(parameters, gradients, strict=True)]]


def accuracy(images, labels, parameters):
    """Return the share of images for which the largest output is at the label."""
    outputs = network(Tensor(images), *parameters).data
    return (outputs.argmax(1) == labels).mean()


def batches(images, labels, size, rng):
    """Yield the examples in random order; an incomplete last batch is left out."""
    order = rng.permutation(len(images))
    for begin in range(0, len(order) - size + 1, size):
        rows = order[begin:begin + size]
        yield Tensor(images[rows]), Tensor(one_hot(labels[rows]))


def train(images, labels, epochs=8, size=20, hidden=64, step=step, seed=0):
    """Return the parameters and the validation accuracy after each epoch."""
    rng = np.random.default_rng(seed)
    n = len(images) * 4 // 5
    parameters, history = initial_parameters(images.shape[1], hidden), []
    for _ in range(epochs):
        for x, y in batches(images[:n], labels[:n], size, rng):
            _, *parameters = step(x, y, *parameters)
        history.append(float(accuracy(images[n:], labels[n:], parameters)))
    return parameters, history


if __name__ == "__main__":
    folder = Path(sys.argv[-1])                         # of the MNIST files, or no folder
    data = read_mnist(folder) if folder.is_dir() else generate(1000)
    for epoch, share in enumerate(train(*data)[1], 1):
        print(f"epoch {epoch}: {share:.1%} of the validation images")


def step_arguments(hidden=16):
    """Return a batch of 20 digits, one-hot rows, and the initial parameters."""
    images, labels = generate(20)
    return [Tensor(images), Tensor(one_hot(labels)), *initial_parameters(56, hidden)]
