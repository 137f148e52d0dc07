import numpy as np
import pytest

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
