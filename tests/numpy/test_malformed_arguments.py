"""Arguments that are none, or that fit nowhere: refused before anything is computed, with JAX's type of error."""

import jax
import numpy as np
import pytest

import plugjax
from tests.malformed.survey import outcome, stumbles, verdict

REFUSED = (
    # Masks and start values of reductions
    "jnp.sum(x, where=1.5)", "jnp.max(x, where=1.5, initial=0)", "jnp.all(x, where=1.5)", "jnp.prod(x, where=np.ones(3))",
    "jnp.mean(x, where=1.5)", "jnp.nanstd(x, where=np.ones(3))", "jnp.sum(x, initial=np.ones(3))", "jnp.max(x, initial=np.ones(3))",
    "jnp.sum(x, out='a')", "jnp.max(x, out=object())", "jnp.cumsum(x, out=np.zeros(3))",
    # Keys beside numbers
    "jnp.matmul(x, keys)", "jnp.add(keys, 1)", "jax.lax.convert_element_type(x, keys.dtype)", "x.astype(keys.dtype)",
    "jnp.result_type(keys, x)",
    # What is no array
    "jnp.array([None])", "x.at[0].set(None)", "x.at[0].set([1, [2]])", "x.at[0].set('a')", "jnp.sin(None)", "jax.lax.sin(None)",
    "jnp.allclose(x, x, atol=None)", "jax.lax.fori_loop(None, 5, lambda i, c: c, 0)", "jnp.diag_indices_from(object())",
    "jnp.tril_indices_from([[1, 2], [3, 4]])", "jnp.full_like(x, [1, 2, 3])", "jnp.repeat(x, [1, 2, 3])", "jnp.from_dlpack(1.5)",
    "jnp.histogramdd(np.ones((3, 2)), weights=object())",
    # Shapes and sizes
    "jnp.zeros({})", "jnp.zeros({2})", "jnp.eye(-1)", "jnp.zeros(-1)", "jax.random.orthogonal(jax.random.key(0), -1)",
    "jnp.nonzero(x, size=-1)", "jnp.nonzero(x, size=1.5)", "jnp.tril_indices(1.5)", "jnp.triu_indices(2, m=1.5)",
    # Names and options, and what has the wrong rank
    "jnp.digitize(x, x, method='a')", "jax.lax.sort(x, num_keys=None)", "jax.lax.conv(jnp.ones((1, 1, 3)), jnp.ones((1, 1, 2)), (1,), None)",
    "jnp.clip(x, 1, 2j)", "jnp.matvec(x, x)", "jax.nn.dot_product_attention(*[jnp.ones((1, 2, 1, 2))] * 3, key_value_seq_lengths=3)",
    "x.to_device(jax.devices()[0], stream=1)", "jnp.compress(x > 0, x, out=object())", "jnp.bincount(jnp.arange(3), minlength=(1,))",
    "jax.lax.bitcast_convert_type(x, None)", "jnp.issubdtype('int8', np.ones(2))", "jax.ops.segment_min(x, None)",
    "jnp.min(x, where=(1, 2))", "jax.lax.conj(keys)", "jnp.trunc(keys)", "jnp.all(keys)",
    "x.at[0].get(mode=[1])", "x.at[0].set(1, mode={})", "jax.lax.dot(x, x, precision=[1])", "jnp.sort(x, kind='a')",
    "jnp.asarray(x, order=3)", "jnp.asarray(x, order='C')", "jnp.tensordot(x, x, axes=[0])",
    "jax.ops.segment_max(x, jnp.arange(3), out_sharding=2)", "jax.lax.rng_bit_generator(np.ones(4, np.uint32), (2,), out_sharding=-1)",
)  # fmt: skip
ACCEPTED = (
    "jnp.size([1, 2])", "jnp.shape('a')", "jnp.ndim([[1, 2]])", "jnp.shape(None)", "jnp.sum(x, axis=np.array([0]))",
    "jnp.result_type(jnp.int32, None)", "jnp.moveaxis(jnp.ones((2, 3)), np.array([0]), 1)", "jax.lax.full(3, 7)", "jax.lax.conv_general_dilated(jnp.ones((1, 1, 3)), jnp.ones((1, 1, 2)), (1,), np.zeros((1, 2), int))",
)  # fmt: skip


def answer(library, text):
    jnp = library.numpy
    keys = library.random.split(library.random.key(0), 3)
    return outcome(text, {"np": np, "jax": library, "jnp": jnp, "x": jnp.ones(3), "keys": keys})


@pytest.mark.parametrize("text", REFUSED)
def test_refused_with_the_type_of_jax(text):
    ours, theirs = answer(plugjax, text), answer(jax, text)
    assert theirs != "ok"
    assert ours != "ok"
    assert stumbles(theirs) or verdict(ours, theirs) is None, (ours, theirs)


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted_as_in_jax(text):
    assert answer(jax, text) == "ok"
    assert answer(plugjax, text) == "ok"
