"""Training, evaluation and prediction of Keras models.

A step updates weights, optimizer slots, metrics and seeds in place. Invariant: all of them are
created before the step is traced.
"""

import warnings
from typing import Any

import numpy as np
from keras.src import callbacks as callbacks_module, optimizers as optimizers_module, tree
from keras.src.backend import config
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import pythonify_logs

import dualflow as df
from dualflow.keras.src.batches import Batches
from dualflow.keras.src.datasets import DatasetAdapter
from dualflow.keras.src.ops.convert import convert_to_numpy
from dualflow.keras.src.optimizer import takes_rows
from dualflow.keras.src.step import Step


class Trainer(base_trainer.Trainer):
    """The base class of Keras models with the training loops of this backend."""

    def __init__(self) -> None:
        super().__init__()
        self.train_function: Any = None
        self.test_function: Any = None
        self.predict_function: Any = None

    # --- steps ---

    def train_step(self, data: Any) -> Any:
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        weights = self.trainable_weights
        variables = [w._value for w in weights]
        with df.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            y_pred = self(x, training=True) if self._call_has_training_arg else self(x)
            loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight,
                                      training=True)
            scaled = loss if self.optimizer is None else self.optimizer.scale_loss(loss)
        self._loss_tracker.update_state(loss, sample_weight=_rows(x))
        if weights:
            gradients = tape.gradient(scaled, variables)
            if not takes_rows(self.optimizer):
                gradients = [df.convert_to_tensor(g) if isinstance(g, df.IndexedSlices) else g
                             for g in gradients]
            self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data: Any) -> Any:
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False) if self._call_has_training_arg else self(x)
        loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight,
                                  training=False)
        self._loss_tracker.update_state(loss, sample_weight=_rows(x))
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data: Any) -> Any:
        x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(data)
        return self(x, training=False) if self._call_has_training_arg else self(x)

    def _steps(self, function: Any) -> Any:
        """Return a function that runs a step on each batch and returns the logs of the last one."""
        step = Step(function, self.run_eagerly)

        def run(batches: Any) -> Any:
            logs = None
            for batch in batches:
                logs = step(batch)
            return logs

        return run

    def make_train_function(self, force: bool = False) -> Any:
        if self.train_function is None or force:
            self.train_function = self._steps(self.train_step)
        return self.train_function

    def make_test_function(self, force: bool = False) -> Any:
        if self.test_function is None or force:
            self.test_function = self._steps(self.test_step)
        return self.test_function

    def make_predict_function(self, force: bool = False) -> Any:
        if self.predict_function is None or force:
            step = Step(self.predict_step, self.run_eagerly)

            def run(batches: Any) -> Any:
                return _joined([step(batch) for batch in batches], df.concat)

            self.predict_function = run
        return self.predict_function

    @property
    def generate_function(self) -> Any:
        """The function that keras_hub's `generate` calls: `generate_step`, traced.

        keras_hub traces the step on the backends that it knows and assigns the plain method on the
        others, so the setter traces the method, unless the model runs eagerly.
        """
        return self.__dict__.get("_generate_function")

    @generate_function.setter
    def generate_function(self, function: Any) -> None:
        step = getattr(self, "generate_step", None)
        if step is not None and function == step and not self.run_eagerly:
            function = df.function(step)
        self.__dict__["_generate_function"] = function

    # --- loops ---

    def _symbolic_build(self, iterator: Any = None, data_batch: Any = None) -> None:
        """Create all variables, unless a custom train step creates them."""
        if not _is_called(self):
            return
        adapter = getattr(iterator, "data_adapter", None)
        if isinstance(adapter, DatasetAdapter):
            iterator = adapter.specs()
        super()._symbolic_build(iterator, data_batch)

    def _callbacks(self, given: Any, epoch_iterator: Batches, verbose: Any,
                   **more: Any) -> Any:
        if isinstance(given, callbacks_module.CallbackList):
            return given
        made = callbacks_module.CallbackList(
            given, add_progbar=verbose != 0, verbose=verbose, steps=epoch_iterator.num_batches,
            model=self, **more)
        # A step is complete when it returns, so callbacks need no other thread.
        made._async_train = made._async_test = made._async_predict = False
        return made

    @traceback_utils.filter_traceback
    def fit(self, x: Any = None, y: Any = None, batch_size: int | None = None, epochs: int = 1,
            verbose: Any = "auto", callbacks: Any = None, validation_split: float = 0.0,
            validation_data: Any = None, shuffle: Any = True, class_weight: Any = None,
            sample_weight: Any = None, initial_epoch: int = 0, steps_per_epoch: int | None = None,
            validation_steps: int | None = None, validation_batch_size: int | None = None,
            validation_freq: Any = 1) -> Any:
        self._assert_compile_called("fit")
        epochs = _limited(epochs)
        self._eval_epoch_iterator: Any = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split)
        validation = _arguments(validation_data, validation_batch_size or batch_size)
        epoch_iterator = Batches(
            x=x, y=y, sample_weight=sample_weight, batch_size=batch_size,
            steps_per_epoch=steps_per_epoch, shuffle=shuffle, class_weight=class_weight,
            steps_per_execution=self.steps_per_execution)
        self._symbolic_build(iterator=epoch_iterator)
        epoch_iterator.reset()
        callbacks = self._callbacks(callbacks, epoch_iterator, verbose, add_history=True,
                                    epochs=epochs)
        self.stop_training = False
        self.make_train_function()
        callbacks.on_train_begin()
        logs: dict[str, Any] = {}
        for epoch in range(self._initial_epoch or initial_epoch, epochs):
            self.reset_metrics()
            callbacks.on_epoch_begin(epoch)
            logs = self._epoch(epoch_iterator, callbacks)
            if validation is not None and self._should_eval(epoch, validation_freq):
                logs.update(self._validated(validation, validation_steps, callbacks))
            callbacks.on_epoch_end(epoch, logs)
            if self.stop_training:
                break
        if isinstance(self.optimizer, optimizers_module.Optimizer) and epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        del self._eval_epoch_iterator
        callbacks.on_train_end(logs=logs)
        return self.history

    def _epoch(self, epoch_iterator: Batches, callbacks: Any) -> dict[str, Any]:
        logs: Any = {}
        for begin_step, end_step, data in epoch_iterator:
            callbacks.on_train_batch_begin(begin_step)
            logs = self.train_function(data)
            callbacks.on_train_batch_end(end_step, logs)
            if self.stop_training:
                break
        return dict(self._get_metrics_result_or_logs(logs))

    def _validated(self, validation: Any, steps: Any, callbacks: Any) -> dict[str, Any]:
        if getattr(self, "_eval_epoch_iterator", None) is None:
            self._eval_epoch_iterator = Batches(
                **validation, steps_per_execution=self.steps_per_execution, steps_per_epoch=steps,
                shuffle=False)
        logs = self.evaluate(**validation, steps=steps, callbacks=callbacks, return_dict=True,
                             _use_cached_eval_dataset=True)
        return {f"val_{name}": value for name, value in logs.items()}

    @traceback_utils.filter_traceback
    def evaluate(self, x: Any = None, y: Any = None, batch_size: int | None = None,
                 verbose: Any = "auto", sample_weight: Any = None, steps: int | None = None,
                 callbacks: Any = None, return_dict: bool = False, **kwargs: Any) -> Any:
        self._assert_compile_called("evaluate")
        cached = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        epoch_iterator: Any = self._eval_epoch_iterator if cached else Batches(
            x=x, y=y, sample_weight=sample_weight, batch_size=batch_size, steps_per_epoch=steps,
            shuffle=False, steps_per_execution=self.steps_per_execution)
        self._symbolic_build(iterator=epoch_iterator)
        epoch_iterator.reset()
        callbacks = self._callbacks(callbacks, epoch_iterator, verbose, epochs=1)
        self.make_test_function()
        self.stop_evaluating = False
        callbacks.on_test_begin()
        logs: Any = {}
        self.reset_metrics()
        for begin_step, end_step, data in epoch_iterator:
            callbacks.on_test_batch_begin(begin_step)
            logs = self.test_function(data)
            callbacks.on_test_batch_end(end_step, logs)
            if self.stop_evaluating:
                break
        logs = pythonify_logs(self._get_metrics_result_or_logs(logs))
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(self, x: Any, batch_size: int | None = None, verbose: Any = "auto",
                steps: int | None = None, callbacks: Any = None) -> Any:
        epoch_iterator = Batches(x=x, batch_size=batch_size, steps_per_epoch=steps,
                                       shuffle=False,
                                       steps_per_execution=self.steps_per_execution)
        callbacks = self._callbacks(callbacks, epoch_iterator, verbose, epochs=1)
        self.make_predict_function()
        self.stop_predicting = False
        callbacks.on_predict_begin()
        outputs = []
        for begin_step, end_step, data in epoch_iterator:
            callbacks.on_predict_batch_begin(begin_step)
            made = self.predict_function(data)
            outputs.append(tree.map_structure(convert_to_numpy, made))
            callbacks.on_predict_batch_end(end_step, {"outputs": made})
            if self.stop_predicting:
                break
        callbacks.on_predict_end()
        return _joined(outputs, np.concatenate)

    # --- single batches ---

    def _on_batch(self, data: Any, make: Any, return_dict: bool) -> Any:
        self._symbolic_build(data_batch=data)
        function = make()
        self.reset_metrics()
        logs = pythonify_logs(function([data]))
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    def train_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None,
                       class_weight: Any = None, return_dict: bool = False) -> Any:
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same "
                    f"time. Received: sample_weight={sample_weight}, class_weight={class_weight}")
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        return self._on_batch((x, y, sample_weight), self.make_train_function, return_dict)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None,
                      return_dict: bool = False) -> Any:
        self._assert_compile_called("test_on_batch")
        return self._on_batch((x, y, sample_weight), self.make_test_function, return_dict)

    def predict_on_batch(self, x: Any) -> Any:
        made = self.make_predict_function()([(x,)])
        return tree.map_structure(convert_to_numpy, made)


