"""Data pipelines, under the names of tf.data."""

from dualflow.data import experimental as experimental
from dualflow.data.dataset import (
    Dataset as Dataset,
    TextLineDataset as TextLineDataset,
)
from dualflow.data.iterator import Iterator as Iterator
from dualflow.data.options import Options as Options, ThreadingOptions as ThreadingOptions
from dualflow.data.prefetch import AUTOTUNE as AUTOTUNE
from dualflow.data.records import TFRecordDataset as TFRecordDataset
from dualflow.data.stage import (
    INFINITE as INFINITE_CARDINALITY,
    UNKNOWN as UNKNOWN_CARDINALITY,
)
from dualflow.data.windows import DatasetSpec as DatasetSpec

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Dataset", "DatasetSpec",
           "Iterator", "Options", "TFRecordDataset", "TextLineDataset", "ThreadingOptions",
           "experimental"]


def __dir__() -> list[str]:
    return __all__
