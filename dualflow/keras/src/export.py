"""`Model.export`: the formats that dualflow writes. There is no archive of a SavedModel, and what
asks for one is told so."""

import functools
from collections.abc import Callable
from typing import Any

from keras.src import tree

import dualflow as df


class OpenvinoExportArchive:
    """Takes the place of an archive; dualflow writes no SavedModel."""

    def track(self, resource: Any) -> None:
        raise NotImplementedError("a SavedModel cannot be written on the dualflow backend")

    def add_endpoint(self, name: str, fn: Any, input_signature: Any = None, **kwargs: Any) -> None:
        raise NotImplementedError("a SavedModel cannot be written on the dualflow backend")


def inference(model: Any, input_signature: Any, infer: Callable[[Any], Any],
              ) -> tuple[Callable[..., Any], list[df.TensorSpec]]:
    """What a model computes without training, of flat inputs, and what these are like."""
    signature = input_signature if input_signature is not None else infer(model)
    if not isinstance(signature, list | tuple):
        signature = [signature]
    specs = [df.TensorSpec(x.shape, x.dtype, getattr(x, "name", None))
             for x in tree.flatten(list(signature))]
    takes_training = model._call_has_training_arg

    def predict(*inputs: Any) -> Any:
        given = tree.pack_sequence_as(list(signature), list(inputs))
        made = model(*given, training=False) if takes_training else model(*given)
        return tree.map_structure(df.convert_to_tensor, made)

    return predict, specs


def _onnx(model: Any, filepath: Any, input_signature: Any, infer: Callable[[Any], Any]) -> None:
    predict, specs = inference(model, input_signature, infer)
    names = [spec.name or f"input_{k}" for k, spec in enumerate(specs)]
    predict.__name__ = model.name
    df.onnx.save(predict, filepath, *specs, input_names=names)


# By the name of a format, what writes a model: of the model, the path, the signature that was
# given or None, and what finds one.
FORMATS: dict[str, Callable[[Any, Any, Any, Callable[[Any], Any]], None]] = {"onnx": _onnx}


def install(model_class: Any, infer: Callable[[Any], Any], print_message: Callable[[str], None],
            ) -> None:
    """Gives `Model.export` the formats above; for others it is Keras's own."""
    plain = model_class.export

    @functools.wraps(plain)
    def export(self: Any, filepath: Any, format: str = "tf_saved_model", verbose: Any = None,
               input_signature: Any = None, **kwargs: Any) -> None:
        if format not in FORMATS:
            plain(self, filepath, format=format, verbose=verbose, input_signature=input_signature,
                  **kwargs)
            return
        if kwargs:
            raise ValueError(f"export: {format} takes no {', '.join(kwargs)} on dualflow")
        FORMATS[format](self, filepath, input_signature, infer)
        if verbose:
            print_message(f"Saved artifact at '{filepath}'.")

    model_class.export = export
