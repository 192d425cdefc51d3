"""Images, under TensorFlow's names."""

from dualflow.ops.crop import crop_and_resize as crop_and_resize
from dualflow.ops.image import (
    ResizeMethod as ResizeMethod,
    extract_patches as extract_patches,
    flip_left_right as flip_left_right,
    flip_up_down as flip_up_down,
    resize as resize,
    rot90 as rot90,
    transpose as transpose,
)
