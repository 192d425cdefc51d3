"""Train a small GPT on the sources of Python's standard library, byte by byte, and generate text.

    python examples/gpt.py                    # 4 layers of width 256: 3 M parameters, 5 minutes
    python examples/gpt.py --steps 250        # a first impression
    python examples/gpt.py --checkpoints DIR  # resumes if it was interrupted

Prints the loss on held-out text, saves the curves of both losses as a picture, and prints generated
text. Ctrl-C ends the training early: the program saves a checkpoint, and continues with the loss,
the picture and the text.
"""

import argparse
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

import dualflow as df


def library_sources() -> np.ndarray:
    """Return the concatenated modules of the standard library as bytes."""
    files = sorted(Path(os.__file__).parent.glob("*.py"))
    return np.frombuffer(b"\n".join(f.read_bytes() for f in files), np.uint8).astype(np.int32)


class GPT:
    """A small model after Radford et al., "Language models are unsupervised multitask learners"."""

    def __init__(self, vocabulary: int, length: int, layers: int, width: int, heads: int,
                 dropout: float = 0.0) -> None:
        self.length, self.width, self.heads, self.dropout = length, width, heads, dropout
        self.variables: list[df.Variable] = []
        self.tokens = self.variable("tokens", vocabulary, width)
        self.places = self.variable("places", length, width)
        last = 0.02 / (2 * layers) ** 0.5           # for layers that add to the residual stream
        self.blocks = [{"norm_1": self.norm(), "attend": self.linear(width, 3 * width),
                        "project": self.linear(width, width, last), "norm_2": self.norm(),
                        "widen": self.linear(width, 4 * width),
                        "narrow": self.linear(4 * width, width, last)} for _ in range(layers)]
        self.final, self.head = self.norm(), self.linear(width, vocabulary)

    def variable(self, name: str, *shape: int, stddev: float = 0.02, mean: float = 0.0):
        start = df.random.normal(shape, mean=mean, stddev=stddev)
        self.variables.append(df.Variable(start, name=name))
        return self.variables[-1]

    def linear(self, n_in: int, n_out: int, stddev: float = 0.02) -> tuple:
        return (self.variable("weights", n_in, n_out, stddev=stddev),
                self.variable("bias", n_out, stddev=0))

    def norm(self) -> tuple:
        return (self.variable("scale", self.width, stddev=0, mean=1.0),
                self.variable("offset", self.width, stddev=0))

    def attend(self, x: df.Tensor, block: dict, rate: float) -> df.Tensor:
        """Return causal self-attention with several heads."""
        weights, bias = block["attend"]
        by_head = (-1, self.length, self.heads, self.width // self.heads)
        q, k, v = (df.reshape(y, by_head) for y in df.split(x @ weights + bias, 3, axis=-1))
        y = df.nn.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=rate,
                                               data_format="BTHD")
        return df.reshape(y, (-1, self.width)) @ block["project"][0] + block["project"][1]

    def feed(self, x: df.Tensor, block: dict) -> df.Tensor:
        (widen, bias_1), (narrow, bias_2) = block["widen"], block["narrow"]
        return df.nn.gelu(x @ widen + bias_1, approximate=True) @ narrow + bias_2

    def __call__(self, tokens: df.Tensor, training: bool = False) -> df.Tensor:
        """Return logits of the token after each one, shape (batch * length, vocabulary)."""
        rate = self.dropout if training else 0.0
        x = df.gather(self.tokens, tokens) + self.places
        x = df.nn.dropout(df.reshape(x, (-1, self.width)), rate)
        for block in self.blocks:
            y = self.attend(df.nn.layer_norm(x, *block["norm_1"]), block, rate)
            x += df.nn.dropout(y, rate)
            x += df.nn.dropout(self.feed(df.nn.layer_norm(x, *block["norm_2"]), block), rate)
        return df.nn.layer_norm(x, *self.final) @ self.head[0] + self.head[1]

    def loss(self, tokens: df.Tensor, training: bool = False) -> df.Tensor:
        """Return the mean cross entropy, in nats, of texts of shape (batch, length + 1)."""
        labels, logits = df.reshape(tokens[:, 1:], (-1,)), self(tokens[:, :-1], training)
        return df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def training_step(model: GPT, optimizer: df.optimizers.Optimizer) -> Callable:
    """Return a training step, a function from texts, as in `GPT.loss`, to the loss."""
    @df.function
    def step(tokens: df.Tensor) -> df.Tensor:
        with df.GradientTape() as tape:
            loss = model.loss(tokens, training=True)
        gradients = tape.gradient(loss, model.variables)
        optimizer.apply_gradients(zip(gradients, model.variables, strict=True))
        return loss

    return step


