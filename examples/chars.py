"""Train a character-level LSTM on a text that ships with Python, and let it generate text.

    python examples/chars.py                    # sources of the standard library
    python examples/chars.py --text license     # Python's own license
    python examples/chars.py --text FILE        # any text

Prints generated text after each pass through the text, and saves a picture of the loss.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

import dualflow as df

MODULES = "argparse", "ast", "dataclasses", "inspect", "json.decoder", "pathlib", "typing"


def read_text(name: str) -> str:
    """Return the text of a file, Python's license, or standard library modules; ASCII only."""
    library = Path(json.__file__).parents[1]
    if name == "library":
        files = [library / (m.replace(".", "/") + ".py") for m in MODULES]
    else:
        files = [library / "LICENSE.txt" if name == "license" else Path(name)]
    return "".join(c for f in files for c in f.read_text(encoding="utf-8") if c.isascii())


class Writer:
    """LSTM layers from characters to logits of the next character."""

    def __init__(self, n_chars: int, width: int, units: int, layers: int) -> None:
        glorot = df.initializers.glorot_uniform
        self.table = df.Variable(df.random.normal([n_chars, width], stddev=0.1))
        sizes = [width] + [units] * (layers - 1)
        self.kernels = [df.Variable(glorot([n, 4 * units])) for n in sizes]
        self.recurrent = [df.Variable(glorot([units, 4 * units])) for _ in sizes]
        forget = np.repeat(np.array([0, 1, 0, 0], np.float32), units)   # bias of the forget gate
        self.biases = [df.Variable(forget) for _ in sizes]
        self.out = df.Variable(glorot([units, n_chars]))
        self.variables = [self.table, *self.kernels, *self.recurrent, *self.biases, self.out]

    def start(self, batch: int) -> tuple[df.Tensor, df.Tensor]:
        shape = [len(self.kernels), batch, self.recurrent[0].shape[0]]
        return df.zeros(shape), df.zeros(shape)

    def __call__(self, chars, state):
        """Return logits (time, batch, characters) for chars (time, batch), and the final state."""
        x = df.gather(self.table, chars)
        y, state = df.nn.lstm(x, self.kernels, self.recurrent, self.biases, state, time_major=True)
        return y @ self.out, state


class Training:
    """A model and its optimizer; each step continues at the end of the previous one in the text."""

    def __init__(self, codes: np.ndarray, n_chars: int, options: argparse.Namespace) -> None:
        df.random.set_seed(options.seed)
        self.writer = Writer(n_chars, options.width, options.units, options.layers)
        self.optimizer = df.optimizers.Adam(options.learning_rate)
        rows = len(codes) // options.batch
        self.codes = codes[:rows * options.batch].reshape(options.batch, rows).T
        self.span, self.batch = options.span, options.batch
        self.step, self.next = df.function(self._step), df.function(self._next)

    def _step(self, chars, targets, state):
        with df.GradientTape() as tape:
            logits, state = self.writer(chars, state)
            losses = df.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
            loss = df.reduce_mean(losses)
        gradients = tape.gradient(loss, self.writer.variables)
        gradients, _ = df.clip_by_global_norm(gradients, 1.)
        self.optimizer.apply_gradients(zip(gradients, self.writer.variables, strict=True))
        return loss, state

    def _next(self, char, state, temperature):
        logits, state = self.writer(df.reshape(char, [1, 1]), state)
        noise = -df.math.log(-df.math.log(df.random.uniform([logits.shape[-1]], 1e-6, 1 - 1e-6)))
        return df.argmax(logits[0, 0] / temperature + noise, 0), state

    def round(self, title: str) -> list[float]:
        """Train on the whole text once; return the loss of each step."""
        state, losses = self.writer.start(self.batch), []
        starts = range(0, len(self.codes) - self.span, self.span)
        for at in (bar := tqdm(starts, title, leave=False)):
            chars, targets = self.codes[at:at + self.span], self.codes[at + 1:at + 1 + self.span]
            loss, state = self.step(df.constant(chars), df.constant(targets), state)
            losses.append(loss)
            if len(losses) % 20 == 0:
                bar.set_postfix(loss=f"{loss.item():.3f}")
        return [loss.item() for loss in losses]

    def write(self, n: int, first: int, temperature: float = 0.6) -> list[int]:
        char, state, found = df.constant(first), self.writer.start(1), [first]
        for _ in range(n):
            char, state = self.next(char, state, df.constant(temperature))
            found.append(char.item())
        return found


def save_curve(path: Path, losses: list[float], per_round: int) -> None:
    """Draw the loss of each step, and the mean of each pass."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 3.5))
    ax.plot(losses, linewidth=0.5, color="0.7")
    means = np.reshape(losses, (-1, per_round)).mean(axis=1)
    ax.plot((np.arange(len(means)) + 0.5) * per_round, means, marker="o")
    ax.set(xlabel="step", ylabel="cross entropy per character")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", default="library")
    for name, value in [("rounds", 6), ("batch", 64), ("span", 64), ("width", 64), ("units", 256),
                        ("layers", 2), ("seed", 1)]:
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--picture", type=Path, default=Path("chars.png"))
    options = parser.parse_args()
    text = read_text(options.text)
    chars = sorted(set(text))
    codes = np.array([chars.index(c) for c in text], np.int32)
    print(f"{len(text):,} characters, {len(chars)} different ones")

    training, losses = Training(codes, len(chars), options), []
    for k in range(1, options.rounds + 1):
        start = time.perf_counter()
        found = training.round(f"round {k}")
        losses += found
        seconds = time.perf_counter() - start
        print(f"\nround {k}: loss {np.mean(found):.3f}, {seconds:.1f} s, it writes:\n")
        print("".join(chars[c] for c in training.write(300, chars.index("\n"))))
    save_curve(options.picture, losses, len(losses) // options.rounds)
    print(f"\nthe loss is drawn in {options.picture}")


if __name__ == "__main__":
    main()
