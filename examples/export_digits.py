"""Train a classifier of digits in Python, continue in C, and compare the results in Python.

    python examples/export_digits.py                      # needs make and a C compiler
    python examples/export_digits.py --folder digits_c    # retains the generated files

After some steps, the training step and the prediction are exported as C and built; export_digits.c
continues the training. Python continues with the same images, and then checks that weights, the
optimizer's moments and the state of the random generator are bit-identical.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from c_programs import add_options, build
from digits import Training, sklearn_digits
from safetensors.numpy import load_file

import dualflow as df

BATCH = 64          # as in export_digits.c


def train(training: Training, images: df.Tensor, labels: df.Tensor) -> float:
    """Run a step with each batch; return the last loss."""
    loss = df.constant(0.0)
    for at in range(0, len(images), BATCH):
        loss = training.step(images[at:at + BATCH], labels[at:at + BATCH])
    return loss.item()


def state(training: Training) -> dict[str, np.ndarray]:
    """Return everything that training changes, by its name in an export."""
    generator = df.random.get_global_generator()
    variables = [*training.model.variables, *training.optimizer.variables]
    return {"random_generator": np.array([generator.seed, generator.counter]),
            **{v.name: v.numpy() for v in variables}}


def run(options: argparse.Namespace, folder: Path) -> None:
    images, labels = sklearn_digits()
    rows = np.random.default_rng(options.seed).integers(len(images), size=2 * options.steps * BATCH)
    first, then = rows.reshape(2, -1)
    here, there = (df.constant(images[first]), df.constant(labels[first])), (
        df.constant(images[then]), df.constant(labels[then]))

    training = Training(*here, options, "graph")
    print(f"Python: {options.steps} steps, loss {train(training, *here):.4f}")

    batch, answers = here[0][:BATCH], here[1][:BATCH]
    df.export(folder / "model", {"train": training.step.get_concrete_function(batch, answers),
                                 "predict": training.predict.get_concrete_function(batch)})
    images[then].tofile(folder / "images.f32")
    labels[then].tofile(folder / "labels.i32")
    program = build(Path(__file__).with_suffix(".c"), folder, options)
    subprocess.run([program, "model/weights.safetensors", "images.f32", "labels.i32",
                    "trained.safetensors"], cwd=folder, check=True)

    print(f"Python: {options.steps} steps, loss {train(training, *there):.4f}")
    trained, mine = load_file(folder / "trained.safetensors"), state(training)
    if trained.keys() != mine.keys() or any(
            trained[name].tobytes() != x.tobytes() for name, x in mine.items()):
        raise SystemExit("C and Python differ")
    print(f"the same bits: {', '.join(sorted(trained))}")

    fresh = Training(*here, options, "graph")       # untrained
    for v in fresh.model.variables:
        v.assign(trained[v.name])
    right = fresh.predict(df.constant(images)).numpy() == labels
    print(f"with the weights from C, Python tells {right.mean():.2%} of all images")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=200, help="in Python, and then again in C")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="a new one; default: one that is removed")
    add_options(parser)
    return parser.parse_args(namespace=argparse.Namespace(batch=BATCH, epochs=1,
                                                          distributed=False))


def main() -> None:
    options = parse_arguments()
    if options.folder:
        options.folder.mkdir(parents=True)
        run(options, options.folder.resolve())
    else:
        with tempfile.TemporaryDirectory() as folder:
            run(options, Path(folder))


if __name__ == "__main__":
    main()
