"""EfficientNet-Lite0 as an ONNX graph, every batch normalisation folded into its convolution.

References
----------
Tan and Le (2019), "EfficientNet: rethinking model scaling for convolutional neural
networks", ICML, table 1. The Lite variants have ReLU6 and no squeeze-and-excitation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import MissingExtraError

__all__ = ["SIZE", "write_network"]

SIZE = 224
_REPEATS = (1, 2, 2, 3, 3, 4, 1)
_STRIDES = (1, 2, 2, 2, 1, 2, 1)
_EPSILON = 1e-3


def write_network(tensors: dict[str, NDArray[Any]]) -> bytes:
    """Write the network as an ONNX model.

    Parameters
    ----------
    tensors : dict of str to ndarray
        The weights, under the names of the PyTorch model.

    Returns
    -------
    bytes
        A model from ``pixels``, float32 of shape (n, 3, 224, 224), to ``logits``, (n, 1000).
    """
    graph = _Graph(tensors)
    x = graph.convolution("pixels", "_conv_stem", "_bn0", stride=2)
    block = 0
    for repeats, stride in zip(_REPEATS, _STRIDES, strict=True):
        for repeat in range(repeats):
            name, y = f"_blocks.{block}", x
            if f"{name}._expand_conv.weight" in tensors:
                y = graph.convolution(y, f"{name}._expand_conv", f"{name}._bn0")
            y = graph.convolution(
                y,
                f"{name}._depthwise_conv",
                f"{name}._bn1",
                stride=stride if repeat == 0 else 1,
                depthwise=True,
            )
            y = graph.convolution(y, f"{name}._project_conv", f"{name}._bn2", activate=False)
            x = graph.node("Add", y, x) if repeat else y
            block += 1
    x = graph.convolution(x, "_conv_head", "_bn1")
    features = graph.node("Flatten", graph.node("GlobalAveragePool", x))
    weight = graph.constant(tensors["_fc.weight"].T.copy())
    graph.node("Gemm", features, weight, graph.constant(tensors["_fc.bias"]), name="logits")
    return graph.serialized()


class _Graph:
    """Collects the nodes and constants of an ONNX graph."""

    def __init__(self, tensors: dict[str, NDArray[Any]]) -> None:
        try:
            import onnx
        except ImportError:
            raise MissingExtraError(
                "writing the built-in agent's network needs onnx: pip install 'carve-stats[demo]'"
            ) from None
        self._onnx = onnx
        self._tensors = tensors
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._bounds = [self.constant(np.array(v, np.float32)) for v in (0, 6)]

    def constant(self, value: NDArray[Any]) -> str:
        name = f"constant{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(value, name))
        return name

    def node(self, operation: str, *inputs: str, name: str | None = None, **settings: Any) -> str:
        name = name or f"node{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operation, inputs, [name], **settings))
        return name

    def convolution(
        self,
        x: str,
        convolution: str,
        normalization: str,
        *,
        stride: int = 1,
        depthwise: bool = False,
        activate: bool = True,
    ) -> str:
        mean, variance, gain, bias = (
            self._tensors[f"{normalization}.{part}"]
            for part in ("running_mean", "running_var", "weight", "bias")
        )
        scale = gain / np.sqrt(variance + _EPSILON)
        kernel = self._tensors[f"{convolution}.weight"] * scale[:, None, None, None]
        folded = (kernel.astype(np.float32), (bias - mean * scale).astype(np.float32))
        y = self.node(
            "Conv",
            x,
            *(self.constant(part) for part in folded),
            kernel_shape=list(kernel.shape[2:]),
            strides=[stride, stride],
            auto_pad="SAME_UPPER",
            group=kernel.shape[0] if depthwise else 1,
        )
        return self.node("Clip", y, *self._bounds) if activate else y

    def serialized(self) -> bytes:
        helper, floats = self._onnx.helper, self._onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            self._nodes,
            "efficientnet_lite0",
            [helper.make_tensor_value_info("pixels", floats, ["n", 3, SIZE, SIZE])],
            [helper.make_tensor_value_info("logits", floats, ["n", 1000])],
            self._constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        self._onnx.checker.check_model(model)
        return bytes(model.SerializeToString())
