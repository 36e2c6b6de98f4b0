"""Pictures of 8-bit red, green and blue, out of PNG files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct import InvalidArgument
from dpacct_training.extras import required


def read(name: str, content: bytes) -> NDArray[np.uint8]:
    """(height, width, 3). Raises `InvalidArgument` for anything else."""
    imread: Any = required("matplotlib.image").imread
    try:
        picture = imread(io.BytesIO(content), format="png")
    except (OSError, SyntaxError, ValueError) as error:
        raise InvalidArgument(f"{name} must be a PNG: {error}", argument="path") from None
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.float32:
        message = f"{name} must hold 8-bit red, green and blue, got the shape {picture.shape}"
        raise InvalidArgument(message, argument="path")
    # k / 255 in single precision comes back to k by rounding
    picture *= np.float32(255.0)
    np.rint(picture, out=picture)
    result: NDArray[np.uint8] = picture.astype(np.uint8)
    return result
