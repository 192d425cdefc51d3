"""The class Dataset: constructors and queries. `transformations.py` has the transformations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, overload

from dualflow import nest
from dualflow._core import Tensor, TensorSpec, constant, current_graph
from dualflow._util.arguments import integer, shown
from dualflow._util.late_binding import late
from dualflow._util.notebook import card
from dualflow.data.calls import UserFunction
from dualflow.data.files import COMPRESSIONS, Lines, matching, names_of
from dualflow.data.iterables import stage_of
from dualflow.data.iterator import Iterator, NumpyIterator
from dualflow.data.more_sources import MoreSources
from dualflow.data.more_transformations import MoreTransformations
from dualflow.data.selection import Zip
from dualflow.data.sources import Iterated, Range, Single, Slices, Typed
from dualflow.data.stage import INFINITE, UNKNOWN, Stage
from dualflow.data.structure import as_element, is_leaf, map_leaves, pack
from dualflow.data.text import wrapped
from dualflow.data.transformations import T
from dualflow.dtypes import as_dtype, int64
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.types import DTypeLike, SupportsArray
from dualflow.tracebacks import filtered

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
Rows: TypeAlias = SupportsArray | Sequence[float] | Sequence[Sequence[float]]


class Dataset(MoreTransformations[T], MoreSources):
    """A sequence of elements, nested tuples and dicts of tensors, that supports repeated iteration.

    The static methods below create datasets, and methods derive new ones; no dataset changes.

    Examples
    --------
    >>> import dualflow as df
    >>> x, y = df.ones([5, 3]), df.range(5)
    >>> dataset = df.data.Dataset.from_tensor_slices((x, y)).shuffle(5, seed=1).batch(2)
    >>> for images, labels in dataset:
    ...     print(images.shape, labels.shape)
    (2, 3) (2,)
    (2, 3) (2,)
    (1, 3) (1,)
    """

    def __init__(self) -> None:
        raise DTypeError("a Dataset is created by from_tensor_slices, from_generator, range and "
                         "similar methods")

    def _new(self, stage: Stage) -> Dataset[Any]:
        return dataset_of(stage)

    @staticmethod
    def _of(stage: Stage) -> Dataset[Any]:
        return dataset_of(stage)

    # --- sources ---

    @overload           # a tuple of rows is several tensors, not one
    @staticmethod
    def from_tensor_slices(tensors: tuple[Rows, Rows],      # type: ignore[overload-overlap]
                           name: str | None = None) -> Dataset[tuple[Tensor, Tensor]]: ...

    @overload
    @staticmethod
    def from_tensor_slices(tensors: tuple[Rows, Rows, Rows],    # type: ignore[overload-overlap]
                           name: str | None = None) -> Dataset[tuple[Tensor, Tensor, Tensor]]: ...

    @overload
    @staticmethod
    def from_tensor_slices(tensors: Rows, name: str | None = None) -> Dataset[Tensor]: ...

    @overload
    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset[Any]: ...

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset[Any]:
        """Create a dataset of the rows of tensors, which must have equal numbers of rows.

        Parameters
        ----------
        tensors : structure of Tensor, array or list
            Tuples and dicts are containers; a list is one tensor, or a list of strings.

        Examples
        --------
        >>> import dualflow as df
        >>> rows = {"x": [[1, 2], [3, 4]], "name": ["a", "b"]}
        >>> [(e["x"].tolist(), e["name"]) for e in df.data.Dataset.from_tensor_slices(rows)]
        [([1, 2], 'a'), ([3, 4], 'b')]
        """
        caller = "from_tensor_slices"
        return dataset_of(Slices(as_element(tensors, caller), caller))

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset[Any]:
        """Create a dataset with `tensors` as its only element."""
        return dataset_of(Single(as_element(tensors, "from_tensors")))

    @staticmethod
    def from_generator(generator: Callable[..., Any], output_types: Any = None,
                       output_shapes: Any = None, args: Sequence[Any] | None = None,
                       output_signature: Any = None, name: str | None = None) -> Dataset[Any]:
        """Create a dataset of the elements of a Python iterator.

        Parameters
        ----------
        generator : callable
            Returns an iterable; called for each pass.
        output_types, output_shapes : structure, optional
            Dtypes and shapes of an element: the older form of `output_signature`. Without
            shapes, elements may have any.
        args : sequence, optional
            The arguments of `generator`.
        output_signature : structure of TensorSpec, optional
            The specs to which elements are cast, and against which they are checked; `str` is the
            spec of strings. Without it, elements are not converted.

        Examples
        --------
        >>> import dualflow as df
        >>> dataset = df.data.Dataset.from_generator(
        ...     lambda: (n * n for n in range(3)), output_signature=df.TensorSpec([], df.float32))
        >>> [x.item() for x in dataset]
        [0.0, 1.0, 4.0]
        """
        spec, kind = output_signature, Iterated     # type: Any, type[Iterated]
        if spec is None and output_types is not None:
            spec = specs_of(output_types, output_shapes)
            kind = Typed if output_shapes is None else Iterated
        function, arguments = UserFunction(generator, "from_generator"), tuple(args or ())
        return dataset_of(kind(lambda: function(*arguments), UNKNOWN, spec, "from_generator",
                               function.noted))

    @staticmethod
    def from_iterable(iterable: Any, name: str | None = None) -> Dataset[Any]:
        """Create a dataset of the elements of any iterable: a list, a generator, a DataLoader of
        PyTorch, a PyDataset of Keras. A Dataset is returned unchanged.

        Functions that expect a dataset accept such an iterable, too. A generator can be iterated
        once.

        Examples
        --------
        >>> import dualflow as df
        >>> dataset = df.data.Dataset.from_iterable([(1, "a"), (2, "b")])
        >>> [(x.item(), name) for x, name in dataset]
        [(1, 'a'), (2, 'b')]
        """
        return as_dataset(iterable, "from_iterable")

    @staticmethod
    def range(*args: int, output_type: DTypeLike = int64,
              name: str | None = None) -> Dataset[Tensor]:
        """Create a dataset of the integers of Python's `range`, with the same arguments."""
        if not 1 <= len(args) <= 3:
            raise DTypeError(f"Dataset.range: got {len(args)} arguments, expected 1 to 3")
        numbers = [integer(x, "Dataset.range: a number") for x in args]
        start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
        step = numbers[2] if len(numbers) == 3 else 1
        if step == 0:
            raise InvalidArgumentError("Dataset.range: step is 0")
        return dataset_of(Range(start, stop, step, as_dtype(output_type)))

    @overload
    @staticmethod
    def zip(a: Dataset[A], b: Dataset[B], /) -> Dataset[tuple[A, B]]: ...

    @overload
    @staticmethod
    def zip(a: Dataset[A], b: Dataset[B], c: Dataset[C], /) -> Dataset[tuple[A, B, C]]: ...

    @overload
    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset[Any]: ...

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset[Any]:
        """Combine elements of several datasets; the shortest dataset determines the length.

        Parameters
        ----------
        *args : datasets, or one structure of datasets

        Examples
        --------
        >>> import dualflow as df
        >>> a, b = df.data.Dataset.range(3), df.data.Dataset.range(10, 12)
        >>> [(x.item(), y.item()) for x, y in df.data.Dataset.zip(a, b)]
        [(0, 10), (1, 11)]
        """
        structure = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if isinstance(structure, list):
            raise DTypeError("Dataset.zip: got a list, expected datasets or a structure of them: "
                             "Dataset.zip(*datasets)")
        inputs: list[Stage] = []
        template = map_leaves(lambda x: inputs.append(stage_of(x, "Dataset.zip")), structure)
        if not inputs:
            raise InvalidArgumentError("Dataset.zip: got no datasets")
        return dataset_of(Zip(inputs, template))

    @staticmethod
    def list_files(file_pattern: Any, shuffle: bool | None = None, seed: int | None = None,
                   name: str | None = None) -> Dataset[str]:
        """Create a dataset of the names of the files that patterns match, as strings.

        Parameters
        ----------
        file_pattern : str or list of str
            Patterns in the syntax of Python's `glob`.
        shuffle : bool, default True
            Whether to shuffle the names; otherwise they are sorted.
        seed : int, optional
        """
        names = matching(file_pattern)
        found = dataset_of(Slices(wrapped(names), "list_files"))
        return found if shuffle is False else found.shuffle(len(names), seed)

    @staticmethod
    def text_lines(filenames: Any, compression_type: str | None = None) -> Dataset[str]:
        """Create a dataset of the lines of text files, as `TextLineDataset` does."""
        return TextLineDataset(filenames, compression_type)

    # --- queries ---

    def __iter__(self) -> Iterator[T]:
        question = getattr(getattr(current_graph(), "outliner", None), "question", None)
        if question is not None:
            question(None)          # restarts the trace if the `for` of the caller can be converted
        return Iterator(self._stage)

    def __df_elements__(self) -> Any:
        """Return the elements for a traced `for`, as `autograph.loops.ForElements` needs them."""
        return late("traced_dataset").Elements(self._stage, self.__iter__)

    @property
    def element_spec(self) -> Any:
        """Dtypes and shapes of an element. If a Python function computes the elements, it may be
        called with the first one."""
        return self._stage.spec

    def cardinality(self, name: str | None = None) -> Tensor:
        """Return the number of elements, `INFINITE_CARDINALITY`, or `UNKNOWN_CARDINALITY`."""
        return constant(self._stage.size, int64)

    def __len__(self) -> int:
        n = self._stage.size
        if n < 0:
            how = "infinite" if n == INFINITE else "unknown"
            raise DTypeError(f"the length of the dataset is {how}")
        return n

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Dataset {self._stage.text()}>"

    def _repr_html_(self) -> str:
        chain, _, spec = self._stage.text().partition(", element_spec: ")
        n = self._stage.size
        size = n if n >= 0 else "infinite" if n == INFINITE else "unknown"
        return card("Dataset", [("stages", chain), ("element_spec", spec), ("elements", size)])

    def as_numpy_iterator(self) -> NumpyIterator:
        """Return an iterator over the elements with tensors converted to NumPy arrays and scalars.

        Examples
        --------
        >>> import dualflow as df
        >>> [int(x) for x in df.data.Dataset.range(3).as_numpy_iterator()]
        [0, 1, 2]
        """
        return NumpyIterator(self)

    @filtered
    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any],
               name: str | None = None) -> Any:
        """Fold all elements: repeat ``state = reduce_func(state, element)``.

        Examples
        --------
        >>> import dualflow as df
        >>> df.data.Dataset.range(5).reduce(0, lambda total, x: total + x).item()
        10
        """
        function = UserFunction(reduce_func, "reduce")
        state = as_element(initial_state, "reduce")
        for element in self:
            state = as_element(function(state, element), "reduce")
        return state

    def get_single_element(self, name: str | None = None) -> T:
        """Return the only element; raise InvalidArgumentError unless there is exactly one."""
        found = [element for element, _ in zip(self.take(2), "ab", strict=False)]
        if len(found) != 1:
            raise InvalidArgumentError("get_single_element: the dataset has "
                                       f"{'no' if not found else 'more than one'} element")
        return found[0]


