"""Decoding and encoding of image files, against Pillow."""

import importlib
import io
import subprocess
import sys

import numpy as np
import pytest

import dualflow as df

Image = pytest.importorskip("PIL.Image")
PIXELS = np.random.default_rng(0).integers(0, 256, (5, 7, 4)).astype("u1")
SMOOTH = np.stack([*np.meshgrid(np.arange(0, 240, 10), np.arange(0, 160, 10)),
                   np.full((16, 24), 90)], -1).astype("u1")


def file_of(array, format, mode=None, **options):
    file = io.BytesIO()
    image = Image.fromarray(array)
    (image.convert(mode) if mode else image).save(file, format, **options)
    return file.getvalue()


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_and_back(channels):
    x = df.constant(PIXELS[..., :channels])
    data = df.io.encode_png(x, compression=9)
    assert isinstance(data, df.strings.StringTensor) and data.shape == ()
    for decode in (df.io.decode_png, df.image.decode_png, df.io.decode_image):
        for contents in (data, data.numpy(), bytearray(data.numpy())):
            made = decode(contents)
            assert made.dtype is df.uint8 and made.tolist() == x.tolist()


def test_png_of_16_bits():
    x = np.random.default_rng(1).integers(0, 65536, (5, 7, 1)).astype("u2")
    data = df.io.encode_png(x)
    made = df.io.decode_png(data, dtype=df.uint16)
    assert made.dtype is df.uint16 and made.tolist() == x.tolist()
    assert df.io.decode_image(data, dtype=df.uint16).tolist() == x.tolist()
    assert df.io.decode_png(data).tolist() == (x >> 8).tolist()
    assert df.io.decode_png(data, 3, df.uint16).tolist() == np.repeat(x, 3, 2).tolist()
    alpha = df.io.decode_png(data, 4).numpy()
    assert (alpha[..., 3] == 255).all() and (alpha[..., :3] == x >> 8).all()
    eight = df.io.encode_png(PIXELS)
    assert df.io.decode_png(eight, dtype=df.uint16).tolist() == (PIXELS * np.uint16(257)).tolist()
    with pytest.raises(df.errors.UnimplementedError, match="1 channel only"):
        df.io.encode_png(np.repeat(x, 3, 2))


@pytest.mark.parametrize("mode, channels", [("1", 1), ("L", 1), ("LA", 2), ("P", 3), ("RGB", 3),
                                            ("RGBA", 4)])
def test_channels_of_png_files(mode, channels):
    data = file_of(PIXELS[..., :3] if mode == "P" else PIXELS, "PNG", mode)
    assert df.io.decode_png(data).shape == (5, 7, channels)
    assert df.io.decode_image(data).shape == (5, 7, channels)
    for wanted, pillow_mode in ((1, "L"), (3, "RGB"), (4, "RGBA")):
        want = np.asarray(Image.open(io.BytesIO(data)).convert(pillow_mode)).reshape(5, 7, -1)
        assert df.io.decode_png(data, wanted).tolist() == want.tolist()


def test_alpha_is_dropped():
    assert df.io.decode_png(df.io.encode_png(PIXELS), 3).tolist() == PIXELS[..., :3].tolist()


