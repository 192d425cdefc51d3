"""Train a convolutional network on handwritten digits with Keras.

    pip install -e '.[examples,keras]'
    python examples/keras_digits.py

Uses the 1,797 digits that scikit-learn carries, batches from `df.data`, and Keras's progress bar
and callbacks. The best model is saved, loaded again and evaluated on held-out digits; a picture
shows curves and confusions.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import dualflow as df
import dualflow.keras as keras
from dualflow.keras import layers


def split() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return 8x8 images scaled to [0, 1] with labels: four fifths for training, and the rest."""
    digits = load_digits()
    images = (digits.images[..., None] / 16).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(images))
    kept = len(order) * 4 // 5
    return ((images[order[:kept]], digits.target[order[:kept]]),
            (images[order[kept:]], digits.target[order[kept:]]))


def network() -> keras.Model:
    return keras.Sequential([
        keras.Input((8, 8, 1)),
        layers.Conv2D(32, 3, padding="same"),
        layers.BatchNormalization(momentum=0.9), layers.ReLU(), layers.MaxPooling2D(2),
        layers.Conv2D(64, 3, padding="same"),
        layers.BatchNormalization(momentum=0.9), layers.ReLU(), layers.GlobalAveragePooling2D(),
        layers.Dropout(0.2), layers.Dense(10)])


def save_picture(path: Path, history: dict[str, list[float]], table: np.ndarray) -> None:
    """Draw the losses of each epoch, and the confusion table."""
    figure = Figure(figsize=(10, 4), layout="tight")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    for name, label in (("loss", "training"), ("val_loss", "validation")):
        left.semilogy(range(1, len(history[name]) + 1), history[name], label=label)
    left.set(xlabel="epoch", ylabel="loss")
    left.legend()
    right.imshow(np.log1p(table), cmap="Blues")
    for digit, predicted in zip(*np.nonzero(table), strict=True):
        right.text(predicted, digit, table[digit, predicted], ha="center", va="center", fontsize=8,
                   color="white" if digit == predicted else "black")
    right.set(xlabel="predicted", ylabel="digit", xticks=range(10), yticks=range(10))
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("keras_digits"))
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True)

    keras.utils.set_random_seed(0)
    train, held_out = split()
    batches = df.data.Dataset.from_tensor_slices(train).shuffle(len(train[0]), seed=0).batch(32)
    judged = df.data.Dataset.from_tensor_slices(held_out).batch(256)

    model = network()
    model.summary()
    model.compile(keras.optimizers.Adam(2e-3),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
    best = options.out / "best.keras"
    history = model.fit(batches, epochs=options.epochs, validation_data=judged, callbacks=[
        keras.callbacks.ModelCheckpoint(best, monitor="val_loss", save_best_only=True),
        keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=3)]).history

    loaded = keras.models.load_model(best)
    loss, accuracy = loaded.evaluate(judged, verbose=0)
    print(f"best model: validation loss {loss:.4f}, accuracy {accuracy:.4f}")
    guesses = loaded.predict(judged, verbose=0).argmax(1)
    table = df.math.confusion_matrix(held_out[1], guesses, num_classes=10).numpy()
    save_picture(options.out / "training.png", history, table)
    print(f"pictures and model are in {options.out}")


if __name__ == "__main__":
    main()
