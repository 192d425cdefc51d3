"""Train a network on the names of functions, and generate names by sampling and by beam search.

    python examples/names.py                # names of Python's standard library, a minute
    python examples/names.py --steps 100    # a first impression

Each generator is one traced function: a `while` loop that draws letters until the end of a name,
and a beam search. Python does not receive intermediate letters.
"""

import argparse
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tqdm import tqdm

import dualflow as df

LETTERS = "\nabcdefghijklmnopqrstuvwxyz_"        # the first one marks the end of a name
END, LONGEST = 0, 24


def names() -> list[str]:
    """Return the distinct names of functions in the standard library."""
    text = "".join(f.read_text(errors="replace") for f in Path(os.__file__).parent.glob("*.py"))
    found = {x.lower().strip("_") for x in re.findall(r"def ([A-Za-z_]+)\(", text)}
    return sorted(x for x in found if 3 <= len(x) <= LONGEST)


def encoded(words: list[str]) -> np.ndarray:
    """Return a row for each word: its letters, padded with END."""
    table = np.full((len(words), LONGEST + 1), END, np.int32)
    for row, word in zip(table, words, strict=True):
        row[:len(word)] = [LETTERS.index(c) for c in word]
    return table


class Writer:
    """A gated recurrent unit (Cho et al., 2014) from one letter to the next."""

    def __init__(self, width: int, units: int) -> None:
        glorot = df.initializers.glorot_uniform
        self.table = df.Variable(df.random.normal([len(LETTERS), width], stddev=0.1))
        self.gates = df.Variable(glorot([width + units, 2 * units]))
        self.gates_bias = df.Variable(df.zeros([2 * units]))
        self.new = df.Variable(glorot([width + units, units]))
        self.new_bias = df.Variable(df.zeros([units]))
        self.out = df.Variable(glorot([units, len(LETTERS)]))
        self.variables = [self.table, self.gates, self.gates_bias, self.new, self.new_bias,
                          self.out]

    def start(self, n: int) -> df.Tensor:
        return df.zeros([n, self.new.shape[1]])

    def step(self, letters: df.Tensor, h: df.Tensor) -> tuple[df.Tensor, df.Tensor]:
        """Return the logits of the letters after `letters`, and the new state."""
        x = df.gather(self.table, letters)
        keep, use = df.split(df.sigmoid(df.concat([x, h], 1) @ self.gates + self.gates_bias), 2, 1)
        new = df.tanh(df.concat([x, use * h], 1) @ self.new + self.new_bias)
        h = keep * h + (1. - keep) * new
        return h @ self.out, h

    def loss(self, words: df.Tensor) -> df.Tensor:
        """Return the mean cross entropy of the letters of words, including their ends."""
        h, letters, total = self.start(words.shape[0]), df.zeros_like(words[:, 0]), 0.
        lengths = df.reduce_sum(df.cast(words != END, df.int32), 1)
        for t in range(df.reduce_max(lengths) + 1):
            logits, h = self.step(letters, h)
            letters = words[:, t]
            losses = df.nn.sparse_softmax_cross_entropy_with_logits(letters, logits)
            total = total + df.reduce_sum(df.where(t <= lengths, losses, 0.))
        return total / df.cast(df.reduce_sum(lengths + 1), df.float32)

    # --- generation ---

    def drawn(self, temperature: df.Tensor) -> df.Tensor:
        """Sample a name letter by letter."""
        def draw(letter, h):
            logits, h = self.step(letter[None], h)
            noise = -df.math.log(-df.math.log(df.random.uniform([len(LETTERS)], 1e-6, 1 - 1e-6)))
            return df.argmax(logits[0] / temperature + noise, 0, df.int32), h

        found, n = [], 0
        letter, h = draw(df.constant(END), self.start(1))
        while letter != END and n < LONGEST:
            found.append(letter)
            letter, h = draw(letter, h)
            n += 1
        return df.stack(found)

    def likeliest(self, first: df.Tensor, width: int) -> tuple[df.Tensor, df.Tensor]:
        """Run a beam search: return the most likely names with a given first letter, and their log
        probabilities."""
        at_end = df.where(df.range(len(LETTERS)) == END, 0., -np.inf)       # scores after END
        letters, h = df.fill([width], END), self.start(width)
        _, h = self.step(letters, h)
        letters = df.fill([width], first)
        words = df.where(df.range(LONGEST) == 0, first, END) + df.zeros([width, 1], df.int32)
        scores = df.where(df.range(width) == 0, 0., -np.inf)     # a single beam at the start
        ended, n = df.fill([width], False), 1
        while n < LONGEST and not df.reduce_all(ended):
            logits, h = self.step(letters, h)
            more = df.where(ended[:, None], at_end, df.nn.log_softmax(logits))
            scores, best = df.math.top_k(df.reshape(scores[:, None] + more, [-1]), width)
            beams, letters = best // len(LETTERS), best % len(LETTERS)
            words = df.where(df.range(LONGEST) == n, letters[:, None], df.gather(words, beams))
            h, ended = df.gather(h, beams), letters == END
            n += 1
        return words, scores


def text(letters: list[int]) -> str:
    return "".join(LETTERS[k] for k in letters).strip("\n")


def training_step(writer: Writer, optimizer: df.optimizers.Optimizer) -> Callable:
    """Return a training step, a function from encoded words to the loss."""
    @df.function
    def step(words):
        with df.GradientTape() as tape:
            loss = writer.loss(words)
        gradients, _ = df.clip_by_global_norm(tape.gradient(loss, writer.variables), 1.)
        optimizer.apply_gradients(zip(gradients, writer.variables, strict=True))
        return loss

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, value in {"steps": 800, "batch": 64, "width": 16, "units": 128, "seed": 1,
                        "learning_rate": 5e-3, "temperature": 0.7}.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    options = parser.parse_args()
    df.random.set_seed(options.seed)
    rng, known = np.random.default_rng(options.seed), names()
    table, (n_training, n) = encoded(known), (len(known) * 9 // 10, len(known))
    table = table[rng.permutation(n)]
    print(f"{n:,} names, such as {', '.join(known[::n // 4])}")
    writer = Writer(options.width, options.units)
    optimizer = df.optimizers.Adam(df.optimizers.schedules.CosineDecay(
        options.learning_rate, options.steps))

    step, losses, held_out = training_step(writer, optimizer), [], df.function(writer.loss)
    for _ in (bar := tqdm(range(options.steps), "training")):
        losses.append(step(df.constant(table[rng.integers(0, n_training, options.batch)])).item())
        bar.set_postfix(loss=f"{np.mean(losses[-50:]):.3f}")
    print(f"nats per letter: {np.mean(losses[:10]):.3f} at first, {np.mean(losses[-50:]):.3f} in "
          f"the end, {held_out(df.constant(table[n_training:])).item():.3f} on names held out")

    draw, temperature = df.function(writer.drawn), df.constant(options.temperature)
    invented = [text(draw(temperature).tolist()) for _ in range(40)]
    print("drawn:", ", ".join(sorted({x for x in invented if x not in set(known)})[:12]))
    search = df.function(writer.likeliest)
    for c in "gs":
        words, scores = search(df.constant(LETTERS.index(c)), 5)
        print(f"likeliest with {c}:", ", ".join(f"{text(w)} ({np.exp(p):.1%})" for w, p in zip(
            words.tolist(), scores.tolist(), strict=True)))


if __name__ == "__main__":
    main()
