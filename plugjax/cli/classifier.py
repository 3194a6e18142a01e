"""The classifier of handwritten digits that the demonstration trains: a perceptron, its loss, and a step of Adam."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import plugjax
import plugjax.numpy as jnp
from plugjax import nn, random

BATCH = 64
SIZES = (64, 128, 64, 10)
RATE = 2e-3


def init(key: Any) -> list[tuple[Any, Any]]:
    """Weights ``[n_in, n_out]`` (He) and biases of a multilayer perceptron."""
    layers = []
    for n_in, n_out in pairwise(SIZES):
        key, subkey = random.split(key)
        weights = random.normal(subkey, (n_in, n_out)) * np.float32((2 / n_in) ** 0.5)
        layers.append((weights, jnp.zeros(n_out)))
    return layers


def logits(parameters: list[tuple[Any, Any]], images: Any) -> Any:
    """Scores ``[batch, 10]`` of images ``[batch, 64]``."""
    x = images
    for weights, bias in parameters[:-1]:
        x = nn.relu(x @ weights + bias)
    weights, bias = parameters[-1]
    return x @ weights + bias


def loss(parameters: list[tuple[Any, Any]], images: Any, labels: Any) -> Any:
    """Mean cross entropy, in nats."""
    scores = nn.log_softmax(logits(parameters, images))
    return -jnp.mean(jnp.sum(scores * nn.one_hot(labels, 10), axis=-1))


def train_step(state: Any, images: Any, labels: Any) -> tuple[Any, Any]:
    """One step of Adam; ``state`` is ``(parameters, first moments, second moments, step)``."""
    parameters, first, second, step = state
    value, gradient = plugjax.value_and_grad(loss)(parameters, images, labels)
    step = step + 1.0
    first = plugjax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = plugjax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)
    scale = RATE * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    parameters = plugjax.tree.map(
        lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), parameters, first, second
    )
    return (parameters, first, second, step), value


def predict(parameters: list[tuple[Any, Any]], images: Any) -> Any:
    """Most likely digits ``int32[batch]``."""
    return jnp.argmax(logits(parameters, images), axis=-1).astype(jnp.int32)
