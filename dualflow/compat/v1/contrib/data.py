"""`tf.contrib.data`: transformations for `Dataset.apply`."""

from dualflow.data.experimental import (
    Counter as Counter,
    bucket_by_sequence_length as bucket_by_sequence_length,
    enumerate_dataset as enumerate_dataset,
    group_by_window as group_by_window,
    ignore_errors as ignore_errors,
    map_and_batch as map_and_batch,
    parallel_interleave as parallel_interleave,
    rejection_resample as rejection_resample,
    scan as scan,
    shuffle_and_repeat as shuffle_and_repeat,
    unbatch as unbatch,
    unique as unique,
)
