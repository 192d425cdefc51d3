"""Train a classifier of handwritten digits, eagerly.

    python examples/digits.py                 # the 1,797 digits that scikit-learn carries
    python examples/digits.py --data DIR      # MNIST files (train or t10k, idx format, gzip or not)

Prints validation accuracy per epoch and a confusion table, and saves a picture of the digits that
were misclassified.
"""

import argparse
import gzip
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

import dualflow as df


def sklearn_digits() -> tuple[np.ndarray, np.ndarray]:
    """8x8 images scaled to [0, 1], shape (1797, 64), and labels."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return (digits.data / 16).astype(np.float32), digits.target.astype(np.int32)


def read_idx(directory: Path, kind: str) -> np.ndarray:
    """The MNIST file of a kind ("images-idx3" or "labels-idx1"): magic, dimensions, bytes."""
    found = sorted(directory.glob(f"*{kind}-ubyte*"), key=lambda p: "train" not in p.name)
    if not found:
        raise SystemExit(f"{directory} holds no *-{kind}-ubyte file")
    with (gzip.open if found[0].suffix == ".gz" else open)(found[0], "rb") as file:
        raw = file.read()
    ndim = raw[3]
    shape = np.frombuffer(raw, ">i4", ndim, offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * ndim).reshape(shape)


def mnist(directory: Path) -> tuple[np.ndarray, np.ndarray]:
    """28x28 images scaled to [0, 1], shape (n, 784), and labels."""
    images, labels = read_idx(directory, "images-idx3"), read_idx(directory, "labels-idx1")
    return (images.reshape(len(images), -1) / 255).astype(np.float32), labels.astype(np.int32)


class Classifier:
    """Two hidden layers with relu and dropout; weights start as He et al. (2015) propose."""

    def __init__(self, n_inputs: int, n_hidden: int, n_classes: int, dropout: float) -> None:
        sizes = [n_inputs, n_hidden, n_hidden, n_classes]
        self.weights = [
            df.Variable(df.random.normal([m, n], stddev=(2 / m) ** 0.5), name=f"weights_{i}")
            for i, (m, n) in enumerate(zip(sizes, sizes[1:], strict=False))
        ]
        self.biases = [df.Variable(df.zeros([n]), name=f"bias_{i}")
                       for i, n in enumerate(sizes[1:])]
        self.dropout = dropout

    @property
    def variables(self) -> list[df.Variable]:
        return self.weights + self.biases

    def __call__(self, images: df.Tensor, training: bool = False) -> df.Tensor:
        """Logits, shape (batch, classes), of images, shape (batch, pixels)."""
        x = images
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = df.nn.bias_add(df.matmul(x, w), b)
            if i + 1 < len(self.weights):
                x = df.nn.relu(x)
                if training:
                    x = df.nn.dropout(x, rate=self.dropout)
        return x


def train_step(model, optimizer, images, labels) -> df.Tensor:
    with df.GradientTape() as tape:
        logits = model(images, training=True)
        losses = df.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = df.reduce_mean(losses)
    gradients = tape.gradient(loss, model.variables)
    optimizer.apply_gradients(zip(gradients, model.variables, strict=True))
    return loss


def predict(model: Classifier, images: df.Tensor) -> df.Tensor:
    return df.argmax(model(images), axis=1)


def print_confusion(labels: df.Tensor, predictions: df.Tensor) -> None:
    table = df.math.confusion_matrix(labels, predictions, num_classes=10).numpy()
    print("\nconfusion (rows: digit, columns: predicted)")
    print("      " + "".join(f"{i:5d}" for i in range(10)))
    for digit, row in enumerate(table):
        print(f"{digit:5d} " + "".join(f"{n:5d}" if n else "    ." for n in row))


def save_mistakes(path: Path, images, labels, predictions) -> int:
    """Draws up to 24 misclassified digits, titled "label: prediction"."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    wrong = np.flatnonzero(labels.numpy() != predictions.numpy())
    side = int(images.shape[1] ** 0.5)
    n_rows = max(1, -(-min(len(wrong), 24) // 6))
    figure, axes = plt.subplots(n_rows, 6, figsize=(6, 0.6 + 1.1 * n_rows), squeeze=False)
    for ax in axes.flat:
        ax.axis("off")
    for ax, i in zip(axes.flat, wrong, strict=False):
        ax.imshow(images[int(i)].numpy().reshape(side, side), cmap="gray_r")
        ax.set_title(f"{labels[int(i)].item()}: {predictions[int(i)].item()}", fontsize=9)
    figure.suptitle(f"{len(wrong)} of {len(labels)} misclassified (digit: prediction)")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return len(wrong)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with MNIST files; default: scikit-learn")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", type=Path, default=Path("misclassified.png"))
    return parser.parse_args()


def main() -> None:
    options = parse_arguments()
    df.random.set_seed(options.seed)
    images, labels = mnist(options.data) if options.data else sklearn_digits()
    n_validation = min(1000, len(images) // 5)
    order = np.random.default_rng(options.seed).permutation(len(images))
    images, labels = df.constant(images[order]), df.constant(labels[order])
    val_images, val_labels = images[:n_validation], labels[:n_validation]
    images, labels = images[n_validation:], labels[n_validation:]

    model = Classifier(images.shape[1], options.hidden, 10, options.dropout)
    n_steps = options.epochs * (len(images) // options.batch)
    rate = df.optimizers.schedules.CosineDecay(options.learning_rate, n_steps)
    optimizer = df.optimizers.Adam(rate)

    for epoch in range(1, options.epochs + 1):
        start, total = time.perf_counter(), 0.0
        order = df.random.shuffle(df.range(len(images)))
        batches = range(0, len(images) - options.batch + 1, options.batch)
        bar = tqdm(batches, desc=f"epoch {epoch:2d}", leave=False)
        for begin in bar:
            batch = order[begin : begin + options.batch]
            total += train_step(model, optimizer, df.gather(images, batch),
                                df.gather(labels, batch)).item()
        accuracy = np.mean(predict(model, val_images).numpy() == val_labels.numpy())
        print(f"epoch {epoch:2d}: loss {total / len(batches):.4f}, validation accuracy "
              f"{accuracy:.2%}, {time.perf_counter() - start:.3f} s")

    predictions = predict(model, val_images)
    print_confusion(val_labels, predictions)
    wrong = save_mistakes(options.picture, val_images, val_labels, predictions)
    print(f"\n{wrong} of {n_validation} misclassified; picture in {options.picture}")


if __name__ == "__main__":
    main()