class TextLineDataset(Dataset[str]):
    """The lines of text files, as strings without line ends, one file after another.

    Parameters
    ----------
    filenames : str, or list or dataset of str
    compression_type : {"", "GZIP", "ZLIB"}, optional
    buffer_size, num_parallel_reads
        Accepted for compatibility with TensorFlow; no effect.
    """

    def __init__(self, filenames: Any, compression_type: str | None = None,
                 buffer_size: int | None = None, num_parallel_reads: int | None = None,
                 name: str | None = None) -> None:
        if (compression_type or "") not in COMPRESSIONS:
            raise InvalidArgumentError(f"TextLineDataset: compression_type is "
                                       f"{shown(compression_type)}, expected one of {COMPRESSIONS}")
        self._stage = Lines(names_of(filenames, "TextLineDataset: filenames"),
                            compression_type or "")


def dataset_of(stage: Stage) -> Dataset[Any]:
    """Return the dataset of the elements of a stage."""
    dataset = Dataset.__new__(Dataset)
    dataset._stage = stage
    return dataset


def peek(dataset: Dataset[Any]) -> Any:
    """Return the first element of the first pass, without consuming it."""
    for element in dataset._stage.cursor(0):
        return element
    raise InvalidArgumentError("the dataset has no elements")


def as_dataset(value: Any, caller: str = "as_dataset") -> Dataset[Any]:
    """Return a dataset; other iterables are converted."""
    return value if isinstance(value, Dataset) else dataset_of(stage_of(value, caller))


def specs_of(types: Any, shapes: Any) -> Any:
    """Return the structure of specs for dtypes and shapes."""
    if is_leaf(types):
        return TensorSpec(() if shapes is None else shapes, types)
    leaves = nest.flatten(types)
    sizes = [()] * len(leaves) if shapes is None else nest.flatten_up_to(types, shapes)
    return pack(types, [TensorSpec(s, t) for s, t in zip(sizes, leaves, strict=True)])
