"""`tf.train.Example` and the messages in it, without protobuf."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dualflow._util.arguments import shown
from dualflow._util.wire_format import written
from dualflow.errors import DTypeError
from dualflow.io.feature import Feature
from dualflow.io.message import Message

__all__ = ["Example", "FeatureList", "FeatureLists", "Features", "SequenceExample"]


class _Map(dict[str, Any]):
    """A map of messages; a message is created when its key is first read, as in protobuf."""

    def __init__(self, kind: type[Message], given: Any, caller: str) -> None:
        self.kind = kind
        if given is not None and not isinstance(given, Mapping):
            raise DTypeError(f"{caller} is {shown(given)}, expected a dict")
        for key, value in (given or {}).items():
            if not isinstance(key, str) or not isinstance(value, kind):
                raise DTypeError(f"{caller} has {shown(key)}: {shown(value)}, expected a str and a "
                                 f"{kind.__name__}")
            self[key] = value

    def __missing__(self, key: str) -> Any:
        made = self[key] = self.kind()
        return made

    def load(self, entries: Iterable[Any]) -> None:
        self.clear()
        for entry in entries:
            value = self[entry.key] = self.kind()
            value._load(entry.value)

    def entries(self) -> list[tuple[int, bytes]]:
        return [(1, written(1, key.encode())
                 + written(2, self[key].SerializeToString())) for key in sorted(self)]


class Features(Message):
    """Features by name.

    Parameters
    ----------
    feature : dict of str to Feature

    Examples
    --------
    >>> import dualflow as df
    >>> features = df.train.Features()
    >>> features.feature["a"].int64_list.value.append(3)
    >>> features
    Features(feature={'a': Feature(int64_list=Int64List(value=[3]))})
    """

    _fields = ("feature",)

    def __init__(self, *, feature: Mapping[str, Feature] | None = None) -> None:
        self.feature: _Map = _Map(Feature, feature, "Features: feature")

    def _load(self, message: Any) -> None:
        self.feature.load(message.feature)

    def _parts(self) -> list[tuple[int, bytes]]:
        return self.feature.entries()


def checked(value: Any, kind: type[Message], what: str) -> Any:
    """Return a message, or a new one if it is None."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise DTypeError(f"{what} is {shown(value)}, expected a {kind.__name__}")
    return value


class FeatureList(Message):
    """The features of the steps of a sequence.

    Parameters
    ----------
    feature : list of Feature

    Examples
    --------
    >>> import dualflow as df
    >>> step = df.train.Feature(float_list=df.train.FloatList(value=[0.5]))
    >>> df.train.FeatureList(feature=[step])
    FeatureList(feature=[Feature(float_list=FloatList(value=[0.5]))])
    """

    _fields = ("feature",)

    def __init__(self, *, feature: Iterable[Feature] | None = None) -> None:
        self.feature: list[Feature] = [checked(x, Feature, "FeatureList: a feature")
                                       for x in feature or ()]

    def _load(self, message: Any) -> None:
        self.feature = [Feature() for _ in message.feature]
        for made, one in zip(self.feature, message.feature, strict=True):
            made._load(one)

    def _parts(self) -> list[tuple[int, bytes]]:
        return [(1, x.SerializeToString()) for x in self.feature]


class FeatureLists(Message):
    """Sequences of features by name.

    Parameters
    ----------
    feature_list : dict of str to FeatureList

    Examples
    --------
    >>> import dualflow as df
    >>> df.train.FeatureLists(feature_list={"words": df.train.FeatureList()})
    FeatureLists(feature_list={'words': FeatureList(feature=[])})
    """

    _fields = ("feature_list",)

    def __init__(self, *, feature_list: Mapping[str, FeatureList] | None = None) -> None:
        self.feature_list: _Map = _Map(FeatureList, feature_list, "FeatureLists: feature_list")

    def _load(self, message: Any) -> None:
        self.feature_list.load(message.feature_list)

    def _parts(self) -> list[tuple[int, bytes]]:
        return self.feature_list.entries()


class Example(Message):
    """One example of a data set: features by name.

    Parameters
    ----------
    features : Features, optional

    Examples
    --------
    >>> import dualflow as df
    >>> label = df.train.Feature(int64_list=df.train.Int64List(value=[3]))
    >>> example = df.train.Example(features=df.train.Features(feature={"label": label}))
    >>> data = example.SerializeToString()
    >>> data
    b'\\n\\x10\\n\\x0e\\n\\x05label\\x12\\x05\\x1a\\x03\\n\\x01\\x03'
    >>> df.train.Example.FromString(data).features.feature["label"].int64_list.value
    [3]
    """

    _fields = ("features",)

    def __init__(self, *, features: Features | None = None) -> None:
        self.features: Features = checked(features, Features, "Example: features")

    def _load(self, message: Any) -> None:
        self.features._load(message.features)

    def _parts(self) -> list[tuple[int, bytes]]:
        return [(1, part) for part in [self.features.SerializeToString()] if part]


class SequenceExample(Message):
    """An example with sequences: features of the whole example, and lists of features.

    Parameters
    ----------
    context : Features, optional
    feature_lists : FeatureLists, optional

    Examples
    --------
    >>> import dualflow as df
    >>> example = df.train.SequenceExample()
    >>> example.context.feature["length"].int64_list.value.append(2)
    >>> df.train.SequenceExample.FromString(example.SerializeToString()) == example
    True
    """

    _fields = ("context", "feature_lists")

    def __init__(self, *, context: Features | None = None,
                 feature_lists: FeatureLists | None = None) -> None:
        self.context: Features = checked(context, Features, "SequenceExample: context")
        self.feature_lists: FeatureLists = checked(feature_lists, FeatureLists,
                                                   "SequenceExample: feature_lists")

    def _load(self, message: Any) -> None:
        self.context._load(message.context)
        self.feature_lists._load(message.feature_lists)

    def _parts(self) -> list[tuple[int, bytes]]:
        parts = [(1, self.context.SerializeToString()),
                 (2, self.feature_lists.SerializeToString())]
        return [(number, part) for number, part in parts if part]
