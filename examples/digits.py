"""Train a classifier of handwritten digits, as a graph or eagerly.

    python examples/digits.py                 # the 1,797 digits that scikit-learn carries
    python examples/digits.py --data DIR      # MNIST files (train or t10k, idx format, gzip or not)
    python examples/digits.py --mode eager    # the same step without dualflow.function
    mpiexec -n 2 python examples/digits.py --distributed        # each rank takes a share of a batch

First times one epoch in each mode and checks that the losses are bit-identical. Then trains, prints
validation accuracy per epoch and a confusion table, and saves two pictures: the curves with the
table, and the misclassified digits.
"""

import argparse
import gzip
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

import dualflow as df


def sklearn_digits() -> tuple[np.ndarray, np.ndarray]:
    """Return 8x8 images scaled to [0, 1], shape (1797, 64), and labels."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return (digits.data / 16).astype(np.float32), digits.target.astype(np.int32)


def read_idx(directory: Path, kind: str) -> np.ndarray:
    """Read the MNIST file of a kind ("images-idx3" or "labels-idx1"): magic, dimensions, bytes."""
    found = sorted(directory.glob(f"*{kind}-ubyte*"), key=lambda p: "train" not in p.name)
    if not found:
        raise SystemExit(f"{directory} holds no *-{kind}-ubyte file")
    with (gzip.open if found[0].suffix == ".gz" else open)(found[0], "rb") as file:
        raw = file.read()
    ndim = raw[3]
    shape = np.frombuffer(raw, ">i4", ndim, offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * ndim).reshape(shape)


def mnist(directory: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return 28x28 images scaled to [0, 1], shape (n, 784), and labels."""
    images, labels = read_idx(directory, "images-idx3"), read_idx(directory, "labels-idx1")
    return (images.reshape(len(images), -1) / 255).astype(np.float32), labels.astype(np.int32)


class Classifier(df.Module):
    """Two hidden layers with relu and dropout; weights are initialised as in He et al. (2015)."""

    def __init__(self, n_inputs: int, n_hidden: int, n_classes: int, dropout: float) -> None:
        super().__init__()
        sizes = [n_inputs, n_hidden, n_hidden, n_classes]
        self.weights = [
            df.Variable(df.random.normal([m, n], stddev=(2 / m) ** 0.5), name=f"weights_{i}")
            for i, (m, n) in enumerate(zip(sizes, sizes[1:], strict=False))
        ]
        self.biases = [df.Variable(df.zeros([n]), name=f"bias_{i}")
                       for i, n in enumerate(sizes[1:])]
        self.dropout = dropout

    def __call__(self, images: df.Tensor, training: bool = False) -> df.Tensor:
        """Return logits, shape (batch, classes), for images, shape (batch, pixels)."""
        x = images
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = df.nn.bias_add(df.matmul(x, w), b)
            if i + 1 < len(self.weights):
                x = df.nn.relu(x)
                if training:
                    x = df.nn.dropout(x, rate=self.dropout)
        return x


class Training:
    """A classifier, its optimizer, and its step and prediction functions, traced in graph mode."""

    def __init__(self, images: df.Tensor, labels: df.Tensor, options: argparse.Namespace,
                 mode: str) -> None:
        df.random.set_seed(options.seed)
        self.batches = df.data.Dataset.from_tensor_slices((images, labels)).shuffle(
            len(images)).batch(options.batch, drop_remainder=True)
        self.model = Classifier(images.shape[1], options.hidden, 10, options.dropout)
        n_steps = options.epochs * len(self.batches)
        rate = df.optimizers.schedules.CosineDecay(options.learning_rate, n_steps)
        self.optimizer = df.optimizers.Adam(rate)
        self.rank, self.ranks = 0, 1
        if options.distributed:
            self.rank, self.ranks = df.distribute.rank(), df.distribute.size()
            self.optimizer = df.distribute.DistributedOptimizer(self.optimizer)
            df.distribute.broadcast_variables(self.model.variables)
        self.step, self.predict = self._step, self._predict
        if mode == "graph":
            self.step, self.predict = df.function(self._step), df.function(self._predict)

    def _step(self, images: df.Tensor, labels: df.Tensor) -> df.Tensor:
        with df.GradientTape() as tape:
            logits = self.model(images, training=True)
            losses = df.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = df.reduce_mean(losses)
        gradients = tape.gradient(loss, self.model.variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.variables, strict=True))
        return loss

    def _predict(self, images: df.Tensor) -> df.Tensor:
        return df.argmax(self.model(images), axis=1)

    def epoch(self, title: str) -> list[float]:
        """Train on all images in random order; return the loss of each step."""
        batches = tqdm(self.batches, desc=title, leave=False, disable=self.rank > 0)
        losses = [self.share(images, labels) for images, labels in batches]
        return [loss.item() for loss in losses]

    def share(self, images: df.Tensor, labels: df.Tensor) -> df.Tensor:
        """Run a step on this rank's share of a batch, with dropout keys that depend on the rank."""
        if self.ranks == 1:
            return self.step(images, labels)
        with df.distribute.shard(self.optimizer.iterations.numpy().item(), self.rank):
            return self.step(images[self.rank::self.ranks], labels[self.rank::self.ranks])


