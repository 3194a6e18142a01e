"""Real handwritten digits, shipped with the package; see ``data/README.md`` for source and licence."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np


class Split(NamedTuple):
    """Images ``float32[n, 64]`` in [0, 1] and labels ``int32[n]``, for training and for testing."""

    train_images: np.ndarray[Any, Any]
    train_labels: np.ndarray[Any, Any]
    test_images: np.ndarray[Any, Any]
    test_labels: np.ndarray[Any, Any]


def load(test_size: int = 360, seed: int = 0) -> Split:
    """The 1797 images, shuffled and split."""
    with files("plugjax.cli").joinpath("data/digits.npz").open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        images = stored["images"].reshape(-1, 64).astype(np.float32) / 16
        labels = stored["labels"].astype(np.int32)
    order = np.random.default_rng(seed).permutation(len(labels))
    images, labels = images[order], labels[order]
    return Split(images[test_size:], labels[test_size:], images[:test_size], labels[:test_size])
