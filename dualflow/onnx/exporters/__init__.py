"""Export rules: a function per op that writes it as nodes, by family."""

from dualflow.onnx.exporters import (  # noqa: F401
    arrays,
    control,
    elementwise,
    functions,
    networks,
    recurrent,
    reductions,
)
from dualflow.onnx.exporters.registry import REASONS as REASONS, RULES as RULES
