"""The operators of the standard by operator set: numbers of inputs and outputs, and attributes.

Loading checks nodes against these rows, so that it does not need the onnx package. A row is
``Name signature; signature; ...``. A signature begins with the first operator set for which it
holds, and with @ if dualflow computes the operator by the function that defines it in the standard.
Then follow an input each (. is required, ? optional, * any number) and the least number of inputs
if another one is required, > and the largest number of outputs, and the attributes, with = and the
type unless it is int, and with ! if the attribute is required.

Rows follow https://onnx.ai/onnx/operators; tests/onnx/test_operator_sets.py compares them with the
schemas of the onnx package.
"""

from __future__ import annotations

from functools import cache

from dualflow._util.named_tuple import NamedTuple

ANY_NUMBER = 1 << 31

# The types of attributes by their letters in a row.
TYPES = {"f": "FLOAT", "i": "INT", "s": "STRING", "t": "TENSOR", "g": "GRAPH", "F": "FLOATS",
         "I": "INTS", "S": "STRINGS", "p": "SPARSE_TENSOR", "y": "TYPE_PROTO"}


class Signature(NamedTuple):
    """The requirements on the nodes of an operator.

    `inputs` has a letter per input as in a row. `attributes` are types by name.
    """

    inputs: str
    min_inputs: int
    max_inputs: int
    max_outputs: int
    attributes: dict[str, str]
    required: frozenset[str]
    is_composed: bool


@cache
def signature_of(kind: str, version: int) -> Signature | None:
    """Return the signature of an operator in an operator set, or None if the standard has none."""
    found = None
    for row in _rows().get(kind, "").split(";"):
        if row:
            first, parameters, *attributes = row.split()
            if int(first.strip("@")) <= version:
                found = first, parameters, attributes
    return None if found is None else _signature(*found)


def _signature(first: str, parameters: str, attributes: list[str]) -> Signature:
    inputs, _, outputs = parameters.partition(">")
    kinds = inputs.rstrip("0123456789")
    types = [a.rstrip("!").partition("=") for a in attributes]
    return Signature(
        kinds, int(inputs[len(kinds):] or kinds.rfind(".") + 1),
        ANY_NUMBER if "*" in kinds else len(kinds),
        ANY_NUMBER if outputs == "*" else int(outputs),
        {name: TYPES[letter or "i"] for name, _, letter in types},
        frozenset([name for (name, _, _), a in zip(types, attributes, strict=True)
                   if a.endswith("!")]),
        first.endswith("@"))


@cache
def _rows() -> dict[str, str]:
    """Return the signatures by operator."""
    rows = [row.partition(" ") for row in ROWS.replace("\n ", " ").split("\n")]
    return {kind: signatures for kind, _, signatures in rows if kind}


