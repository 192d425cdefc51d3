"""Tables from keys to values, of text or numbers, under TensorFlow's names."""

from dualflow.lookup import experimental as experimental
from dualflow.lookup.initializers import (
    KeyValueTensorInitializer as KeyValueTensorInitializer,
    TextFileIndex as TextFileIndex,
    TextFileInitializer as TextFileInitializer,
)
from dualflow.lookup.tables import (
    StaticHashTable as StaticHashTable,
    StaticVocabularyTable as StaticVocabularyTable,
)

__all__ = ["KeyValueTensorInitializer", "StaticHashTable", "StaticVocabularyTable", "TextFileIndex",
           "TextFileInitializer", "experimental"]


def __dir__() -> list[str]:
    return __all__
