"""Further constructors of Dataset: numbers, saved datasets, selections from several datasets."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dualflow._util.arguments import integer, shown
from dualflow.data.choices import Chosen, Draws, Random, as_weights
from dualflow.data.iterables import stage_of
from dualflow.data.more_transformations import refuse_compression, word_of
from dualflow.data.saved import Saved
from dualflow.data.sources import Range, Single
from dualflow.data.stage import Stage
from dualflow.dtypes import as_dtype, int64
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.types import DTypeLike

if TYPE_CHECKING:
    from dualflow._core import Tensor
    from dualflow.data.dataset import Dataset


def stages_of(datasets: Any, caller: str) -> list[Stage]:
    """Return the stages of a list of datasets, which must not be empty."""
    if not isinstance(datasets, Sequence) or isinstance(datasets, str):
        raise DTypeError(f"{caller}: datasets is {shown(datasets)}, expected a list of datasets")
    if not datasets:
        raise InvalidArgumentError(f"{caller}: got no datasets")
    return [stage_of(x, caller) for x in datasets]


class MoreSources:
    """The constructors of Dataset that need no other dataset's methods."""

    @staticmethod
    def _of(stage: Stage) -> Any:
        """Return the dataset of a stage."""
        raise NotImplementedError

    @classmethod
    def random(cls, seed: int | None = None, rerandomize_each_iteration: bool | None = None,
               name: str | None = None) -> Dataset[Tensor]:
        """Create an infinite dataset of random int64 numbers in [0, 2**32).

        Parameters
        ----------
        seed : int, optional
            By default it is drawn from the global generator.
        rerandomize_each_iteration : bool, default False
            Whether iterations have different numbers.

        Examples
        --------
        >>> import dualflow as df
        >>> dataset = df.data.Dataset.random(seed=4).take(3)
        >>> [x.item() for x in dataset] == [x.item() for x in dataset]
        True
        """
        found: Dataset[Tensor] = cls._of(Random(word_of(seed, "random: seed"),
                                                bool(rerandomize_each_iteration)))
        return found

    @classmethod
    def counter(cls, start: int = 0, step: int = 1, dtype: DTypeLike = int64,
                name: str | None = None) -> Dataset[Tensor]:
        """Create an infinite dataset of the numbers `start`, `start + step`, ...

        Examples
        --------
        >>> import dualflow as df
        >>> [x.item() for x in df.data.Dataset.counter(4, -2).take(3)]
        [4, 2, 0]
        """
        first, by = integer(start, "counter: start"), integer(step, "counter: step")
        if by == 0:
            raise InvalidArgumentError("counter: step is 0")
        found: Dataset[Tensor] = cls._of(Range(first, None, by, as_dtype(dtype)))
        return found

    @classmethod
    def sample_from_datasets(cls, datasets: Sequence[Any], weights: Any = None,
                             seed: int | None = None, stop_on_empty_dataset: bool = False,
                             rerandomize_each_iteration: bool | None = None) -> Dataset[Any]:
        """Take each element from one of several datasets, which is chosen at random.

        Parameters
        ----------
        datasets : sequence of datasets
            Their elements must match.
        weights : sequence of float, or dataset, optional
            The probabilities of the datasets, up to a factor; equal by default. The elements of a
            dataset are the weights for each choice.
        seed : int, optional
            By default it is drawn from the global generator.
        stop_on_empty_dataset : bool, default False
            Whether to end when a chosen dataset has no more elements; otherwise it is skipped
            until all have ended.
        rerandomize_each_iteration : bool, default False
            Whether iterations have different choices.

        Examples
        --------
        >>> import dualflow as df
        >>> a, b = df.data.Dataset.range(3), df.data.Dataset.range(10, 13)
        >>> mixed = df.data.Dataset.sample_from_datasets([a, b], [0.5, 0.5], seed=1)
        >>> sorted(x.item() for x in mixed)
        [0, 1, 2, 10, 11, 12]
        """
        caller = "sample_from_datasets"
        sources = stages_of(datasets, caller)
        n = len(sources)
        of_draws = [stage_of(weights, caller)] if hasattr(weights, "_stage") else []
        fixed = [1.] * n if weights is None or of_draws else as_weights(weights, n)
        drawn = [k for k in range(n) if fixed[k]]       # the others are never chosen
        sources, fixed = [sources[k] for k in drawn], [fixed[k] for k in drawn]
        choices = Draws(word_of(seed, f"{caller}: seed"), bool(rerandomize_each_iteration),
                        len(sources), fixed, *of_draws)
        return cls._of(Chosen(choices, sources, bool(stop_on_empty_dataset), caller))

    @classmethod
    def choose_from_datasets(cls, datasets: Sequence[Any], choice_dataset: Any,
                             stop_on_empty_dataset: bool = True) -> Dataset[Any]:
        """Take each element from one of several datasets, which another dataset names.

        Parameters
        ----------
        datasets : sequence of datasets
            Their elements must match.
        choice_dataset : dataset of integer Tensor, shape ()
            The index of the dataset for each element.
        stop_on_empty_dataset : bool, default True
            Whether to end when a chosen dataset has no more elements; otherwise the choice is
            skipped.

        Examples
        --------
        >>> import dualflow as df
        >>> words = [df.data.Dataset.from_tensors(w).repeat(2) for w in ["a", "b"]]
        >>> list(df.data.Dataset.choose_from_datasets(words, df.data.Dataset.range(2).repeat(2)))
        ['a', 'b', 'a', 'b']
        """
        caller = "choose_from_datasets"
        return cls._of(Chosen(stage_of(choice_dataset, caller), stages_of(datasets, caller),
                              bool(stop_on_empty_dataset), caller))

    @classmethod
    def load(cls, path: Any, element_spec: Any = None, compression: str | None = None,
             reader_func: Callable[[Any], Any] | None = None) -> Dataset[Any]:
        """Create a dataset of the elements that `Dataset.save` wrote.

        Parameters
        ----------
        path : str or PathLike
        element_spec : structure of TensorSpec, optional
            The structure of the elements, required if they have containers other than tuples and
            dicts. Raises if dtypes or sizes differ.
        compression : None
        reader_func : callable, optional
            Called with a dataset whose only element is the dataset that was saved; returns the
            dataset.

        Raises
        ------
        FileNotFoundError
            If the folder has no saved dataset.
        InvalidArgumentError
            If its files are damaged.

        Examples
        --------
        >>> import dualflow as df, tempfile
        >>> with tempfile.TemporaryDirectory() as path:
        ...     df.data.Dataset.from_tensor_slices({"x": [1., 2.], "y": ["a", "b"]}).save(path)
        ...     [(e["x"].item(), e["y"]) for e in df.data.Dataset.load(path)]
        [(1.0, 'a'), (2.0, 'b')]
        """
        refuse_compression(compression, "load")
        found = cls._of(Saved(os.fspath(path), element_spec))
        return found if reader_func is None else cls._of(
            stage_of(reader_func(cls._of(Single(found))), "load: reader_func"))
