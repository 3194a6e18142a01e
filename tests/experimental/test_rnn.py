"""``lstm`` with JAX's reference implementation as oracle."""

from types import SimpleNamespace

import jax
import jax.experimental.rnn
import numpy as np
import pytest

import plugjax
import plugjax.numpy
from plugjax.experimental import rnn

OURS = SimpleNamespace(jax=plugjax, np=plugjax.numpy, rnn=rnn)
THEIRS = SimpleNamespace(jax=jax, np=jax.numpy, rnn=jax.experimental.rnn)
BATCH, STEPS, INPUTS, HIDDEN = 3, 5, 4, 2
LENGTHS = np.array([5, 2, 4], np.int32)


def sizes(layers, bidirectional):
    return {
        "input_size": INPUTS,
        "hidden_size": HIDDEN,
        "num_layers": layers,
        "bidirectional": bidirectional,
    }


def arguments(layers, bidirectional):
    rng = np.random.default_rng(0)
    pseudo = layers * (2 if bidirectional else 1)
    shapes = (BATCH, STEPS, INPUTS), (pseudo, BATCH, HIDDEN), (pseudo, BATCH, HIDDEN)
    x, h, c = (rng.normal(size=s).astype(np.float32) for s in shapes)
    weights = np.asarray(
        rnn.init_lstm_weight(plugjax.random.key(1), **sizes(layers, bidirectional))
    )
    return x, h, c, weights


def reference(m, layers, bidirectional):
    """JAX's and our network of unpacked weights, as a function of the packed ones."""
    options = sizes(layers, bidirectional)

    def run(x, h, c, weights):
        parts = m.rnn.unpack_lstm_weights(weights, *options.values())
        return m.rnn.lstm_ref(x, h, c, *parts, m.np.asarray(LENGTHS), **options, dropout=0.0)

    return run


def ours(layers, bidirectional):
    options = sizes(layers, bidirectional)
    return lambda *args: rnn.lstm(
        *args, seq_lengths=plugjax.numpy.asarray(LENGTHS), **options, dropout=0.0
    )


def close(found, wanted):
    for x, y in zip(found, wanted, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


@pytest.mark.spread(2)
@pytest.mark.parametrize("network", [(1, False), (2, False), (1, True), (2, True)])
def test_values(network):
    args = arguments(*network)
    wanted = reference(THEIRS, *network)(*args)
    for device in ("numpy", "xla"):
        with plugjax.default_device(device):
            close(ours(*network)(*args), wanted)
    close(reference(OURS, *network)(*map(plugjax.numpy.asarray, args)), wanted)


def gradient(m, run):
    def loss(*args):
        y, h, c = run(*args)
        return (y**2).sum() + (h * c).sum()

    return m.jax.jit(m.jax.grad(loss, (0, 1, 2, 3)))


@pytest.mark.spread(4)
def test_gradients(backend):
    network = (2, True) if backend != "iree" else (1, False)
    args = arguments(*network)
    wanted = gradient(THEIRS, reference(THEIRS, *network))(*args)
    with plugjax.default_device(backend):
        close(gradient(OURS, ours(*network))(*args), wanted)


def test_padding_has_no_derivative():
    args = arguments(2, True)
    x_bar = gradient(OURS, ours(2, True))(*args)[0]
    outside = np.arange(STEPS) >= LENGTHS[:, None]
    assert not np.asarray(x_bar)[outside].any()
    assert np.asarray(x_bar)[~outside].all()


@pytest.mark.parametrize("network", [(1, False), (3, True)])
def test_weights(network):
    options = sizes(*network)
    count = rnn.get_num_params_in_lstm(**options)
    assert count == jax.experimental.rnn.get_num_params_in_lstm(**options)
    found, wanted = (m.rnn.init_lstm_weight(m.jax.random.key(3), **options) for m in (OURS, THEIRS))
    np.testing.assert_allclose(found, wanted, atol=2e-7)
    unpacked = [m.rnn.unpack_lstm_weights(np.asarray(wanted), **options) for m in (OURS, THEIRS)]
    for parts, expected in zip(*unpacked, strict=True):
        assert parts.keys() == expected.keys()
        for layer in parts:
            np.testing.assert_array_equal(parts[layer], expected[layer])


def test_gates_are_swapped():
    options = sizes(2, True)
    weights = np.arange(rnn.get_num_params_in_lstm(**options), dtype=np.float32)
    swapped = rnn.swap_lstm_gates(weights, **options)
    pairs = zip(
        rnn.unpack_lstm_weights(weights, **options),
        rnn.unpack_lstm_weights(swapped, **options),
        strict=True,
    )
    for before, after in pairs:
        for layer, part in before.items():
            i, f, g, o = np.split(np.asarray(part), 4)
            np.testing.assert_array_equal(after[layer], np.concatenate([i, f, o, g]))
    np.testing.assert_array_equal(rnn.swap_lstm_gates(swapped, **options), weights)
    np.testing.assert_array_equal(swapped, THEIRS.rnn.swap_lstm_gates(weights, **options))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seq_lengths": LENGTHS.astype(np.int16)}, "`seq_lengths` can only be int32"),
        ({"dropout": 0.5}, "Dropout not supported in LSTM"),
    ],
)
def test_errors(change, words):
    options = sizes(1, False)
    x, h, c, weights = arguments(1, False)
    given = {"seq_lengths": LENGTHS, "dropout": 0.0, **options, **change}
    for m in (OURS, THEIRS):
        parts = m.rnn.unpack_lstm_weights(m.np.asarray(weights), **options)
        with pytest.raises(NotImplementedError, match=words):
            m.rnn.lstm_ref(x, h, c, *parts, **given)
