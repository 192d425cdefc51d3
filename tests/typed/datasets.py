"""The types of datasets' elements."""

from typing import assert_type

import numpy as np

import dualflow as df

x = np.ones((4, 2), np.float32)
pairs = df.data.Dataset.from_tensor_slices((x, [1, 2, 3, 4])).shuffle(4).batch(2).prefetch(1)
assert_type(pairs, df.data.Dataset[tuple[df.Tensor, df.Tensor]])
for images, labels in pairs:
    assert_type(images, df.Tensor)
    assert_type(labels, df.Tensor)
assert_type(next(iter(pairs)), tuple[df.Tensor, df.Tensor])
assert_type(df.data.Dataset.from_tensor_slices(x), df.data.Dataset[df.Tensor])
for n in df.data.Dataset.range(5).take(2):
    assert_type(n, df.Tensor)
for k, (image, _) in pairs.enumerate():
    assert_type(k, df.Tensor)
    assert_type(image, df.Tensor)
both = df.data.Dataset.zip(df.data.Dataset.range(3), pairs)
assert_type(both, df.data.Dataset[tuple[df.Tensor, tuple[df.Tensor, df.Tensor]]])


def labelled(path: str) -> tuple[df.Tensor, str]:
    return df.ones([2]), path


def files(path: str) -> None:
    assert_type(df.data.Dataset.list_files(path).map(labelled),
                df.data.Dataset[tuple[df.Tensor, str]])
    for line in df.data.TextLineDataset(path):
        assert_type(line, str)
