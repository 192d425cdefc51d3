"""Allowed values of string attributes."""

from __future__ import annotations

__all__ = ["CHOICES"]

REDUCTIONS = ("none", "add", "mul", "max", "min")
LOSSES = ("none", "sum", "mean")
DIRECTIONS = ("forward", "reverse", "bidirectional")
AUTO_PAD = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
# By attribute name, or by operator and attribute if operators differ in the allowed values.
CHOICES = {
    "auto_pad": AUTO_PAD,
    "approximate": ("none", "tanh"),
    "BitShift.direction": ("LEFT", "RIGHT"),
    **{f"{kind}.direction": DIRECTIONS for kind in ("RNN", "LSTM", "GRU")},
    **{f"{kind}.reduction": REDUCTIONS for kind in ("ScatterElements", "ScatterND")},
    **{f"{kind}.reduction": LOSSES for kind in ("NegativeLogLikelihoodLoss",
                                                "SoftmaxCrossEntropyLoss")},
    "Pad.mode": ("constant", "reflect", "edge", "wrap"),
    "DepthToSpace.mode": ("DCR", "CRD"),
    "SpaceToDepth.mode": ("DCR", "CRD"),
    "TensorScatter.mode": ("linear", "circular"),
    "RoiAlign.mode": ("avg", "max", "AVG", "MAX"),
    "RoiAlign.coordinate_transformation_mode": ("half_pixel", "output_half_pixel"),
    "GridSample.mode": ("linear", "bilinear", "nearest", "cubic", "bicubic"),
    "padding_mode": ("zeros", "border", "reflection"),
    "Resize.mode": ("nearest", "linear", "cubic"),
    "Resize.coordinate_transformation_mode": (
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
        "tf_half_pixel_for_nn", "tf_crop_and_resize"),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
    "Upsample.mode": ("nearest", "linear", "bilinear"),
    "TfIdfVectorizer.mode": ("TF", "IDF", "TFIDF"),
    "ai.onnx.preview.training:Momentum.mode": ("standard", "nesterov"),
    "round_mode": ("up", "down", "nearest"),
    "CausalConvWithState.activation": ("none", "silu", "swish"),
    "LinearAttention.update_rule": ("linear", "gated", "delta", "gated_delta"),
}
