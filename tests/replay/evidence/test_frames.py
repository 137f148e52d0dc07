import io

import numpy as np
import pytest
from PIL import Image, ImageOps

from carve_stats.errors import InputError
from carve_stats.replay.evidence.frames import Encoder, Frame


@pytest.fixture
def pixels(rng):
    return rng.integers(0, 256, (21, 34, 3), np.uint8)


@pytest.mark.parametrize("name", ["png", "webp"])
def test_lossless_formats_give_the_pixels_back(name, pixels):
    frame = Encoder(name).encode(pixels, 2.5)
    np.testing.assert_array_equal(frame.pixels(), pixels)
    assert frame.media_type == f"image/{name}"
    assert frame.time == 2.5


def test_jpeg_keeps_the_chroma_planes_at_full_size(pixels):
    from io import BytesIO

    from PIL import Image, JpegImagePlugin

    image = Image.open(BytesIO(Encoder("jpeg", 92).encode(pixels).data))
    assert image.format == "JPEG"
    assert JpegImagePlugin.get_sampling(image) == 0  # 4:4:4


def test_more_quality_is_nearer_to_the_pixels(pixels):
    error = [
        np.abs(Encoder("jpeg", q).encode(pixels).pixels().astype(int) - pixels).mean()
        for q in (30, 92)
    ]
    assert error[1] < error[0]


def test_the_same_pixels_give_the_same_bytes(pixels):
    assert Encoder().encode(pixels).data == Encoder().encode(pixels.copy()).data


@pytest.mark.parametrize("settings", [{"format": "gif"}, {"quality": 0}, {"quality": 101}])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        Encoder(**settings)


@pytest.mark.parametrize(
    "data", [b"", b"no picture", Encoder("png").encode(np.zeros((9, 9, 3), np.uint8)).data[:40]]
)
def test_bytes_that_are_no_picture_are_refused_in_one_line(data):
    with pytest.raises(InputError, match="cannot be decoded") as caught:
        Frame(data, "image/png").pixels()
    assert "\n" not in str(caught.value)


def stored(image, name="png", **settings):
    buffer = io.BytesIO()
    image.save(buffer, name, **settings)
    return Frame(buffer.getvalue(), f"image/{name}")


def test_sixteen_bits_of_grey_become_eight():
    grey = np.array([[0, 1, 128, 129, 256, 257, 32768, 65278, 65535]], np.uint16)
    shown = stored(Image.fromarray(grey)).pixels()
    expected = [round(int(value) / 257) for value in grey[0]]
    assert shown.tolist() == [[[value] * 3 for value in expected]]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_is_turned_as_its_camera_was(orientation):
    pixels = np.zeros((16, 32, 3), np.uint8)
    pixels[:8, :16] = 200  # one bright quarter
    exif = Image.Exif()
    exif[0x0112] = orientation
    # Exif 2.3, 4.6.4 A: where the stored first row and first column are in the scene.
    scene = {
        1: pixels,
        2: pixels[:, ::-1],
        3: pixels[::-1, ::-1],
        4: pixels[::-1],
        5: pixels.transpose(1, 0, 2),
        6: pixels.transpose(1, 0, 2)[:, ::-1],
        7: pixels.transpose(1, 0, 2)[::-1, ::-1],
        8: pixels.transpose(1, 0, 2)[::-1],
    }[orientation]
    frame = stored(Image.fromarray(pixels), "jpeg", exif=exif, quality=95, subsampling=0)
    shown = frame.pixels()
    assert shown.shape == scene.shape
    assert np.abs(shown.astype(int) - scene).mean() < 2
    # Encoded again, as SHAM does, it is shown the same way.
    again = ImageOps.exif_transpose(Image.open(io.BytesIO(Encoder("png").encode(shown).data)))
    np.testing.assert_array_equal(np.asarray(again), shown)


def test_see_through_pictures_are_refused_and_opaque_ones_are_not(pixels):
    alpha = np.full((*pixels.shape[:2], 1), 255, np.uint8)
    opaque = stored(Image.fromarray(np.concatenate([pixels, alpha], axis=2)))
    np.testing.assert_array_equal(opaque.pixels(), pixels)
    alpha[3, 4] = 254
    palette = Image.fromarray(pixels).quantize(8)
    grey = np.arange(9, dtype=np.uint16).reshape(3, 3)
    for frame in (
        stored(Image.fromarray(np.concatenate([pixels, alpha], axis=2))),
        stored(palette, transparency=0),
        stored(Image.fromarray(grey), transparency=4),
    ):
        with pytest.raises(InputError, match="is see-through in places"):
            frame.pixels()


def test_the_preview_in_a_cameras_picture_is_no_animation(pixels):
    # Multi-picture format: a JPEG with another one behind it.
    image = Image.fromarray(pixels)
    frame = stored(image, "mpo", save_all=True, append_images=[image], quality=95, subsampling=0)
    assert frame.pixels().shape == pixels.shape


@pytest.mark.parametrize(("name", "width"), [("webp", 16384), ("jpeg", 65501)])
def test_a_picture_too_wide_for_its_format_is_refused(name, width):
    with pytest.raises(InputError, match=f"{width} x 1 pixels cannot be encoded as {name}"):
        Encoder(name).encode(np.zeros((1, width, 3), np.uint8))
