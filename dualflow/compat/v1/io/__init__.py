"""`tf.io`: files and records."""

from dualflow.compat.v1.io import gfile as gfile
from dualflow.compat.v1.io.parsing import (
    decode_csv as decode_csv,
    decode_raw as decode_raw,
    parse_example as parse_example,
    parse_single_example as parse_single_example,
)
from dualflow.compat.v1.python_io import (
    TFRecordCompressionType as TFRecordCompressionType,
    TFRecordOptions as TFRecordOptions,
    TFRecordWriter as TFRecordWriter,
    tf_record_iterator as tf_record_iterator,
)
from dualflow.compat.v1.train.graph_io import write_graph as write_graph
from dualflow.io.features import (
    FixedLenFeature as FixedLenFeature,
    FixedLenSequenceFeature as FixedLenSequenceFeature,
    VarLenFeature as VarLenFeature,
)
from dualflow.io.parsing import (
    parse_single_sequence_example as parse_single_sequence_example,
)

__all__ = ["FixedLenFeature", "FixedLenSequenceFeature", "TFRecordCompressionType",
           "TFRecordOptions", "TFRecordWriter", "VarLenFeature", "decode_csv", "decode_raw",
           "gfile", "parse_example", "parse_single_example", "parse_single_sequence_example",
           "tf_record_iterator", "write_graph"]


def __dir__() -> list[str]:
    return __all__
