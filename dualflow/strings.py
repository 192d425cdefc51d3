"""String functions. They run in Python: at once or, for the text of a traced function, in each run
of its graph."""

from dualflow.ops.string_tensor import StringTensor as StringTensor
from dualflow.ops.strings.change import (
    join as join,
    length as length,
    lower as lower,
    reduce_join as reduce_join,
    regex_full_match as regex_full_match,
    regex_replace as regex_replace,
    strip as strip,
    substr as substr,
    upper as upper,
)
from dualflow.ops.strings.convert import (
    as_string as as_string,
    format as format,
    to_hash_bucket as to_hash_bucket,
    to_hash_bucket_fast as to_hash_bucket_fast,
    to_hash_bucket_strong as to_hash_bucket_strong,
    to_number as to_number,
)
from dualflow.ops.strings.ngrams import ngrams as ngrams
from dualflow.ops.strings.split import (
    bytes_split as bytes_split,
    split as split,
    unicode_decode as unicode_decode,
    unicode_encode as unicode_encode,
    unicode_split as unicode_split,
)

__all__ = ["StringTensor", "as_string", "bytes_split", "format", "join", "length", "lower",
           "ngrams", "reduce_join", "regex_full_match", "regex_replace", "split", "strip", "substr",
           "to_hash_bucket", "to_hash_bucket_fast", "to_hash_bucket_strong", "to_number",
           "unicode_decode", "unicode_encode", "unicode_split", "upper"]


def __dir__() -> list[str]:
    return __all__
