"""Compares convolutions of batch 1, by shape, with ONNX Runtime.

    python asv_bench/onnx_kernels.py --python ~/peers/bin/python [--threads N] [--rounds N]

Each row is a chain of eight convolutions with ReLU, in channels first, so that the conversion of
layouts at its ends is a small part. The other environment has onnxruntime; `onnx_side_by_side.py`
describes the measurement. Times are in microseconds per convolution.
"""

import argparse
import math
import os
import statistics
import sys
import tempfile
from pathlib import Path

from onnx_side_by_side import SIDES, compare

LAYERS = 8
# Kernel, dilation, rows and columns, channels that alternate; depthwise if there is one group for
# each channel.
ROWS = [
    *[("1 x 1", 1, 1, size, channels, False) for size, channels in (
        (112, (16, 64)), (56, (64, 64)), (56, (24, 144)), (28, (128, 128)), (28, (40, 240)),
        (14, (256, 256)), (14, (96, 576)), (7, (512, 512)), (7, (160, 960)))],
    *[("3 x 3", 3, 1, size, (channels, channels), False) for size, channels in (
        (112, 32), (56, 64), (28, 128), (14, 256), (7, 512))],
    *[("depthwise 3 x 3", 3, 1, size, (channels, channels), True) for size, channels in (
        (112, 32), (56, 144), (28, 192), (14, 576), (7, 960))],
    *[("depthwise 5 x 5", 5, 1, size, (channels, channels), True) for size, channels in (
        (56, 72), (28, 120), (14, 672), (7, 960))],
    *[("dilated 3 x 3", 3, dilation, size, (channels, channels), False)
      for dilation, size, channels in ((2, 28, 128), (4, 14, 256), (12, 28, 256))]]


def write(path, kernel, dilation, size, channels, depthwise):
    """Write a chain of convolutions as an ONNX file."""
    import dualflow as df

    weights = []
    for k in range(LAYERS):
        c_in, c_out = channels[k % 2], channels[(k + 1) % 2]
        shape = (kernel, kernel, 1 if depthwise else c_in, c_out)
        scale = math.prod(shape[:3]) ** -0.5
        weights.append(df.random.stateless_normal(shape, [k, size]) * scale)

    def chain(x):
        for w in weights:
            x = df.nn.relu(df.nn.convolution(x, w, 1, "SAME", "NCHW", dilation))
        return x

    df.onnx.save(chain, path, df.TensorSpec([1, channels[0], size, size]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    pythons = {"dualflow": sys.executable, "onnxruntime": options.python}
    print(f"{'':42}{'dualflow':>10}{'ORT':>10}{'share':>7}")
    shares = []
    with tempfile.TemporaryDirectory() as folder:
        for k, row in enumerate(ROWS):
            name, _, dilation, size, channels, _ = row
            path = Path(folder, f"{k}.onnx")
            write(path, *row[1:])
            made = compare(str(path), pythons, options)
            ours, theirs = [made[side][0] * 1e3 / LAYERS for side in SIDES]
            shares.append(ours / theirs)
            apart = f", dilation {dilation}" if dilation > 1 else ""
            shape = f"{size} x {size} x {' and '.join(map(str, sorted(set(channels))))}"
            print(f"{f'{name}{apart}: {shape}':42}{ours:10.1f}{theirs:10.1f}{shares[-1]:7.2f}",
                  flush=True)
    print(f"{'geometric mean':62}{math.exp(statistics.mean(map(math.log, shares))):7.2f}")


if __name__ == "__main__":
    main()
