"""Image functions, under TensorFlow's names."""

from dualflow.ops.image.color import (
    adjust_brightness as adjust_brightness,
    convert_image_dtype as convert_image_dtype,
    grayscale_to_rgb as grayscale_to_rgb,
    rgb_to_grayscale as rgb_to_grayscale,
)
from dualflow.ops.image.crop import crop_and_resize as crop_and_resize
from dualflow.ops.image.framing import (
    central_crop as central_crop,
    crop_to_bounding_box as crop_to_bounding_box,
    pad_to_bounding_box as pad_to_bounding_box,
    random_flip_left_right as random_flip_left_right,
    random_flip_up_down as random_flip_up_down,
    resize_with_pad as resize_with_pad,
)
from dualflow.ops.image.resize import (
    ResizeMethod as ResizeMethod,
    extract_patches as extract_patches,
    flip_left_right as flip_left_right,
    flip_up_down as flip_up_down,
    resize as resize,
    rot90 as rot90,
    transpose as transpose,
)
