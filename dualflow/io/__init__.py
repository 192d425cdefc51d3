"""Files, images and records under the names of tf.io. The package also contains checkpoints and
saved modules, which users find as `dualflow.train`, `dualflow.save` and `dualflow.load`."""

from dualflow._util.late_binding import loaded as _loaded, submodule as _submodule

TYPE_CHECKING = False       # type checkers and editors assume True
if TYPE_CHECKING:
    from dualflow.io import gfile as gfile
    from dualflow.io.decoding import decode_csv as decode_csv, decode_raw as decode_raw
    from dualflow.io.features import (
        FixedLenFeature as FixedLenFeature,
        FixedLenSequenceFeature as FixedLenSequenceFeature,
        VarLenFeature as VarLenFeature,
    )
    from dualflow.io.parsing import (
        parse_example as parse_example,
        parse_single_example as parse_single_example,
        parse_single_sequence_example as parse_single_sequence_example,
    )
    from dualflow.io.ragged_feature import RaggedFeature as RaggedFeature
    from dualflow.io.tensor_proto import (
        parse_tensor as parse_tensor,
        serialize_tensor as serialize_tensor,
    )
    from dualflow.io.tfrecord import (
        TFRecordOptions as TFRecordOptions,
        TFRecordWriter as TFRecordWriter,
    )
    from dualflow.io.whole_files import read_file as read_file, write_file as write_file
    from dualflow.ops.image.decode import (
        decode_and_crop_jpeg as decode_and_crop_jpeg,
        decode_bmp as decode_bmp,
        decode_gif as decode_gif,
        decode_image as decode_image,
        decode_jpeg as decode_jpeg,
        decode_png as decode_png,
        extract_jpeg_shape as extract_jpeg_shape,
        is_jpeg as is_jpeg,
    )
    from dualflow.ops.image.encode import encode_jpeg as encode_jpeg, encode_png as encode_png

_NAMES = {
    "io.decoding": "decode_csv decode_raw",
    "io.features": "FixedLenFeature FixedLenSequenceFeature VarLenFeature",
    "io.parsing": "parse_example parse_single_example parse_single_sequence_example",
    "io.ragged_feature": "RaggedFeature",
    "io.tensor_proto": "parse_tensor serialize_tensor",
    "io.tfrecord": "TFRecordOptions TFRecordWriter",
    "io.whole_files": "read_file write_file",
    "ops.image.decode": "decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg "
                        "decode_png extract_jpeg_shape is_jpeg",
    "ops.image.encode": "encode_jpeg encode_png",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "RaggedFeature", "TFRecordOptions",
    "TFRecordWriter", "VarLenFeature", "decode_and_crop_jpeg", "decode_bmp", "decode_csv",
    "decode_gif", "decode_image", "decode_jpeg", "decode_png", "decode_raw", "encode_jpeg",
    "encode_png", "extract_jpeg_shape", "gfile", "is_jpeg", "parse_example", "parse_single_example",
    "parse_single_sequence_example", "parse_tensor", "read_file", "serialize_tensor", "write_file"]

if not TYPE_CHECKING:       # for type checkers, other names are errors
    def __getattr__(name):
        if name not in _HOMES:
            return _submodule(__name__, name)
        value = globals()[name] = getattr(_loaded(f"dualflow.{_HOMES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return __all__