def test_jpeg():
    data = df.io.encode_jpeg(SMOOTH, quality=100, chroma_downsampling=False)
    made = df.io.decode_jpeg(data)
    assert made.shape == SMOOTH.shape and abs(made.numpy() - SMOOTH.astype(int)).max() <= 3
    assert df.image.decode_jpeg(data).tolist() == made.tolist()
    assert df.io.decode_image(data).tolist() == df.io.decode_png(data).tolist() == made.tolist()
    gray = df.io.decode_jpeg(data, channels=1)
    light = SMOOTH @ [0.299, 0.587, 0.114]
    assert gray.shape == (16, 24, 1) and abs(gray.numpy()[..., 0] - light).max() <= 2
    assert df.io.decode_image(data, 1).tolist() == gray.tolist()
    for ratio in (2, 4, 8):
        assert df.io.decode_jpeg(data, ratio=ratio).shape == (16 // ratio, 24 // ratio, 3)
    assert df.io.extract_jpeg_shape(data).tolist() == [16, 24, 3]
    assert df.io.is_jpeg(data).item() and not df.io.is_jpeg(df.io.encode_png(SMOOTH)).item()
    part = df.io.decode_and_crop_jpeg(data, [1, 2, 3, 4])
    assert part.tolist() == made[1:4, 2:6].tolist()


def test_options_of_jpeg():
    small, large = (df.io.encode_jpeg(SMOOTH, quality=q).numpy() for q in (0, 95))
    assert len(small) < len(large)
    one = df.io.encode_jpeg(SMOOTH[..., :1], "grayscale", progressive=True, optimize_size=True,
                            density_unit="cm", x_density=100, y_density=50,
                            xmp_metadata="<x:xmpmeta/>").numpy()
    image = Image.open(io.BytesIO(one))
    assert image.mode == "L" and image.info["progressive"] and b"<x:xmpmeta/>" in one
    assert image.info["dpi"] == (254, 127)
    assert df.io.decode_jpeg(one).shape == (16, 24, 1)
    assert df.io.decode_jpeg(one, 3).shape == (16, 24, 3)


def test_gif_frames():
    frames = [Image.fromarray(np.full((4, 6, 3), 40 * k, "u1")) for k in range(3)]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    data = file.getvalue()
    made = df.io.decode_gif(data)
    assert made.shape == (3, 4, 6, 3) and made[:, 0, 0, 0].tolist() == [0, 40, 80]
    assert df.io.decode_image(data).tolist() == made.tolist()
    assert df.io.decode_image(data, expand_animations=False).tolist() == made[0].tolist()
    assert df.io.decode_png(data).shape == (4, 6, 3)
    with pytest.raises(df.errors.InvalidArgumentError, match="0 or 3 for GIF"):
        df.io.decode_image(data, 1)


def test_bmp():
    data = file_of(PIXELS[..., :3], "BMP")
    for decode in (df.io.decode_bmp, df.io.decode_image):
        assert decode(data).tolist() == PIXELS[..., :3].tolist()
        assert decode(data, 3).shape == (5, 7, 3) and decode(data, 1).shape == (5, 7, 1)


def test_dtypes_of_decode_image():
    data = df.io.encode_png(PIXELS)
    made = df.io.decode_image(data, dtype=df.float32)
    np.testing.assert_allclose(made.numpy(), PIXELS / 255, rtol=1e-6)


def test_a_traced_function_has_the_image_as_a_constant():
    data = df.io.encode_png(PIXELS)
    f = df.function(lambda x: df.cast(df.io.decode_png(data), df.float32) + x)
    assert f(df.constant(1.)).tolist() == (PIXELS + 1.).tolist()


def test_files(tmp_path):
    path = tmp_path / "new" / "folder" / "x.png"
    df.io.write_file(str(path), df.io.encode_png(PIXELS))
    for name in (path, str(path), df.constant(str(path)), str(path).encode()):
        assert df.io.decode_png(df.io.read_file(name)).tolist() == PIXELS.tolist()
    with pytest.raises(df.errors.NotFoundError, match="does not exist"):
        df.io.read_file(tmp_path / "absent")

    files = df.data.Dataset.from_tensor_slices([str(path)] * 2)
    images = [x.shape for x in files.map(lambda p: df.io.decode_image(df.io.read_file(p)))]
    assert images == [(5, 7, 4)] * 2


DATA = df.io.encode_png(PIXELS).numpy()


@pytest.mark.parametrize("call, error", [
    (lambda: df.io.decode_png(b"no image"), "decode_png: 8 bytes are not an image"),
    (lambda: df.io.decode_png(b""), "0 bytes are not an image"),
    (lambda: df.io.decode_png(DATA[:60]), "not an image of the formats PNG"),
    (lambda: df.io.decode_bmp(DATA), "formats BMP"),
    (lambda: df.io.decode_gif(DATA), "formats GIF"),
    (lambda: df.io.decode_jpeg(DATA, 4), "channels is 4, expected one of 0, 1, 3"),
    (lambda: df.io.decode_jpeg(DATA, ratio=3), "ratio is 3"),
    (lambda: df.io.encode_png(PIXELS[0]), "shape \\(7, 4\\)"),
    (lambda: df.io.encode_jpeg(PIXELS), "1 or 3"),
    (lambda: df.io.encode_jpeg(PIXELS[..., :3], "grayscale"), "width, 1\\)"),
    (lambda: df.io.encode_jpeg(PIXELS[..., :3], "cmyk"), "format is 'cmyk'"),
    (lambda: df.io.encode_jpeg(PIXELS[..., :3], quality=101), "quality is 101"),
    (lambda: df.io.encode_png(PIXELS, 10), "compression is 10"),
    (lambda: df.io.encode_png(PIXELS[:0]), "shape \\(0, 7, 4\\)"),
    (lambda: df.io.decode_and_crop_jpeg(DATA, [0, 0, 6, 1]), "a part of 5 x 7"),
])
def test_bad_arguments(call, error):
    with pytest.raises(df.errors.InvalidArgumentError, match=error):
        call()


@pytest.mark.parametrize("call, error", [
    (lambda: df.io.decode_png(3), "expected bytes"),
    (lambda: df.io.decode_png(["a", "b"]), "expected bytes"),
    (lambda: df.io.decode_png(DATA, dtype=df.float32), "expected uint8 or uint16"),
    (lambda: df.io.encode_png(PIXELS / 255), "expected uint8 or uint16"),
    (lambda: df.io.encode_jpeg(PIXELS.astype("u2")), "expected uint8;"),
])
def test_bad_dtypes(call, error):
    with pytest.raises(df.errors.DTypeError, match=error):
        call()


@pytest.mark.parametrize("cut", [20, 40, 60, 100])
def test_damaged_files_raise(cut):
    damaged = DATA[:cut] + bytes(8) + DATA[cut + 8:]
    for contents in (DATA[:cut], damaged):
        with pytest.raises(df.errors.InvalidArgumentError, match="not an image"):
            df.io.decode_png(contents)


def test_missing_pillow_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ModuleNotFoundError, match=r"dualflow\[image\]"):
        df.io.decode_png(DATA)


def test_pillow_is_loaded_at_the_first_use():
    assert importlib.import_module("dualflow.io") is df.io
    code = ("import sys, dualflow as df; df.io.decode_png, df.image.decode_png; "
            "assert 'PIL' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)
