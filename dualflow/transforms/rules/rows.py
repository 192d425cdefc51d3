"""Batching rules of ops on rows: the examples are additional rows."""

from typing import Any

from dualflow.transforms.lane import Application, Lane
from dualflow.transforms.registry import batching


@batching("argmax", "argmin", "cumsum", "cumprod", "cumulative_recurrence",
          "cumulative_logsumexp", "softmax", "log_softmax", "softmax_grad", "log_softmax_grad",
          "softmax_cross_entropy", "softmax_cross_entropy_grad", "resample", "resample_grad")
def along(run: Application, *lanes: Lane) -> Any:
    return run(*run.all_stacked(lanes), axis=run.axis())


@batching("sort", "argsort", "top_k", "band_part", "l2_normalize", "l2_normalize_grad",
          "sparse_softmax_cross_entropy", "sparse_softmax_cross_entropy_grad")
def last(run: Application, *lanes: Lane) -> Any:
    """These ops only use the last dimensions."""
    return run(*run.all_stacked(lanes))


@batching("layer_norm", "rms_norm")
def norm(run: Application, x: Lane, *parameters: Lane) -> Any:
    """Shared scales and offsets apply to every row."""
    if not x.stacked or any([p.stacked for p in parameters]):
        return None
    return run(x.value, *[p.value for p in parameters])
