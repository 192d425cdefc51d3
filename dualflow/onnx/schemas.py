"""Operator schemas of the standard: checks of nodes, and the functions of composed operators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from dualflow.dtypes import DType
from dualflow.errors import InvalidArgumentError
from dualflow.onnx.importers.registry import Node
from dualflow.onnx.narrow import NarrowType
from dualflow.onnx.package import code_of, onnx


@cache
def schema_of(kind: str, version: int, domain: str) -> Any:
    """Return the OpSchema of an operator, or None if the standard has none."""
    defs = onnx("defs")
    try:
        return defs.get_schema(kind, version, domain)
    except (defs.SchemaError, TypeError):               # TypeError: not a version number
        return None


def _schema(node: Node) -> Any:
    return schema_of(node.proto.op_type, node.version, node.proto.domain)


def unknown_attributes(node: Node) -> list[str]:
    """Return the attributes of a node that its schema lacks."""
    schema = _schema(node)
    if schema is None:
        return []
    return [f"with {name}" for name in node.attrs if name not in schema.attributes]


def check(node: Node) -> None:
    """Raise InvalidArgumentError if the inputs or attributes of a node violate its schema."""
    schema, proto = _schema(node), node.proto
    if schema is None:
        return
    if not schema.min_input <= len(proto.input) <= schema.max_input:
        raise wrong(node, f"has {len(proto.input)} inputs, expected {schema.min_input} to "
                          f"{schema.max_input}")
    if len(proto.output) > schema.max_output:
        raise wrong(node, f"has {len(proto.output)} outputs, expected at most {schema.max_output}")
    option = onnx("defs").OpSchema.FormalParameterOption
    for parameter, name in zip(schema.inputs, proto.input, strict=False):
        if not name and parameter.option == option.Single:
            raise wrong(node, f"lacks its input {parameter.name}")
    given = {a.name: a.type for a in proto.attribute}
    for name, attribute in schema.attributes.items():
        if name in given and given[name] != attribute.type.value:
            kind = onnx().AttributeProto.AttributeType.Name(given[name])
            raise wrong(node, f"has {kind} as {name}, expected {attribute.type.name}")
        if attribute.required and name not in node.attrs:
            raise wrong(node, f"lacks its attribute {name}")


def wrong(node: Node, why: str) -> InvalidArgumentError:
    """Return an error that names a node by its kind and its outputs."""
    made = ", ".join([repr(y) for y in node.outputs if y])
    return InvalidArgumentError(f"onnx.load: {node.kind}, which makes {made or 'nothing'}: {why}")


# --- composed operators ---


def is_composed(node: Node) -> bool:
    schema = _schema(node)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def composed(node: Node, types: Sequence[tuple[DType | NarrowType, Any] | None]) -> Any:
    """Return the FunctionProto of an operator for inputs of some dtypes and shapes."""
    schema = _schema(node)
    proto = onnx().FunctionProto()
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= node.version]
        text = schema.get_function_with_opset_version(max(
            versions or schema.function_opset_versions))
    else:
        versions = [v for v in schema.context_dependent_function_opset_versions
                    if v <= node.version]
        helper = onnx("helper")
        given = [b"" if t is None else helper.make_tensor_type_proto(
            code_of(t[0]), t[1]).SerializeToString() for t in types]
        text = schema.get_context_dependent_function_with_opset_version(
            max(versions or schema.context_dependent_function_opset_versions),
            node.proto.SerializeToString(), given)
    proto.ParseFromString(text)
    return proto


def defaults(node: Node) -> dict[str, Any]:
    """Return the attributes that have a default value in the schema."""
    helper = onnx("helper")
    found = {}
    for name, attribute in _schema(node).attributes.items():
        if attribute.default_value.name:
            value = helper.get_attribute_value(attribute.default_value)
            found[name] = value.decode() if isinstance(value, bytes) else value
    return found
