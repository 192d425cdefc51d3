"""Event files for TensorBoard: scalars, histograms, images, text, and graphs of programs.

The names are TensorFlow's. The tensorboard package, an optional dependency
(``pip install 'dualflow[tensorboard]'``), writes the files; the first writer imports it.
"""

from dualflow.summary import experimental as experimental
from dualflow.summary.trace import (
    trace_export as trace_export,
    trace_off as trace_off,
    trace_on as trace_on,
)
from dualflow.summary.values import (
    graph as graph,
    histogram as histogram,
    image as image,
    scalar as scalar,
    text as text,
    write as write,
)
from dualflow.summary.writer import (
    FileWriter as FileWriter,
    create_file_writer as create_file_writer,
    flush as flush,
    record_if as record_if,
    should_record_summaries as should_record_summaries,
)

_MODULES = {"graph_def", "tensorboard", "trace", "v1", "values", "writer"}


def __dir__() -> list[str]:
    return sorted({*globals()} - {*_MODULES, "_MODULES"})
