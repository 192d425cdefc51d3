"""Learn to solve a differential equation with a Fourier neural operator.

    python examples/burgers.py              # a minute
    python examples/burgers.py --steps 100  # a first impression

Burgers' equation, u_t + u u_x = nu u_xx with period 1, steepens waves into fronts. A network learns
the map from u at time 0 to u at time 1 from solutions of a spectral solver. Its layers multiply the
lowest frequencies by learned complex matrices (Z. Li et al., "Fourier neural operator for
parametric partial differential equations", 2021), so that a layer sees the whole period, and a
network that was trained on 64 points works on 256. The baseline is a network of convolutions of the
same width.
"""

import argparse
from pathlib import Path

import numpy as np
from tqdm import tqdm

import dualflow as df


def initial_states(n: int, points: int) -> df.Tensor:
    """Return n random waves, shape (n, points), with frequencies up to 8."""
    k = df.range(1, 9, dtype=df.float32)
    amplitudes = points / 4 / (1 + k**2 / 4)
    waves = df.complex(*[df.random.normal([n, 8]) * amplitudes for _ in range(2)])
    return df.signal.irfft(df.pad(waves, [[0, 0], [1, points // 2 - 8]]))


@df.function
def solver_step(v: df.Tensor, viscosity: df.Tensor, seconds: df.Tensor) -> df.Tensor:
    """Advance spectra: the diffusion exactly, the rest by the method of Runge and Kutta."""
    k = df.range(v.shape[1], dtype=df.float32)
    kept = df.cast(k < 2 / 3 * v.shape[1], df.float32)     # without frequencies that would alias
    rate = df.cast(-np.pi * k * kept * seconds, df.complex64) * 1j
    decay = df.cast(df.exp(-viscosity * (2 * np.pi * k)**2 * seconds / 2), df.complex64)

    def slope(v: df.Tensor) -> df.Tensor:
        return rate * df.signal.rfft(df.signal.irfft(v)**2)

    a = slope(v)
    b = slope(decay * (v + a / 2))
    c = slope(decay * v + b / 2)
    d = slope(decay * (decay * v + c))
    return decay * decay * (v + a / 6) + decay * (b + c) / 3 + d / 6


def solve(u: df.Tensor, viscosity: float, steps: int = 600) -> df.Tensor:
    """Return the states at time 1, shape (n, points)."""
    v = df.signal.rfft(u)
    for _ in range(steps):
        v = solver_step(v, df.constant(viscosity), df.constant(1 / steps))
    return df.signal.irfft(v)


class SpectralLayer(df.Module):
    """Multiplies the lowest frequencies of all channels by a complex matrix for each frequency."""

    def __init__(self, width: int, modes: int) -> None:
        super().__init__()
        self.modes = modes
        self.parts = df.Variable(df.random.normal([2, modes, width, width], stddev=1 / width))

    def __call__(self, x: df.Tensor) -> df.Tensor:
        """Map channels of shape (batch, width, points)."""
        frequencies = df.signal.rfft(x)[..., :self.modes]
        weights = df.complex(self.parts[0], self.parts[1])
        rows = df.transpose(frequencies, [0, 2, 1])[..., None]          # (batch, modes, width, 1)
        mixed = df.transpose(df.reduce_sum(rows * weights, 2), [0, 2, 1])
        return df.signal.irfft(mixed, x.shape[-1])                      # other frequencies are 0


class ConvolutionLayer(df.Module):
    """A convolution with a filter of as many points as the spectral layer has parameters."""

    def __init__(self, width: int, modes: int) -> None:
        super().__init__()
        self.reach = modes
        shape = [2 * modes + 1, width, width]
        self.filter = df.Variable(df.random.normal(shape, stddev=(width * (2 * modes + 1)) ** -.5))

    def __call__(self, x: df.Tensor) -> df.Tensor:
        periodic = df.concat([x[..., -self.reach:], x, x[..., :self.reach]], -1)
        y = df.nn.conv1d(df.transpose(periodic, [0, 2, 1]), self.filter, 1, "VALID")
        return df.transpose(y, [0, 2, 1])


class Operator(df.Module):
    """Layers beside a product with a matrix at each point, between a linear lift and projection."""

    def __init__(self, layer: type, width: int = 32, modes: int = 12, depth: int = 4) -> None:
        super().__init__()
        self.layers = [layer(width, modes) for _ in range(depth)]
        sizes = [(width, 2), *[(width, width)] * depth, (128, width), (1, 128)]
        self.matrices = [df.Variable(df.random.normal(s, stddev=s[1] ** -.5)) for s in sizes]
        self.biases = [df.Variable(df.zeros([s[0], 1])) for s in sizes]

    def at_points(self, k: int, x: df.Tensor) -> df.Tensor:
        return df.matmul(self.matrices[k], x) + self.biases[k]

    def __call__(self, u: df.Tensor) -> df.Tensor:
        """Return states at time 1 for states at time 0, both of shape (batch, points)."""
        place = df.broadcast_to(df.linspace(0., 1., u.shape[1] + 1)[:-1], u.shape)
        x = self.at_points(0, df.stack([u, place], 1))
        for k, layer in enumerate(self.layers, 1):
            x = df.nn.gelu(layer(x) + self.at_points(k, x))
        return self.at_points(-1, df.nn.gelu(self.at_points(-2, x)))[:, 0]


def error(predicted: df.Tensor, u: df.Tensor) -> df.Tensor:
    """Return the distance relative to the norm of u, averaged over the batch."""
    return df.reduce_mean(df.norm(predicted - u, axis=1) / df.norm(u, axis=1))


def training_step(model: Operator, optimizer: df.optimizers.Optimizer) -> df.function:
    @df.function
    def step(before: df.Tensor, after: df.Tensor) -> df.Tensor:
        with df.GradientTape() as tape:
            loss = error(model(before), after)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss
    return step


def train(model: Operator, before: df.Tensor, after: df.Tensor, options: argparse.Namespace,
          title: str) -> None:
    pairs = df.data.Dataset.from_tensor_slices((before, after)).shuffle(len(before)).repeat()
    schedule = df.optimizers.schedules.CosineDecay(2e-3, options.steps)
    step = training_step(model, df.optimizers.Adam(schedule))
    progress = tqdm(pairs.batch(options.batch).take(options.steps), desc=title)
    for k, batch in enumerate(progress):
        loss = step(*batch)
        if k % 20 == 0:
            progress.set_postfix(loss=f"{loss.item():.4f}")


def save_picture(path: Path, before: df.Tensor, after: df.Tensor,
                 predictions: dict[str, df.Tensor]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6), layout="tight")
    for k, axes in enumerate(figure.subplots(2, 3, sharex=True).flat):
        axes.plot(before[k], color="lightgray", label="time 0")
        axes.plot(after[k], color="black", label="time 1")
        for style, (name, states) in zip(("C0--", "C1:"), predictions.items(), strict=True):
            axes.plot(states[k], style, label=name)
    figure.axes[0].legend()
    figure.suptitle("Burgers' equation on 256 points, by networks trained on 64")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--viscosity", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", type=Path, default=Path("burgers.png"))
    options = parser.parse_args()
    df.random.set_seed(options.seed)

    before = initial_states(600, 256)
    after = solve(before, options.viscosity)
    coarse = before[:, ::4], after[:, ::4]
    fine = before[500:], after[500:]
    print(f"states do not change: error {error(*fine).item():.2%}")
    predictions = {}
    for name, layer in (("spectral", SpectralLayer), ("convolutions", ConvolutionLayer)):
        model = Operator(layer)
        train(model, *[u[:500] for u in coarse], options, name)
        predictions[name] = model(fine[0])
        print(f"{name}: error {error(model(coarse[0][500:]), coarse[1][500:]).item():.2%} on 64 "
              f"points, {error(predictions[name], fine[1]).item():.2%} on 256")
    save_picture(options.picture, *fine, predictions)
    print(f"picture in {options.picture}")


if __name__ == "__main__":
    main()
