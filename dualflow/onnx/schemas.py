"""Checks of nodes against the standard, and the functions of composed operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dualflow.dtypes import DType
from dualflow.errors import InvalidArgumentError
from dualflow.onnx.importers.registry import Node
from dualflow.onnx.narrow import NarrowType
from dualflow.onnx.operator_sets import Signature, signature_of
from dualflow.onnx.package import attribute_name, code_of, onnx
from dualflow.onnx.proto import FunctionProto, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _signature(node: Node) -> Signature | None:
    return signature_of(node.kind, node.version)


def unknown_attributes(node: Node) -> list[str]:
    """Return the attributes of a node that its operator lacks."""
    signature = _signature(node)
    if signature is None:
        return []
    return [f"with {name}" for name in node.attrs if name not in signature.attributes]


def check(node: Node, types: Mapping[str, int]) -> None:
    """Raise InvalidArgumentError if the inputs or attributes of a node violate the standard.

    `types` are the codes of the types of attributes by name, if they have their own values.
    """
    signature = _signature(node)
    if signature is None:
        return
    given, most = len(node.inputs), signature.max_inputs
    if not signature.min_inputs <= given <= most:
        raise wrong(node, f"has {given} inputs, expected {signature.min_inputs} to {most}")
    if len(node.outputs) > signature.max_outputs:
        raise wrong(node, f"has {len(node.outputs)} outputs, expected at most "
                          f"{signature.max_outputs}")
    for k, (option, name) in enumerate(zip(signature.inputs, node.inputs, strict=False)):
        if not name and option == ".":
            raise wrong(node, f"lacks input {k + 1} of {given}")
    for name, expected in signature.attributes.items():
        if name in types and (kind := attribute_name(types[name])) != expected:
            raise wrong(node, f"has {kind} as {name}, expected {expected}")
        if name in signature.required and name not in node.attrs:
            raise wrong(node, f"lacks its attribute {name}")


def wrong(node: Node, why: str) -> InvalidArgumentError:
    """Return an error that names a node by its kind and its outputs."""
    made = ", ".join([repr(y) for y in node.outputs if y])
    return InvalidArgumentError(f"onnx.load: {node.kind}, which makes {made or 'nothing'}: {why}")


# --- composed operators: their functions and defaults are in the schemas of the onnx package ---


def is_composed(node: Node) -> bool:
    signature = _signature(node)
    return signature is not None and signature.is_composed


def _schema(node: Node) -> Any:
    domain, _, kind = node.kind.rpartition(":")
    return onnx("defs").get_schema(kind, node.version, domain)


def composed(node: Node, types: Sequence[tuple[DType | NarrowType, Any] | None]) -> Any:
    """Return the FunctionProto of an operator for inputs of some dtypes and shapes."""
    schema = _schema(node)
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= node.version]
        return read(FunctionProto, schema.get_function_with_opset_version(
            max(versions or schema.function_opset_versions)))
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= node.version]
    helper = onnx("helper")
    given = [b"" if t is None else helper.make_tensor_type_proto(
        code_of(t[0]), t[1]).SerializeToString() for t in types]
    proto = onnx().NodeProto.FromString(node.wire)
    for attribute in [a for a in proto.attribute if a.ref_attr_name]:
        proto.attribute.remove(attribute)
        value = node.attrs.get(attribute.name)
        if isinstance(value, str | int | float | list):
            proto.attribute.append(helper.make_attribute(attribute.name, value))
    return read(FunctionProto, schema.get_context_dependent_function_with_opset_version(
        max(versions or schema.context_dependent_function_opset_versions),
        proto.SerializeToString(), given))


def defaults(node: Node) -> dict[str, Any]:
    """Return the attributes of a composed operator that have a default value."""
    helper = onnx("helper")
    found = {}
    for name, attribute in _schema(node).attributes.items():
        if attribute.default_value.name:
            value = helper.get_attribute_value(attribute.default_value)
            found[name] = value.decode() if isinstance(value, bytes) else value
    return found
