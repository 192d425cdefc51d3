"""Images of ten kinds, and text, as training data: generated here, always the same."""

import gzip
from pathlib import Path

import numpy as np

MNIST = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "mnist"


class Digits:
    """Images with one-hot labels, in batches that start again at the end."""

    def __init__(self, images, labels):
        self.images, self.labels, self._at = images, labels, 0

    def next_batch(self, n):
        """Return the next n images and labels."""
        rows = np.arange(self._at, self._at + n) % len(self.images)
        self._at = (self._at + n) % len(self.images)
        return self.images[rows], self.labels[rows]


def smooth(x):
    """Return images without sharp edges."""
    for axis in (1, 2):
        x = (x + np.roll(x, 1, axis) + np.roll(x, -1, axis)) / 3
    return x


def digits(n=1000, size=28, seed=0):
    """Return images of ten shapes, slightly moved and noisy, with values from 0 to 1."""
    rng = np.random.RandomState(seed + 1)
    shapes = np.random.RandomState(7).rand(10, size // 4, size // 4) > 0.6
    shapes = np.kron(shapes, np.ones([4, 4]))
    kinds = rng.randint(0, 10, n)
    images = np.stack([np.roll(shapes[k], rng.randint(-1, 2, 2), (0, 1)) for k in kinds])
    images = np.clip(smooth(images.astype(float)) + rng.randn(n, size, size) * 0.1, 0, 1)
    return Digits(images.reshape(n, -1).astype("float32"), np.eye(10, dtype="float32")[kinds])


def mnist():
    """Return MNIST's test images in two halves, or None if they are not available."""
    if not MNIST.is_dir():
        return None
    with gzip.open(MNIST / "t10k-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read()[16:], "uint8").reshape(-1, 784)
    with gzip.open(MNIST / "t10k-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read()[8:], "uint8")
    images, labels = images.astype("float32") / 255, np.eye(10, dtype="float32")[labels]
    return Digits(images[::2], labels[::2]), Digits(images[1::2], labels[1::2])


def numbered_text(n_words=50, n=6000, seed=0):
    """Return words as numbers; each is followed by one of a few related words."""
    rng = np.random.RandomState(seed)
    words = [0]
    for _ in range(n - 1):
        group = words[-1] // 5
        words.append(rng.randint(group * 5, group * 5 + 5) if rng.rand() < 0.9
                     else rng.randint(n_words))
    return np.array(words, "int32")
