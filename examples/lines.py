"""Train a recurrent network on sequences of different lengths: is a line code, or prose?

    python examples/lines.py                # lines of Python's standard library, a minute
    python examples/lines.py --steps 100    # a first impression

A Python loop over the characters runs up to the longest line of each batch. Prints the accuracy on
held-out files, and the predictions for some lines.
"""

import argparse
import io
import os
import tokenize
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tqdm import tqdm

import dualflow as df

EXAMPLES = ["for name in sorted(found):", "Return the names in alphabetical order.",
            "return names", "if there is none, an error is raised", "if there is None:"]


def lines_of(path: Path) -> list[tuple[str, int]]:
    """Return the lines of a module with labels: 1 for docstrings and comments, 0 for code."""
    found = []
    with tokenize.open(path) as file:
        text = file.read()
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, tokenize.TokenError):
        return []
    prose = {k for t in tokens if t.type in (tokenize.STRING, tokenize.COMMENT)
             and t.line.strip().startswith(t.string[:3])
             for k in range(t.start[0], t.end[0] + 1)}
    for k, line in enumerate(text.splitlines(), 1):
        line = line.strip().strip("#\"'").strip()
        if len(line) >= 8 and line.isascii():
            found.append((line[:100], int(k in prose)))
    return found


class Batches:
    """Lines as codes of characters, padded to the longest in a batch."""

    def __init__(self, files: list[Path], seed: int) -> None:
        lines = dict(line for file in files for line in lines_of(file))
        self.codes = [np.frombuffer(line.encode(), np.uint8).astype(np.int32) for line in lines]
        self.labels = np.array(list(lines.values()), np.float32)
        self.rng = np.random.default_rng(seed)

    def draw(self, n: int) -> tuple[df.Tensor, df.Tensor, df.Tensor]:
        """Return codes (n, longest), lengths and labels, with half of the lines of each label."""
        half = [self.rng.choice(np.flatnonzero(self.labels == k), n // 2) for k in (0, 1)]
        return padded([self.codes[k] for k in np.concatenate(half)]) + (
            df.constant(self.labels[np.concatenate(half)]),)


def padded(codes: list[np.ndarray]) -> tuple[df.Tensor, df.Tensor]:
    lengths = np.array([len(c) for c in codes], np.int32)
    table = np.zeros((len(codes), lengths.max()), np.int32)
    for row, c in zip(table, codes, strict=True):
        row[:len(c)] = c
    return df.constant(table), df.constant(lengths)


class Reader:
    """A gated recurrent unit (Cho et al., 2014) that reads a line from left to right."""

    def __init__(self, width: int, units: int) -> None:
        glorot = df.initializers.glorot_uniform
        self.table = df.Variable(df.random.normal([128, width], stddev=0.1))
        self.gates = df.Variable(glorot([width + units, 2 * units]))
        self.gates_bias = df.Variable(df.zeros([2 * units]))
        self.state = df.Variable(glorot([width + units, units]))
        self.state_bias = df.Variable(df.zeros([units]))
        self.out = df.Variable(glorot([units, 1]))
        self.variables = [self.table, self.gates, self.gates_bias, self.state, self.state_bias,
                          self.out]

    def step(self, x: df.Tensor, h: df.Tensor) -> df.Tensor:
        gates = df.sigmoid(df.concat([x, h], 1) @ self.gates + self.gates_bias)
        keep, use = df.split(gates, 2, axis=1)
        new = df.tanh(df.concat([x, use * h], 1) @ self.state + self.state_bias)
        return keep * h + (1. - keep) * new

    def __call__(self, codes: df.Tensor, lengths: df.Tensor) -> df.Tensor:
        """Return logits that lines are prose. The state of a line is fixed after its end."""
        h = df.zeros([codes.shape[0], self.state.shape[1]])
        for t in range(df.reduce_max(lengths)):
            after = self.step(df.gather(self.table, codes[:, t]), h)
            h = df.where((t < lengths)[:, None], after, h)
        return (h @ self.out)[:, 0]


def training_step(reader: Reader, optimizer: df.optimizers.Optimizer) -> Callable:
    """Return a training step, a function from a batch of any size, as drawn, to the loss."""
    @df.function(input_signature=[df.TensorSpec([None, None], df.int32),
                                  df.TensorSpec([None], df.int32), df.TensorSpec([None])])
    def step(codes, lengths, labels):
        with df.GradientTape() as tape:
            logits = reader(codes, lengths)
            loss = df.reduce_mean(df.nn.sigmoid_cross_entropy_with_logits(
                labels=labels, logits=logits))
        gradients, _ = df.clip_by_global_norm(tape.gradient(loss, reader.variables), 1.)
        optimizer.apply_gradients(zip(gradients, reader.variables, strict=True))
        return loss

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, value in {"steps": 600, "batch": 64, "width": 16, "units": 64, "seed": 1,
                        "learning_rate": 5e-3}.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    options = parser.parse_args()
    df.random.set_seed(options.seed)
    files = sorted(Path(os.__file__).parent.glob("*.py"))
    training, held_out = Batches(files[::2], options.seed), Batches(files[1::2], options.seed)
    print(f"{len(training.codes):,} lines of {min(map(len, training.codes))} to "
          f"{max(map(len, training.codes))} characters")
    reader, optimizer = Reader(options.width, options.units), df.optimizers.Adam(
        options.learning_rate)

    step, read, losses = training_step(reader, optimizer), df.function(reader), []
    for _ in (bar := tqdm(range(options.steps), "training")):
        losses.append(step(*training.draw(options.batch)).item())
        bar.set_postfix(loss=f"{np.mean(losses[-50:]):.3f}")
    codes, lengths, labels = held_out.draw(2000)
    right = (read(codes, lengths).numpy() > 0) == (labels.numpy() > 0)
    print(f"loss {np.mean(losses[:20]):.3f} at first, {np.mean(losses[-20:]):.3f} in the end; "
          f"{right.mean():.1%} of the lines held out are scores apart")
    scores = read(*padded([np.frombuffer(x.encode(), np.uint8).astype(np.int32) for x in EXAMPLES]))
    for line, p in zip(EXAMPLES, df.sigmoid(scores).tolist(), strict=True):
        print(f"{p:4.0%} prose: {line}")


if __name__ == "__main__":
    main()
