"""Runs the examples and stores reduced copies of their pictures for the gallery; takes minutes.

    python docs/ext/gallery.py          # all
    python docs/ext/gallery.py digits   # one
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "docs/gallery"
WIDTH, COLORS = 900, 48                     # of stored pictures, at most 50 kB each

# The options of each run, and the pictures it writes.
RUNS = {
    "digits": ([], ["training.png", "misclassified.png"]),
    "convnet": (["--epochs", "12"], ["convnet_loss.png"]),
    "chars": (["--rounds", "8"], ["chars.png"]),
    "burgers": ([], ["burgers.png"]),
    "gpt": (["--steps", "700"], ["gpt_loss.png"]),
}


def keep(path):
    picture = Image.open(path).convert("RGB")
    if picture.width > WIDTH:
        picture = picture.resize((WIDTH, picture.height * WIDTH // picture.width))
    picture.quantize(COLORS).save(FOLDER / path.name, optimize=True)


def run(name):
    options, pictures = RUNS[name]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, ROOT / f"examples/{name}.py", *options], cwd=folder,
                       check=True)
        for picture in pictures:
            keep(Path(folder) / picture)


if __name__ == "__main__":
    for name in sys.argv[1:] or RUNS:
        run(name)
