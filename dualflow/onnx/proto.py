"""The messages of ONNX files that loading uses, without the packages onnx and protobuf.

The attributes of a message are the fields that loading uses, under the names of onnx.proto. Data of
tensors is a memoryview of the bytes of the file. `dualflow._util.wire_format` reads the bytes.

Sources: ONNX IR specification, https://onnx.ai/onnx/repo-docs/IR.html, and onnx/onnx.proto for the
numbers of fields.
"""

from dualflow._util.wire_format import (
    MAX_DEPTH as MAX_DEPTH,
    Fields,
    Malformed as Malformed,
    Message as Message,
    message_types,
    read as read,
)

# The numbers of the fields are those of onnx.proto.
FIELDS: dict[str, Fields] = {
    "ModelProto": {
        "ir_version": (1, "int"), "graph": (7, "GraphProto"),
        "opset_import": (8, "OperatorSetIdProto*"),
        "functions": (25, "copy*")},                # of messages FunctionProto
    "OperatorSetIdProto": {"domain": (1, "text"), "version": (2, "int")},
    "GraphProto": {
        "node": (1, "NodeProto*"), "name": (2, "text"), "initializer": (5, "TensorProto*"),
        "input": (11, "ValueInfoProto*"), "output": (12, "ValueInfoProto*"),
        "sparse_initializer": (15, "SparseTensorProto*")},
    "FunctionProto": {
        "name": (1, "text"), "input": (4, "text*"), "output": (5, "text*"),
        "node": (7, "NodeProto*"), "opset_import": (9, "OperatorSetIdProto*"),
        "domain": (10, "text"), "attribute_proto": (11, "AttributeProto*")},
    "NodeProto": {
        "input": (1, "text*"), "output": (2, "text*"), "op_type": (4, "text"),
        "attribute": (5, "AttributeProto*"), "domain": (7, "text")},
    "AttributeProto": {
        "name": (1, "text"), "f": (2, "float"), "i": (3, "int"), "s": (4, "copy"),
        "t": (5, "TensorProto"), "g": (6, "GraphProto"), "floats": (7, "float*"),
        "ints": (8, "int*"), "strings": (9, "copy*"), "type": (20, "int"),
        "ref_attr_name": (21, "text"), "sparse_tensor": (22, "SparseTensorProto")},
    "TensorProto": {
        "dims": (1, "int*"), "data_type": (2, "int"), "segment": (3, "copy"),
        "float_data": (4, "float*"), "int32_data": (5, "int*"), "int64_data": (7, "int*"),
        "name": (8, "text"), "raw_data": (9, "view"), "double_data": (10, "double*"),
        "uint64_data": (11, "int*"), "external_data": (13, "StringStringEntryProto*"),
        "data_location": (14, "int")},
    "SparseTensorProto": {
        "values": (1, "TensorProto"), "indices": (2, "TensorProto"), "dims": (3, "int*")},
    "StringStringEntryProto": {"key": (1, "text"), "value": (2, "text")},
    "ValueInfoProto": {"name": (1, "text"), "type": (2, "TypeProto")},
    "TypeProto": {                                  # at most one of them
        "tensor_type": (1, "Tensor"), "sequence_type": (4, "Element"), "map_type": (5, "copy"),
        "opaque_type": (7, "copy"), "sparse_tensor_type": (8, "copy"),
        "optional_type": (9, "Element")},
    "Tensor": {"elem_type": (1, "int"), "shape": (2, "TensorShapeProto")},
    "Element": {"elem_type": (1, "TypeProto")},     # TypeProto.Sequence, TypeProto.Optional
    "TensorShapeProto": {"dim": (1, "Dimension*")},
    "Dimension": {"dim_value": (1, "int"), "dim_param": (2, "text")},
}

TYPES = message_types(FIELDS)
ModelProto, FunctionProto = TYPES["ModelProto"], TYPES["FunctionProto"]
TensorProto = TYPES["TensorProto"]
