"""Batching rules of ops on rows: the examples are additional rows."""

from typing import Any

from dualflow.transforms.batched_value import Application, BatchedValue
from dualflow.transforms.registry import batching


@batching("argmax", "argmin", "cumsum", "cumprod", "cumulative_recurrence",
          "cumulative_logsumexp", "softmax", "log_softmax", "softmax_grad", "log_softmax_grad",
          "softmax_cross_entropy", "softmax_cross_entropy_grad", "resample", "resample_grad", "fft")
def along(run: Application, *operands: BatchedValue) -> Any:
    return run(*run.all_batched(operands), axis=run.axis())


@batching("sort", "argsort", "top_k", "band_part", "l2_normalize", "l2_normalize_grad",
          "sparse_softmax_cross_entropy", "sparse_softmax_cross_entropy_grad", "cholesky",
          "lu", "qr", "inv", "det", "slogdet", "rfft")
def last(run: Application, *operands: BatchedValue) -> Any:
    """These ops only use the last dimensions."""
    return run(*run.all_batched(operands))


@batching("layer_norm", "rms_norm")
def norm(run: Application, x: BatchedValue, *parameters: BatchedValue) -> Any:
    """Shared scales and offsets apply to every row."""
    if not x.batched or any([p.batched for p in parameters]):
        return None
    return run(x.value, *[p.value for p in parameters])
