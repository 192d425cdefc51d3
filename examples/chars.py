"""Train a character-level LSTM on a text that ships with Python, and let it generate text.

    python examples/chars.py                    # sources of the standard library
    python examples/chars.py --text license     # Python's own license
    python examples/chars.py --text FILE        # any text
    python examples/chars.py --checkpoints DIR  # resumes if it was interrupted

Prints generated text after each pass through the text, and saves a picture of the loss. Ctrl-C ends
the training early: the program saves a checkpoint, and continues with a text and the picture.
"""

import argparse
import json
import signal
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


class CtrlC:
    """A context in which Ctrl-C only sets `pressed`. A second Ctrl-C ends the program."""

    def __enter__(self):
        self.pressed = False
        self.before = signal.signal(signal.SIGINT, self._press)
        return self

    def _press(self, *_) -> None:
        self.pressed = True
        signal.signal(signal.SIGINT, self.before)

    def __exit__(self, *_) -> None:
        signal.signal(signal.SIGINT, self.before)


class Training:
    """A model and its optimizer; each step continues at the end of the previous one in the text."""

    def __init__(self, codes: np.ndarray, n_chars: int, options: argparse.Namespace) -> None:
        df.random.set_seed(options.seed)
        self.writer = Writer(n_chars, options.width, options.units, options.layers)
        self.optimizer = df.optimizers.Adam(options.learning_rate)
        rows = len(codes) // options.batch
        self.codes = codes[:rows * options.batch].reshape(options.batch, rows).T
        self.span, self.batch = options.span, options.batch
        self.state = [df.Variable(part) for part in self.writer.start(self.batch)]
        self.per_round = len(range(0, rows - self.span, self.span))
        self.done, self.losses = 0, np.zeros(options.rounds * self.per_round)
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

    def round(self, title: str, ctrl_c: CtrlC) -> None:
        """Train on the rest of the text, or until Ctrl-C; the current step is completed."""
        state = tuple(df.convert_to_tensor(part) for part in self.state)
        starts = range(0, len(self.codes) - self.span, self.span)
        bar = tqdm(starts[self.done % self.per_round:], title, self.per_round, leave=False,
                   initial=self.done % self.per_round)
        for at in bar:
            chars, targets = self.codes[at:at + self.span], self.codes[at + 1:at + 1 + self.span]
            loss, state = self.step(df.constant(chars), df.constant(targets), state)
            self.losses[self.done] = loss.item()
            self.done += 1
            bar.set_postfix(loss=f"{self.losses[self.done - 1]:.3f}", refresh=False)
            if ctrl_c.pressed:
                break
        bar.close()
        whole = self.done % self.per_round == 0
        for kept, part in zip(self.state, self.writer.start(self.batch) if whole else state,
                              strict=True):
            kept.assign(part)

    def write(self, n: int, first: int, temperature: float = 0.6) -> list[int]:
        char, state, found = df.constant(first), self.writer.start(1), [first]
        for _ in range(n):
            char, state = self.next(char, state, df.constant(temperature))
            found.append(char.item())
        return found


def save_curve(path: Path, losses: np.ndarray, per_round: int) -> None:
    """Draw the loss of each step, and the mean of each pass."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 3.5))
    ax.plot(losses, linewidth=0.5, color="0.7")
    whole = len(losses) // per_round
    means = losses[:whole * per_round].reshape(whole, per_round).mean(axis=1)
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
    parser.add_argument("--checkpoints", type=Path, help="folder: saved there after each round")
    parser.add_argument("--picture", type=Path, default=Path("chars.png"))
    options = parser.parse_args()
    text = read_text(options.text)
    chars = sorted(set(text))
    codes = np.array([chars.index(c) for c in text], np.int32)
    print(f"{len(text):,} characters, {len(chars)} different ones")

    training = Training(codes, len(chars), options)
    checkpoint = df.train.Checkpoint(
        variables=training.writer.variables, optimizer=training.optimizer, state=training.state,
        random=df.random.get_global_generator(), losses=training.losses, done=0)
    if options.checkpoints:
        manager = df.train.CheckpointManager(checkpoint, options.checkpoints, max_to_keep=2)
        manager.restore_or_initialize()
    training.done = checkpoint.done
    with CtrlC() as ctrl_c:
        while training.done < options.rounds * training.per_round and not ctrl_c.pressed:
            start, k = time.perf_counter(), training.done // training.per_round + 1
            training.round(f"round {k}", ctrl_c)
            seconds, checkpoint.done = time.perf_counter() - start, training.done
            if options.checkpoints:
                manager.save()
            loss = training.losses[(k - 1) * training.per_round:training.done].mean()
            print(f"\nround {k}{', interrupted' * ctrl_c.pressed}: loss {loss:.3f}, "
                  f"{seconds:.1f} s, it writes:\n")
            print("".join(chars[c] for c in training.write(300, chars.index("\n"))))
    save_curve(options.picture, training.losses[:training.done], training.per_round)
    print(f"\nthe loss is drawn in {options.picture}")


if __name__ == "__main__":
    main()
