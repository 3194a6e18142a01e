"""Recurrent networks with long short-term memory: the names of ``jax.experimental.rnn``.

Gates i, f, g, o of a cell are ``x W_ih^T + b_ih + h W_hh^T + b_hh`` in four parts; then ``c = sigmoid(f) c + sigmoid(i) tanh(g)`` and
``h = sigmoid(o) tanh(c)``. Layers are stacked. In a network of both directions each layer has two pseudo-layers, forward and
reverse, whose outputs are concatenated.

All weights lie in one vector, in cuDNN's layout: W_ih and W_hh of each pseudo-layer, then b_ih and b_hh of each. Sequences of a batch
may be shorter than the longest: what follows their ends is padding, which changes nothing, and whose outputs are zero.

Reference:
    S. Hochreiter, J. Schmidhuber, "Long short-term memory", 1997.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import plugjax.numpy as jnp
from plugjax import lax, random
from plugjax.extend.core import Array, aval_of
from plugjax.extend.execution import jit
from plugjax.extend.transforms import publish
from plugjax.lax import PrecisionLike
from plugjax.nn import sigmoid

__all__ = [
    "get_num_params_in_lstm",
    "init_lstm_weight",
    "lstm",
    "lstm_ref",
    "swap_lstm_gates",
    "unpack_lstm_weights",
]

Weights: TypeAlias = dict[int, Array]
_Shape: TypeAlias = tuple[int, ...]


def _layout(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> tuple[list[_Shape], list[_Shape]]:
    """Shapes of the matrices and of the biases, in the order of the vector."""
    directions = 2 if bidirectional else 1
    gates = 4 * hidden_size
    matrices: list[_Shape] = []
    for layer in range(num_layers):
        width = directions * hidden_size if layer else input_size
        matrices += [(gates, width), (gates, hidden_size)] * directions
    return matrices, [(gates,)] * len(matrices)


def _parts(weights: Array, shapes: Sequence[_Shape]) -> list[Array]:
    parts, start = [], 0
    for shape in shapes:
        stop = start + math.prod(shape)
        parts.append(weights[start:stop].reshape(shape))
        start = stop
    return parts


def get_num_params_in_lstm(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> int:
    """Number of weights of a network.

    Example:
        >>> from plugjax.experimental import rnn
        >>> rnn.get_num_params_in_lstm(input_size=3, hidden_size=2, num_layers=1, bidirectional=False)
        56
    """
    matrices, biases = _layout(input_size, hidden_size, num_layers, bidirectional)
    return sum(map(math.prod, matrices + biases))


def init_lstm_weight(
    rng: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """Weights of a network, uniform between ``-1 / sqrt(hidden_size)`` and ``1 / sqrt(hidden_size)``: a float32 vector.

    Example:
        >>> from plugjax import random
        >>> from plugjax.experimental import rnn
        >>> weights = rnn.init_lstm_weight(random.key(0), 3, 4, 1, False)
        >>> bool(abs(weights).max() <= 0.5), weights.size
        (True, 144)
    """
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    bound = math.sqrt(1 / hidden_size)
    return random.uniform(rng, (count,), jnp.float32, -bound, bound)


def swap_lstm_gates(
    weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """Weights whose gates are in the order i, f, o, g, from weights in the order i, f, g, o; and back.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import rnn
        >>> weights = jnp.arange(16.0)
        >>> rnn.swap_lstm_gates(weights, 1, 1, 1, False)[:4]
        Array([0., 1., 3., 2.], dtype=float32)
    """
    matrices, biases = _layout(input_size, hidden_size, num_layers, bidirectional)
    order = jnp.array([0, 1, 3, 2])
    swapped = [
        part.reshape(4, -1)[order].ravel()
        for part in _parts(jnp.asarray(weights), matrices + biases)
    ]
    return jnp.concatenate(swapped)


def unpack_lstm_weights(
    weights: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> tuple[Weights, Weights, Weights, Weights]:
    """Matrices and biases of each pseudo-layer.

    Returns:
        ``W_ih``, ``W_hh``, ``b_ih``, ``b_hh``: from the number of the pseudo-layer to an array whose first axis holds the gates i, f,
        g, o one after the other.

    Example:
        >>> from plugjax import random
        >>> from plugjax.experimental import rnn
        >>> weights = rnn.init_lstm_weight(random.key(0), 3, 2, 1, False)
        >>> [part[0].shape for part in rnn.unpack_lstm_weights(weights, 3, 2, 1, False)]
        [(8, 3), (8, 2), (8,), (8,)]
    """
    matrices, biases = _layout(input_size, hidden_size, num_layers, bidirectional)
    parts = _parts(weights, matrices + biases)
    halves = parts[: len(matrices)], parts[len(matrices) :]
    w_ih, w_hh, b_ih, b_hh = (dict(enumerate(half[i::2])) for half in halves for i in (0, 1))
    return w_ih, w_hh, b_ih, b_hh


def lstm(
    x: Array,
    h_0: Array,
    c_0: Array,
    weights: Array,
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: PrecisionLike = None,
) -> tuple[Array, Array, Array]:
    """A network with long short-term memory, with derivatives of any order and mode.

    Args:
        x: ``[batch, steps, input_size]``.
        h_0: ``[pseudo-layers, batch, hidden_size]``: first outputs.
        c_0: the same for the cells.
        weights: vector, as :func:`init_lstm_weight` gives it.
        seq_lengths: ``[batch]``, int32: lengths of the sequences, from 1 on.
        input_size: number of inputs.
        hidden_size: number of outputs of a pseudo-layer.
        num_layers: number of layers.
        dropout: 0.
        bidirectional: whether each layer has two directions.
        precision: of the products, as for :func:`plugjax.lax.dot`.

    Returns:
        ``(y, h_n, c_n)``: outputs of the last layer ``[batch, steps, directions * hidden_size]``; last outputs and cells of
        each pseudo-layer, at the ends of the sequences.

    Raises:
        NotImplementedError: ``seq_lengths`` is not int32, or ``dropout`` is not 0.

    Differs from JAX:
        It runs on every backend, not on cuDNN alone. Dropout is not there.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import rnn
        >>> weights, start = jnp.full(16, 0.5), jnp.zeros((1, 1, 1))
        >>> sizes = {"input_size": 1, "hidden_size": 1, "num_layers": 1, "dropout": 0.0, "bidirectional": False}
        >>> y, h, c = rnn.lstm(jnp.ones((1, 3, 1)), start, start, weights, jnp.array([2]), **sizes)
        >>> y[0, :, 0].round(2)
        Array([0.51, 0.76, 0.  ], dtype=float32)
    """
    parts = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    return _lstm(x, h_0, c_0, *parts, seq_lengths, dropout, bidirectional, precision)


def lstm_ref(
    x: Array,
    h_0: Array,
    c_0: Array,
    W_ih: Weights,
    W_hh: Weights,
    b_ih: Weights,
    b_hh: Weights,
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
) -> tuple[Array, Array, Array]:
    """The network of :func:`lstm`, of unpacked weights.

    Raises:
        NotImplementedError: ``seq_lengths`` is not int32, or ``dropout`` is not 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import rnn
        >>> parts = rnn.unpack_lstm_weights(jnp.full(16, 0.5), 1, 1, 1, False)
        >>> start, lengths = jnp.zeros((1, 1, 1)), jnp.array([2])
        >>> rnn.lstm_ref(jnp.ones((1, 2, 1)), start, start, *parts, lengths, 1, 1, 1, 0.0, False)[1].round(2)
        Array([[[0.76]]], dtype=float32)
    """
    return _lstm(x, h_0, c_0, W_ih, W_hh, b_ih, b_hh, seq_lengths, dropout, bidirectional, None)


@jit(static_argnums=(8, 9, 10))
def _lstm(
    x: Any,
    h_0: Any,
    c_0: Any,
    w_ih: Weights,
    w_hh: Weights,
    b_ih: Weights,
    b_hh: Weights,
    seq_lengths: Any,
    dropout: float,
    bidirectional: bool,
    precision: PrecisionLike,
) -> tuple[Any, Any, Any]:
    if aval_of(seq_lengths).dtype != jnp.int32:
        raise NotImplementedError(
            f"`seq_lengths` can only be int32, got {aval_of(seq_lengths)}. Convert them: seq_lengths.astype('int32')."
        )
    if dropout != 0.0:
        raise NotImplementedError(
            f"Dropout not supported in LSTM, got {dropout!r}. Give 0.0, and drop inputs and outputs outside of the network."
        )
    directions = 2 if bidirectional else 1
    inside = jnp.arange(x.shape[1])[:, None] < seq_lengths
    # Steps first. Reversed, a sequence starts at its last step, and its padding stays behind it.
    backwards = jnp.maximum(seq_lengths - 1 - jnp.arange(x.shape[1])[:, None], 0)[..., None]
    rows = jnp.swapaxes(x, 0, 1)
    h_n, c_n = [], []
    for first in range(0, len(w_ih), directions):
        outs = []
        for own in range(first, first + directions):
            back = own > first
            inputs = jnp.take_along_axis(rows, backwards, 0) if back else rows
            weights = w_ih[own], w_hh[own], b_ih[own] + b_hh[own]
            y, h, c = _direction(inputs, h_0[own], c_0[own], weights, inside, precision)
            outs.append(jnp.take_along_axis(y, backwards, 0) if back else y)
            h_n.append(h)
            c_n.append(c)
        rows = jnp.where(inside[..., None], jnp.concatenate(outs, -1), 0)
    return jnp.swapaxes(rows, 0, 1), jnp.stack(h_n), jnp.stack(c_n)


def _direction(
    x: Any, h: Any, c: Any, weights: tuple[Any, Any, Any], inside: Any, precision: PrecisionLike
) -> tuple[Any, Any, Any]:
    w_ih, w_hh, bias = weights
    # The inputs' part of all gates is one product before the loop.
    given = jnp.matmul(x, w_ih.T, precision=precision) + bias

    def step(carry: tuple[Any, Any], row: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
        h, c = carry
        from_input, alive = row
        gates = from_input + jnp.matmul(h, w_hh.T, precision=precision)
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        new_c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        new_h = sigmoid(o) * jnp.tanh(new_c)
        alive = alive[:, None]
        return (jnp.where(alive, new_h, h), jnp.where(alive, new_c, c)), new_h

    (h, c), y = lax.scan(step, (h, c), (given, inside))
    return y, h, c


publish(globals(), __all__)
