"""Keras variables that store a dualflow variable."""

from typing import Any

from keras.src.backend.common import KerasVariable

import dualflow as df
from dualflow.keras.src.ops import convert


class Variable(KerasVariable):
    """A Keras variable whose value is a `dualflow.Variable`; ops and tapes accept either."""

    def _initialize(self, value: Any) -> None:
        self._value = df.Variable(convert.convert_to_tensor(value, dtype=self._dtype),
                                  trainable=self._trainable, name=self._path)

    def _direct_assign(self, value: Any) -> None:
        self._value.assign(value)

    def _convert_to_tensor(self, value: Any, dtype: Any = None) -> df.Tensor:
        return convert.convert_to_tensor(value, dtype=dtype)

    def __df_tensor__(self) -> Any:
        return self.value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = convert.convert_to_numpy(self.value)
        return array if dtype is None else array.astype(dtype)

    @property
    def trainable(self) -> bool:
        """Whether training updates the variable."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)
        if value and self._value is not None and not self._value.trainable:
            self._initialize(self._value.value())       # so that tapes watch it
