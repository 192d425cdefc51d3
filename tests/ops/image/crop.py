import numpy as np

from tests.ops.case import ANY, case, normal

# No sampled position is an integer, where the gradient with respect to a box is discontinuous.
BOXES = np.array([[0.05, 0.1, 0.9, 0.75], [0.8, 0.91, 0.15, -0.23], [0.02, 0.03, 0.96, 0.98],
                  [-0.31, 0.21, 0.43, 1.37]])
INDICES = np.array([1, 0, 1, 1], "int32")


def np_crops(x, boxes, indices, size, method="bilinear", extrapolation_value=0.0):
    """Return the crops, computed pixel by pixel."""
    y = np.full((len(boxes), *size, x.shape[3]), extrapolation_value)
    for b, h, w in np.ndindex(y.shape[:3]):
        at = []
        for low, high, n, count, i in ((0, 2, x.shape[1], size[0], h), (1, 3, x.shape[2], size[1],
                                                                       w)):
            first, last = boxes[b, low], boxes[b, high]
            at.append((first + last) / 2 * (n - 1) if count == 1 else
                      first * (n - 1) + i * (last - first) * (n - 1) / (count - 1))
        if not all(0 <= p <= n - 1 for p, n in zip(at, x.shape[1:3], strict=True)):
            continue
        image = x[indices[b]].astype("f8")
        if method == "nearest":
            y[b, h, w] = image[int(at[0] + 0.5), int(at[1] + 0.5)]
            continue
        (top, left), (down, right) = np.floor(at).astype(int), at - np.floor(at)
        rows = (top, 1 - down), (min(top + 1, x.shape[1] - 1), down)
        columns = (left, 1 - right), (min(left + 1, x.shape[2] - 1), right)
        y[b, h, w] = sum(image[r, c] * f * g for r, f in rows for c, g in columns)
    return y


case("gather", args=[normal(2, 5, 6, 3), BOXES, INDICES, (4, 3)], ref=np_crops, rel=1e-5,
     function="image.crop_and_resize", dtypes=("float32", "float64"), grad=(0,))
case("gather", args=[normal(2, 5, 6, 3), BOXES[:2], INDICES[:2], (4, 3)], ref=np_crops, rel=1e-5,
     function="image.crop_and_resize", grad=(0, 1))
case("gather", args=[normal(2, 5, 6, 3), BOXES, INDICES, (1, 3)], ref=np_crops, rel=1e-5,
     function="image.crop_and_resize", kwargs={"extrapolation_value": 7.5}, dtypes=ANY)
case("gather", args=[normal(2, 5, 6, 3), BOXES, INDICES, (4, 3), "nearest"], ref=np_crops,
     function="image.crop_and_resize", rel=1e-5)