ROWS = """\
Abs 1 .>1 consumed_inputs=I; 6 .>1
Acos 7 .>1
Acosh 9 .>1
Add 1 ..>1 axis broadcast consumed_inputs=I; 6 ..>1 axis broadcast; 7 ..>1
AffineGrid 20@ ..>1 align_corners
And 1 ..>1 axis broadcast; 7 ..>1
ArgMax 1 .>1 axis keepdims; 12 .>1 axis keepdims select_last_index
ArgMin 1 .>1 axis keepdims; 12 .>1 axis keepdims select_last_index
Asin 7 .>1
Asinh 9 .>1
Atan 7 .>1
Atanh 9 .>1
Attention 23@ ...???>4 is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale=f softcap=f
 softmax_precision; 24@ ...????>4 is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale=f
 softcap=f softmax_precision; 25@ ...????>4 is_causal kv_num_heads left_window_size q_num_heads
 qk_matmul_output_mode right_window_size scale=f softcap=f softmax_precision
AveragePool 1 .>1 auto_pad=s kernel_shape=I! pads=I strides=I; 7 .>1 auto_pad=s count_include_pad
 kernel_shape=I! pads=I strides=I; 10 .>1 auto_pad=s ceil_mode count_include_pad kernel_shape=I!
 pads=I strides=I; 19 .>1 auto_pad=s ceil_mode count_include_pad dilations=I kernel_shape=I! pads=I
 strides=I
BatchNormalization 1 .....>5 consumed_inputs=I! epsilon=f is_test momentum=f spatial; 6 .....>5
 epsilon=f is_test momentum=f spatial; 7 .....>5 epsilon=f momentum=f spatial; 9 .....>5 epsilon=f
 momentum=f; 14 .....>3 epsilon=f momentum=f training_mode
Bernoulli 15 .>1 dtype seed=f
BitCast 26 .>1 to!
BitShift 11 ..>1 direction=s!
BitwiseAnd 18 ..>1
BitwiseNot 18 .>1
BitwiseOr 18 ..>1
BitwiseXor 18 ..>1
BlackmanWindow 17@ .>1 output_datatype periodic
Cast 1 .>1 to=s!; 6 .>1 to!; 19 .>1 saturate to!; 24 .>1 round_mode=s saturate to!
CastLike 15 ..>1; 19 ..>1 saturate; 24 ..>1 round_mode=s saturate
CausalConvWithState 27@ ..??>2 activation=s
Ceil 1 .>1 consumed_inputs=I; 6 .>1
Celu 12 .>1 alpha=f
CenterCropPad 18@ ..>1 axes=I
Clip 1 .>1 consumed_inputs=I max=f min=f; 6 .>1 max=f min=f; 11 .??>1
Col2Im 18 ...>1 dilations=I pads=I strides=I
Compress 9 ..>1 axis
Concat 1 *1>1 axis; 4 *1>1 axis!
ConcatFromSequence 11 .>1 axis! new_axis
Constant 1 >1 value=t!; 11 >1 sparse_value=p value=t; 12 >1 sparse_value=p value=t value_float=f
 value_floats=F value_int value_ints=I value_string=s value_strings=S
ConstantOfShape 9 .>1 value=t
Conv 1 ..?>1 auto_pad=s dilations=I group kernel_shape=I pads=I strides=I
ConvInteger 10 ..??>1 auto_pad=s dilations=I group kernel_shape=I pads=I strides=I
ConvTranspose 1 ..?>1 auto_pad=s dilations=I group kernel_shape=I output_padding=I output_shape=I
 pads=I strides=I
Cos 7 .>1
Cosh 9 .>1
CumProd 26 ..>1 exclusive reverse
CumSum 11 ..>1 exclusive reverse
DFT 17 .?>1 axis inverse onesided; 20 .??>1 inverse onesided
DeformConv 19 ...??>1 dilations=I group kernel_shape=I offset_group pads=I strides=I
DepthToSpace 1 .>1 blocksize!; 11 .>1 blocksize! mode=s
DequantizeLinear 10 ..?>1; 13 ..?>1 axis; 21 ..?>1 axis block_size; 23 ..?>1 axis block_size
 output_dtype
Det 11 .>1
Div 1 ..>1 axis broadcast consumed_inputs=I; 6 ..>1 axis broadcast; 7 ..>1
Dropout 1 .>2 consumed_inputs=I is_test ratio=f; 6 .>2 is_test ratio=f; 7 .>2 ratio=f; 12 .??>2 seed
DynamicQuantizeLinear 11 .>3
Einsum 12 *1>1 equation=s!
Elu 1 .>1 alpha=f consumed_inputs=I; 6 .>1 alpha=f
Equal 1 ..>1 axis broadcast; 7 ..>1
Erf 9 .>1
Exp 1 .>1 consumed_inputs=I; 6 .>1
Expand 8 ..>1
EyeLike 9 .>1 dtype k
Flatten 1 .>1 axis
Floor 1 .>1 consumed_inputs=I; 6 .>1
GRU 1 ...???>2 activation_alpha=F activation_beta=F activations=S clip=f direction=s hidden_size
 output_sequence; 3 ...???>2 activation_alpha=F activation_beta=F activations=S clip=f direction=s
 hidden_size linear_before_reset output_sequence; 7 ...???>2 activation_alpha=F activation_beta=F
 activations=S clip=f direction=s hidden_size linear_before_reset; 14 ...???>2 activation_alpha=F
 activation_beta=F activations=S clip=f direction=s hidden_size layout linear_before_reset
Gather 1 ..>1 axis
GatherElements 11 ..>1 axis
GatherND 11 ..>1; 12 ..>1 batch_dims
Gelu 20 .>1 approximate=s
Gemm 1 ...>1 alpha=f beta=f broadcast transA transB; 7 ...>1 alpha=f beta=f transA transB; 11 ..?>1
 alpha=f beta=f transA transB
GlobalAveragePool 1 .>1
GlobalLpPool 1 .>1 p=f; 2 .>1 p
GlobalMaxPool 1 .>1
Greater 1 ..>1 axis broadcast; 7 ..>1
GreaterOrEqual 12 ..>1
GridSample 16 ..>1 align_corners mode=s padding_mode=s
GroupNormalization 18@ ...>1 epsilon=f num_groups!; 21@ ...>1 epsilon=f num_groups! stash_type
HammingWindow 17@ .>1 output_datatype periodic
HannWindow 17@ .>1 output_datatype periodic
HardSigmoid 1 .>1 alpha=f beta=f consumed_inputs=I; 6 .>1 alpha=f beta=f
HardSwish 14 .>1
Hardmax 1 .>1 axis
Identity 1 .>1
If 1 .>* else_branch=g! then_branch=g!
InstanceNormalization 1 ...>1 consumed_inputs=I epsilon=f; 6 ...>1 epsilon=f
IsInf 10 .>1 detect_negative detect_positive
IsNaN 9 .>1
LRN 1 .>1 alpha=f beta=f bias=f size!
LSTM 1 ...?????>3 activation_alpha=F activation_beta=F activations=S clip=f direction=s hidden_size
 input_forget output_sequence; 7 ...?????>3 activation_alpha=F activation_beta=F activations=S
 clip=f direction=s hidden_size input_forget; 14 ...?????>3 activation_alpha=F activation_beta=F
 activations=S clip=f direction=s hidden_size input_forget layout
LayerNormalization 17 ..?>3 axis epsilon=f stash_type
LeakyRelu 1 .>1 alpha=f consumed_inputs=I; 6 .>1 alpha=f
Less 1 ..>1 axis broadcast; 7 ..>1
LessOrEqual 12 ..>1
LinearAttention 27@ ...???>2 chunk_size kv_num_heads! q_num_heads! scale=f update_rule=s
Log 1 .>1 consumed_inputs=I; 6 .>1
LogSoftmax 1 .>1 axis
Loop 1 ??*3>* body=g!; 11 ??*2>* body=g!
LpNormalization 1 .>1 axis p
LpPool 1 .>1 auto_pad=s kernel_shape=I p=f pads=I strides=I; 2 .>1 auto_pad=s kernel_shape=I! p
 pads=I strides=I; 18 .>1 auto_pad=s ceil_mode dilations=I kernel_shape=I! p pads=I strides=I
MatMul 1 ..>1
MatMulInteger 10 ..??>1
Max 1 *1>1 consumed_inputs=I; 6 *1>1
MaxPool 1 .>1 auto_pad=s kernel_shape=I! pads=I strides=I; 8 .>2 auto_pad=s kernel_shape=I! pads=I
 storage_order strides=I; 10 .>2 auto_pad=s ceil_mode dilations=I kernel_shape=I! pads=I
 storage_order strides=I
MaxUnpool 9 ..?>1 kernel_shape=I! pads=I strides=I
Mean 1 *1>1 consumed_inputs=I; 6 *1>1
MeanVarianceNormalization 9@ .>1 axes=I
MelWeightMatrix 17 .....>1 output_datatype
Min 1 *1>1 consumed_inputs=I; 6 *1>1
Mish 18 .>1
Mod 10 ..>1 fmod
Mul 1 ..>1 axis broadcast consumed_inputs=I; 6 ..>1 axis broadcast; 7 ..>1
Multinomial 7 .>1 dtype sample_size seed=f
Neg 1 .>1 consumed_inputs=I; 6 .>1
NegativeLogLikelihoodLoss 12@ ..?>1 ignore_index reduction=s
NonMaxSuppression 10 ..???>1 center_point_box
NonZero 9 .>1
Not 1 .>1
OneHot 9 ...>1 axis
Optional 15 ?>1 type=y
OptionalGetElement 15 .>1
OptionalHasElement 15 .>1; 18 ?>1
Or 1 ..>1 axis broadcast; 7 ..>1
PRelu 1 ..>1 consumed_inputs=I; 6 ..>1
Pad 1 .>1 mode=s paddings=I! value=f; 2 .>1 mode=s pads=I! value=f; 11 ..?>1 mode=s; 18 ..??>1
 mode=s
Pow 1 ..>1 axis broadcast; 7 ..>1
QLinearConv 10 ........?>1 auto_pad=s dilations=I group kernel_shape=I pads=I strides=I
QLinearMatMul 10 ........>1
QuantizeLinear 10 ..?>1; 13 ..?>1 axis; 19 ..?>1 axis saturate; 21 ..?>1 axis block_size
 output_dtype saturate; 23 ..?>1 axis block_size output_dtype precision saturate
RMSNormalization 23@ ..>1 axis epsilon=f stash_type
RNN 1 ...???>2 activation_alpha=F activation_beta=F activations=S clip=f direction=s hidden_size
 output_sequence; 7 ...???>2 activation_alpha=F activation_beta=F activations=S clip=f direction=s
 hidden_size; 14 ...???>2 activation_alpha=F activation_beta=F activations=S clip=f direction=s
 hidden_size layout
RandomNormal 1 >1 dtype mean=f scale=f seed=f shape=I!
RandomNormalLike 1 .>1 dtype mean=f scale=f seed=f
RandomUniform 1 >1 dtype high=f low=f seed=f shape=I!
RandomUniformLike 1 .>1 dtype high=f low=f seed=f
Range 11 ...>1; 27 ...>1 stash_type
Reciprocal 1 .>1 consumed_inputs=I; 6 .>1
ReduceL1 1 .>1 axes=I keepdims; 18 .?>1 keepdims noop_with_empty_axes
ReduceL2 1 .>1 axes=I keepdims; 18 .?>1 keepdims noop_with_empty_axes
ReduceLogSum 1 .>1 axes=I keepdims; 18 .?>1 keepdims noop_with_empty_axes
ReduceLogSumExp 1 .>1 axes=I keepdims; 18 .?>1 keepdims noop_with_empty_axes
ReduceMax 1 .>1 axes=I keepdims; 18 .?>1 keepdims noop_with_empty_axes
ReduceMean 1 .>1 axes=I keepdims; 18 .?>1 keepdims noop_with_empty_axes
ReduceMin 1 .>1 axes=I keepdims; 18 .?>1 keepdims noop_with_empty_axes
ReduceProd 1 .>1 axes=I keepdims; 18 .?>1 keepdims noop_with_empty_axes
ReduceSum 1 .>1 axes=I keepdims; 13 .?>1 keepdims noop_with_empty_axes
ReduceSumSquare 1 .>1 axes=I keepdims; 18 .?>1 keepdims noop_with_empty_axes
Relu 1 .>1 consumed_inputs=I; 6 .>1
Reshape 1 .>1 consumed_inputs=I shape=I; 5 ..>1; 14 ..>1 allowzero
Resize 10 ..>1 mode=s; 11 ...?>1 coordinate_transformation_mode=s cubic_coeff_a=f exclude_outside
 extrapolation_value=f mode=s nearest_mode=s; 13 .???>1 coordinate_transformation_mode=s
 cubic_coeff_a=f exclude_outside extrapolation_value=f mode=s nearest_mode=s; 18 .???>1 antialias
 axes=I coordinate_transformation_mode=s cubic_coeff_a=f exclude_outside extrapolation_value=f
 keep_aspect_ratio_policy=s mode=s nearest_mode=s
ReverseSequence 10 ..>1 batch_axis time_axis
RoiAlign 10 ...>1 mode=s output_height output_width sampling_ratio spatial_scale=f; 16 ...>1
 coordinate_transformation_mode=s mode=s output_height output_width sampling_ratio spatial_scale=f
RotaryEmbedding 23@ ...?>1 interleaved num_heads rotary_embedding_dim
Round 11 .>1
STFT 17 ..??>1 onesided
Scan 8 ?*2>* body=g! directions=I num_scan_inputs!; 9 *1>* body=g! num_scan_inputs!
 scan_input_axes=I scan_input_directions=I scan_output_axes=I scan_output_directions=I
Scatter 9 ...>1 axis
ScatterElements 11 ...>1 axis; 16 ...>1 axis reduction=s
ScatterND 11 ...>1; 16 ...>1 reduction=s
Selu 1 .>1 alpha=f consumed_inputs=I gamma=f; 6 .>1 alpha=f gamma=f
SequenceAt 11 ..>1
SequenceConstruct 11 *1>1
SequenceEmpty 11 >1 dtype
SequenceErase 11 .?>1
SequenceInsert 11 ..?>1
SequenceLength 11 .>1
SequenceMap 17 .*>* body=g!
Shape 1 .>1; 15 .>1 end start
Shrink 9 .>1 bias=f lambd=f
Sigmoid 1 .>1 consumed_inputs=I; 6 .>1
Sign 9 .>1
Sin 7 .>1
Sinh 9 .>1
Size 1 .>1
Slice 1 .>1 axes=I ends=I! starts=I!; 10 ...??>1
Softmax 1 .>1 axis
SoftmaxCrossEntropyLoss 12@ ..?>2 ignore_index reduction=s
Softplus 1 .>1
Softsign 1 .>1
SpaceToDepth 1 .>1 blocksize!; 28 .>1 blocksize! mode=s
Split 1 .?>* axis split=I; 2 .>* axis split=I; 13 .?>* axis; 18 .?>* axis num_outputs
SplitToSequence 11 .?>1 axis keepdims
Sqrt 1 .>1 consumed_inputs=I; 6 .>1
Squeeze 1 .>1 axes=I; 13 .?>1
Sub 1 ..>1 axis broadcast consumed_inputs=I; 6 ..>1 axis broadcast; 7 ..>1
Sum 1 *1>1 consumed_inputs=I; 6 *1>1
SwiGLU 28@ ..>1 alpha=f
Swish 24 .>1 alpha=f
Tan 7 .>1
Tanh 1 .>1 consumed_inputs=I; 6 .>1
TensorScatter 24 ..?>1 axis mode=s
TfIdfVectorizer 9 .>1 max_gram_length! max_skip_count! min_gram_length! mode=s! ngram_counts=I!
 ngram_indexes=I! pool_int64s=I pool_strings=S weights=F
ThresholdedRelu 10 .>1 alpha=f
Tile 1 ...>1; 6 ..>1
TopK 1 .>2 axis k!; 10 ..>2 axis; 11 ..>2 axis largest sorted
Transpose 1 .>1 perm=I
Trilu 14 .?>1 upper
Unique 11 .>4 axis sorted
Unsqueeze 1 .>1 axes=I!; 13 ..>1
Upsample 1 .>1 height_scale=f! mode=s width_scale=f!; 7 .>1 mode=s scales=F!; 9 ..>1 mode=s
Where 9 ...>1
Xor 1 ..>1 axis broadcast; 7 ..>1
ai.onnx.preview.training:Adagrad 1 ..*3>* decay_factor=f epsilon=f norm_coefficient=f
ai.onnx.preview.training:Adam 1 ..*3>* alpha=f beta=f epsilon=f norm_coefficient=f
 norm_coefficient_post=f
ai.onnx.preview.training:Gradient 1 *1>* xs=S! y=s! zs=S
ai.onnx.preview.training:Momentum 1 ..*3>* alpha=f! beta=f! mode=s! norm_coefficient=f!
ai.onnx.preview:FlexAttention 1@ ...>1 prob_mod=g scale=f score_mod=g softmax_precision
"""
