"""Train a convolutional network on handwritten digits.

    python examples/convnet.py                # the 1,797 digits that scikit-learn carries, 8x8
    python examples/convnet.py --data DIR     # MNIST files (train or t10k, idx format, gzip or not)

Two blocks of two 3x3 convolutions and a max-pool, then two dense layers; images are shifted by up
to a pixel at random. Prints validation accuracy per epoch, and saves a picture of the loss.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from digits import mnist, sklearn_digits
from tqdm import tqdm

import dualflow as df


class ConvNet:
    """A network with channels last; weights are initialised as in He et al. (2015)."""

    def __init__(self, side: int, channels: int, hidden: int, dropout: float) -> None:
        self.dropout = dropout
        self.filters = [self.weight(3, 3, m, n) for m, n in (
            (1, channels), (channels, channels),
            (channels, 2 * channels), (2 * channels, 2 * channels))]
        flat = (side // 2 // 2) ** 2 * 2 * channels
        self.dense = [self.weight(flat, hidden), self.weight(hidden, 10)]
        self.biases = [df.Variable(df.zeros(w.shape[-1:])) for w in self.filters + self.dense]

    def weight(self, *shape: int) -> df.Variable:
        return df.Variable(df.random.normal(shape, stddev=(2 / np.prod(shape[:-1])) ** 0.5))

    @property
    def variables(self) -> list[df.Variable]:
        return self.filters + self.dense + self.biases

    def __call__(self, x: df.Tensor, training: bool = False) -> df.Tensor:
        """Return logits, shape (batch, classes), for images, shape (batch, side, side, 1)."""
        for i, (w, b) in enumerate(zip(self.filters, self.biases, strict=False)):
            x = df.nn.relu(df.nn.conv2d(x, w, strides=1, padding="SAME") + b)
            if i % 2:
                x = df.nn.max_pool2d(x, 2, 2, "VALID")
        x = df.reshape(x, [x.shape[0], -1])
        if training:
            x = df.nn.dropout(x, rate=self.dropout)
        x = df.nn.relu(x @ self.dense[0] + self.biases[-2])
        if training:
            x = df.nn.dropout(x, rate=self.dropout)
        return x @ self.dense[1] + self.biases[-1]


class Training:
    """A network, its optimizer, and its two traced functions."""

    def __init__(self, images: df.Tensor, labels: df.Tensor, options: argparse.Namespace) -> None:
        df.random.set_seed(options.seed)
        self.images, self.labels, self.batch = images, labels, options.batch
        self.moves = np.random.default_rng(options.seed)
        self.model = ConvNet(images.shape[1], options.channels, options.hidden, options.dropout)
        n_steps = options.epochs * (len(images) // options.batch)
        rate = df.optimizers.schedules.CosineDecay(options.learning_rate, n_steps)
        self.optimizer = df.optimizers.Adam(rate)
        self.optimizer.build(self.model.variables)

    @df.function
    def step(self, images: df.Tensor, labels: df.Tensor) -> df.Tensor:
        with df.GradientTape() as tape:
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=self.model(images, training=True)))
        gradients = tape.gradient(loss, self.model.variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.variables, strict=True))
        return loss

    @df.function
    def predict(self, images: df.Tensor) -> df.Tensor:
        return df.argmax(self.model(images), axis=1)

    def moved(self, images: df.Tensor) -> df.Tensor:
        """Shift a batch by up to a pixel in each direction; the borders of digits are empty."""
        return df.roll(images, self.moves.integers(-1, 2, 2).tolist(), axis=[1, 2])

    def epoch(self, title: str) -> list[float]:
        """Train on all images in random order; return the loss of each step."""
        order = df.random.shuffle(df.range(len(self.images)))
        losses = []
        for begin in tqdm(range(0, len(order) - self.batch + 1, self.batch), title, leave=False):
            batch = order[begin : begin + self.batch]
            images = self.moved(df.gather(self.images, batch))
            losses.append(self.step(images, df.gather(self.labels, batch)))
        return [loss.item() for loss in losses]

    def accuracy(self, images: df.Tensor, labels: df.Tensor, batch: int = 250) -> float:
        found = [self.predict(images[k : k + batch]).numpy() for k in range(0, len(images), batch)]
        return float(np.mean(np.concatenate(found) == labels.numpy()))


def save_curve(path: Path, losses: list[float]) -> None:
    """Draw the loss of each step."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    axes.semilogy(losses, linewidth=0.7)
    axes.set(xlabel="step", ylabel="loss")
    figure.savefig(path, dpi=120)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with MNIST files; default: scikit-learn")
    parser.add_argument("--epochs", type=int, help="default 12 with --data, else 40")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--channels", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--dropout", type=float, default=0.4)
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", type=Path, default=Path("convnet_loss.png"))
    return parser.parse_args()


def main() -> None:
    options = parse_arguments()
    options.epochs = options.epochs or (12 if options.data else 40)
    images, labels = mnist(options.data) if options.data else sklearn_digits()
    side = round(images.shape[1] ** 0.5)
    order = np.random.default_rng(options.seed).permutation(len(images))
    images = df.constant(images[order].reshape(-1, side, side, 1))
    labels = df.constant(labels[order])
    n = min(1000, len(images) // 5)
    training, losses = Training(images[n:], labels[n:], options), []
    for epoch in range(1, options.epochs + 1):
        start = time.perf_counter()
        losses += training.epoch(f"epoch {epoch:2d}")
        seconds = time.perf_counter() - start
        accuracy = training.accuracy(images[:n], labels[:n])
        print(f"epoch {epoch:2d}: loss {np.mean(losses[-20:]):.4f}, validation accuracy "
              f"{accuracy:.2%}, {seconds:.2f} s")
    save_curve(options.picture, losses)
    print(f"loss of each step in {options.picture}")


if __name__ == "__main__":
    main()
