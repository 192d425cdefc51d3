"""`Model.export` to the formats of dualflow, ONNX and C. SavedModel archives are not supported."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from keras.src import tree

import dualflow as df


class OpenvinoExportArchive:
    """Placeholder for Keras's export archive; its methods raise NotImplementedError."""

    def track(self, resource: Any) -> None:
        raise NotImplementedError("a SavedModel cannot be written on the dualflow backend")

    def add_endpoint(self, name: str, fn: Any, input_signature: Any = None, **kwargs: Any) -> None:
        raise NotImplementedError("a SavedModel cannot be written on the dualflow backend")


def inference(model: Any, input_signature: Any, infer: Callable[[Any], Any],
              ) -> tuple[Callable[..., Any], list[df.TensorSpec]]:
    """Return the inference function of a model, of flat inputs, and the specs of the inputs."""
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
    """Write a model as an ONNX file with a free batch size."""
    predict, specs = inference(model, input_signature, infer)
    names = [spec.name or f"input_{k}" for k, spec in enumerate(specs)]
    predict.__name__ = model.name
    df.onnx.save(predict, filepath, *specs, input_names=names)


def _c(model: Any, filepath: Any, input_signature: Any, infer: Callable[[Any], Any],
       batch_size: int | Sequence[int] = 1, examples: Any = None, prefix: str = "model") -> None:
    """Write a model as C by `df.export`: the entry ``predict``, for one or several batch sizes."""
    predict, specs = inference(model, input_signature, infer)

    def predict_one(x: Any) -> Any:
        return predict(x)

    function = df.function(predict_one if len(specs) == 1 else predict)
    sizes = [batch_size] if isinstance(batch_size, int) else list(batch_size)
    made = [function.get_concrete_function(*[_sized(x, n) for x in specs]) for n in sizes]
    df.export(filepath, {"predict": made[0] if len(made) == 1 else made}, examples=examples,
              prefix=prefix)


def _sized(x: df.TensorSpec, batch_size: int) -> df.TensorSpec:
    """Return the spec of an input with a given batch size."""
    shape = [batch_size if k == 0 and d is None else d for k, d in enumerate(x.shape)]
    return df.TensorSpec(tuple(shape), x.dtype, x.name)


# Format name: the writer, and the options that it accepts. Arguments of a writer: the model, the
# path, the given signature or None, and a function that infers the signature.
FORMATS: dict[str, tuple[Callable[..., None], set[str]]] = {
    "c": (_c, {"batch_size", "examples", "prefix"}), "onnx": (_onnx, set())}


def install(model_class: Any, infer: Callable[[Any], Any], print_message: Callable[[str], None],
            ) -> None:
    """Add the formats above to `Model.export`; other formats use Keras's implementation."""
    plain = model_class.export

    @functools.wraps(plain)
    def export(self: Any, filepath: Any, format: str = "tf_saved_model", verbose: Any = None,
               input_signature: Any = None, **kwargs: Any) -> None:
        if format not in FORMATS:
            plain(self, filepath, format=format, verbose=verbose, input_signature=input_signature,
                  **kwargs)
            return
        write, options = FORMATS[format]
        if not options.issuperset(kwargs):
            raise ValueError(f"export: {format} has no option {', '.join(kwargs)} on dualflow")
        write(self, filepath, input_signature, infer, **kwargs)
        if verbose:
            print_message(f"Saved artifact at '{filepath}'.")

    model_class.export = export
