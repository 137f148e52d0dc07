"""ONNX Runtime, the same way for every model."""

from __future__ import annotations

from typing import Any

from carve_stats.errors import MissingExtraError

__all__ = ["onnx_session"]


def onnx_session(model: bytes | str) -> Any:
    """Load an ONNX model on one thread: it is replays that run side by side.

    Parameters
    ----------
    model : bytes or str
        The model, or the path of its file.

    Returns
    -------
    onnxruntime.InferenceSession
        Threads may share it.
    """
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError(
            "the built-in agent needs ONNX Runtime: pip install 'carve-stats[demo]'"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