def _is_called(model: Any) -> bool:
    """Return True if the model's `call` can build it; a custom train step may not need `call`."""
    own_step = type(model).train_step is not Trainer.train_step
    return not (own_step and type(model).call.__module__ == "keras.src.models.model")


def _arguments(validation_data: Any, batch_size: Any) -> dict[str, Any] | None:
    """Return the arguments of `evaluate` for the validation data, or None."""
    if validation_data is None:
        return None
    x, y, weight = data_adapter_utils.unpack_x_y_sample_weight(validation_data)
    return dict(x=x, y=y, sample_weight=weight, batch_size=batch_size)


def _limited(epochs: int) -> int:
    """Return the number of epochs, limited by Keras's debugging option."""
    most = config.max_epochs()
    if not most or most >= epochs:
        return epochs
    warnings.warn(f"Limiting epochs to {most}", stacklevel=3)
    return int(most)


def _rows(x: Any) -> Any:
    """Return the number of rows of a batch, which weights its loss in the mean."""
    return next(i for i in tree.flatten(x) if i is not None).shape[0]


def _joined(outputs: list[Any], concat: Any) -> Any:
    """Concatenate the outputs of batches."""
    if len(outputs) == 1:
        return outputs[0]
    return tree.map_structure_up_to(outputs[0], lambda *parts: concat(parts, 0), *outputs)


OpenVINOTrainer = Trainer       # the name that Keras imports