def compare_modes(images: df.Tensor, labels: df.Tensor, options: argparse.Namespace) -> None:
    """Time one epoch in each mode, after an untimed step, which may trace."""
    seconds, losses = {}, {}
    for mode in ("eager", "graph"):
        training = Training(images, labels, options, mode)
        training.step(images[: options.batch], labels[: options.batch])
        start = time.perf_counter()
        losses[mode] = training.epoch(mode)
        seconds[mode] = time.perf_counter() - start
    same = "identical" if losses["eager"] == losses["graph"] else "NOT identical"
    print(f"one epoch: eager {seconds['eager']:.3f} s, graph {seconds['graph']:.3f} s "
          f"({seconds['eager'] / seconds['graph']:.1f} times faster); losses {same}\n")


def print_confusion(table: np.ndarray) -> None:
    print("\nconfusion (rows: digit, columns: predicted)")
    print("      " + "".join(f"{i:5d}" for i in range(10)))
    for digit, row in enumerate(table):
        print(f"{digit:5d} " + "".join(f"{n:5d}" if n else "    ." for n in row))


def save_training(path: Path, losses: list[float], accuracies: list[float],
                  table: np.ndarray) -> None:
    """Draw the loss of each step with the accuracy of each epoch, and the confusion table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="tight")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    left.semilogy(np.linspace(0, len(accuracies), len(losses)), losses, linewidth=0.6)
    left.set(xlabel="epoch", ylabel="loss", title="Training")
    beside = left.twinx()
    beside.plot(range(1, len(accuracies) + 1), accuracies, "o-", color="C1", markersize=3)
    beside.set(ylabel="validation accuracy", ylim=(None, 1))
    right.imshow(np.log1p(table), cmap="Blues")
    for digit, predicted in zip(*np.nonzero(table), strict=True):
        right.text(predicted, digit, table[digit, predicted], ha="center", va="center", fontsize=8,
                   color="white" if digit == predicted else "black")
    right.set(xlabel="predicted", ylabel="digit", title="Confusion", xticks=range(10),
              yticks=range(10))
    figure.savefig(path, dpi=120)


def save_mistakes(path: Path, images, labels, predictions) -> int:
    """Draw up to 24 misclassified digits, titled "label: prediction"."""
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
    parser.add_argument("--mode", choices=["eager", "graph"], default="graph")
    parser.add_argument("--distributed", action="store_true",
                        help="started by mpiexec: a batch is divided among its processes")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", type=Path, default=Path("misclassified.png"))
    parser.add_argument("--curves", type=Path, default=Path("training.png"))
    return parser.parse_args()


def main() -> None:
    options = parse_arguments()
    if options.distributed:
        df.distribute.init()
    images, labels = mnist(options.data) if options.data else sklearn_digits()
    n_validation = min(1000, len(images) // 5)
    order = np.random.default_rng(options.seed).permutation(len(images))
    images, labels = df.constant(images[order]), df.constant(labels[order])
    val_images, val_labels = images[:n_validation], labels[:n_validation]
    images, labels = images[n_validation:], labels[n_validation:]

    first = not options.distributed or df.distribute.rank() == 0    # other ranks print nothing
    if not options.distributed:
        compare_modes(images, labels, options)
    training = Training(images, labels, options, options.mode)
    all_losses: list[float] = []
    accuracies: list[float] = []
    for epoch in range(1, options.epochs + 1):
        start = time.perf_counter()
        losses = training.epoch(f"epoch {epoch:2d}")
        if options.distributed:         # each rank has the losses of its share
            losses = df.distribute.allreduce(losses, name="losses").tolist()
        seconds = time.perf_counter() - start
        accuracy = np.mean(training.predict(val_images).numpy() == val_labels.numpy())
        all_losses += losses
        accuracies.append(float(accuracy))
        if first:
            print(f"epoch {epoch:2d}: loss {np.mean(losses):.4f}, validation accuracy "
                  f"{accuracy:.2%}, {seconds:.3f} s")
    if not first:
        return

    predictions = training.predict(val_images)
    table = df.math.confusion_matrix(val_labels, predictions, num_classes=10).numpy()
    print_confusion(table)
    save_training(options.curves, all_losses, accuracies, table)
    wrong = save_mistakes(options.picture, val_images, val_labels, predictions)
    print(f"\n{wrong} of {n_validation} misclassified; pictures in {options.picture} "
          f"and {options.curves}")


if __name__ == "__main__":
    main()