def write(model: GPT, start: bytes, n: int, temperature: float) -> str:
    """Return `start` followed by n drawn tokens."""
    logits, text = df.function(model), list(start)
    for _ in tqdm(range(n), desc="writing", leave=False):
        window = np.zeros((1, model.length), np.int32)
        recent = text[-model.length:]               # attention is causal: the padding is ignored
        window[0, :len(recent)] = recent
        scores = logits(df.constant(window))[len(recent) - 1] / temperature
        noise = -df.math.log(-df.math.log(df.random.uniform(scores.shape, 1e-7, 1.0)))
        text.append(int(df.argmax(scores + noise).item()))
    return bytes(text).decode(errors="replace")


def until_interrupted(steps: Iterable[int]) -> Iterator[int]:
    """Yield the steps until Ctrl-C; the current step is completed. A second Ctrl-C ends the
    program."""
    pressed = []

    def handle(*_) -> None:
        pressed.append(True)
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, handle)
    try:
        for step in steps:
            yield step
            if pressed:
                return
    finally:
        signal.signal(signal.SIGINT, before)


def save_curve(path: Path, losses: np.ndarray, held_out: np.ndarray) -> None:
    from matplotlib.figure import Figure
    ax = (figure := Figure(figsize=(7, 4), layout="tight")).subplots()
    ax.plot(losses, linewidth=0.6, label="training")
    seen = np.flatnonzero(held_out)
    ax.plot(seen, held_out[seen], "o-", label="held out")
    ax.set(xlabel="step", ylabel="nats per byte", title="A small GPT on the standard library")
    ax.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in {"steps": 2500, "batch": 8, "length": 128, "layers": 4, "width": 256,
                          "heads": 4, "dropout": 0.0, "learning_rate": 1e-3, "temperature": 0.7,
                          "write": 400, "seed": 1}.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    parser.add_argument("--checkpoints", type=Path, help="folder: saved there every 250 steps")
    parser.add_argument("--picture", type=Path, default=Path("gpt_loss.png"))
    options = parser.parse_args()
    df.random.set_seed(options.seed)
    rng, text = np.random.default_rng(options.seed), library_sources()
    model = GPT(256, options.length, options.layers, options.width, options.heads, options.dropout)
    warm_up = options.steps // 15               # without warm-up, attention learns late
    optimizer = df.optimizers.Adam(df.optimizers.schedules.CosineDecay(
        0.0, options.steps - warm_up, 0.0, options.learning_rate, warm_up), beta_2=0.99)

    def texts(begin: int, end: int, n: int) -> df.Tensor:
        starts = rng.integers(begin, end - options.length, n)
        return df.constant(text[starts[:, None] + np.arange(options.length + 1)])

    step, n_training = training_step(model, optimizer), len(text) * 9 // 10
    held_out, evaluate = texts(n_training, len(text), 32), df.function(model.loss)
    losses, curve = np.zeros(options.steps), np.zeros(options.steps)
    checkpoint = df.train.Checkpoint(
        model=model, optimizer=optimizer, texts=rng, random=df.random.get_global_generator(),
        losses=losses, curve=curve, done=0)
    if options.checkpoints:
        manager = df.train.CheckpointManager(checkpoint, options.checkpoints, max_to_keep=2)
        manager.restore_or_initialize()

    def keep() -> None:
        curve[checkpoint.done - 1] = evaluate(held_out).item()
        shown["held_out"] = f"{curve[checkpoint.done - 1]:.3f}"
        if options.checkpoints:
            manager.save(wait=False)            # writes in the background

    shown: dict[str, str] = {}
    bar = tqdm(range(checkpoint.done, options.steps), "training", options.steps,
               initial=checkpoint.done)
    for i in until_interrupted(bar):
        losses[i] = step(texts(0, n_training, options.batch)).item()
        checkpoint.done = i + 1
        shown["loss"] = f"{losses[max(0, i - 9):i + 1].mean():.3f}"     # of the last 10 steps
        if checkpoint.done % 250 == 0:
            keep()
        bar.set_postfix(shown, refresh=False)
    bar.close()
    done = checkpoint.done
    if not curve[done - 1]:
        keep()
    if done < options.steps:
        print(f"interrupted after {done} steps")
    print(f"{len(text):,} bytes; held out: {curve[done - 1]:.3f} nats per byte")
    save_curve(options.picture, losses[:done], curve[:done])
    print(write(model, b"import ", options.write, options.temperature))


if __name__ == "__main__":
    main()
