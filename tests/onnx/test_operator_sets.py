"""The rows of the operators equal the schemas of the onnx package."""

import pytest

pytest.importorskip("onnx")

import onnx

from dualflow.onnx import operator_sets
from dualflow.onnx.importers import OPERATORS
from dualflow.onnx.operator_sets import ANY_NUMBER, signature_of
from dualflow.onnx.package import NEWEST_IR_VERSION, NEWEST_OPSET

MANY = (1 << 31) - 1
LETTERS = {"Single": ".", "Optional": "?", "Variadic": "*"}


def schemas():
    """Yield an operator's name here and its schema in each operator set that changed it."""
    for schema in onnx.defs.get_all_schemas_with_history():
        kind = f"{schema.domain}:{schema.name}" if schema.domain else schema.name
        composed = schema.has_function or schema.has_context_dependent_function
        if kind in OPERATORS or composed:
            yield kind, schema, composed and kind not in OPERATORS


def test_signatures():
    wrong = []
    for kind, schema, composed in schemas():
        attributes = schema.attributes.items()
        expected = (
            "".join([LETTERS[p.option.name] for p in schema.inputs]), schema.min_input,
            ANY_NUMBER if schema.max_input == MANY else schema.max_input,
            ANY_NUMBER if schema.max_output == MANY else schema.max_output,
            {name: a.type.name for name, a in attributes},
            {name for name, a in attributes if a.required}, composed)
        if signature_of(kind, schema.since_version) != expected:
            wrong.append((kind, schema.since_version, expected))
    assert not wrong


def test_no_other_rows():
    known = {(kind, schema.since_version) for kind, schema, _ in schemas()}
    rows = [(kind, int(row.split()[0].strip("@"))) for kind, signatures
            in operator_sets._rows().items() for row in signatures.split(";")]
    assert {*rows} <= known and len({*rows}) == len(rows)
    assert [kind for kind, _ in rows] == sorted([kind for kind, _ in rows])


def test_between_versions():
    assert signature_of("Cast", 5).attributes == {"to": "STRING"}
    assert signature_of("Cast", 18) == signature_of("Cast", 6) != signature_of("Cast", 19)
    assert [signature_of("Gelu", 19), signature_of("Other", 1), signature_of("own:Add", 1)] == [
        None] * 3


def test_newest_versions_are_the_package_s():
    assert onnx.IR_VERSION == NEWEST_IR_VERSION
    assert onnx.defs.onnx_opset_version() == NEWEST_OPSET
