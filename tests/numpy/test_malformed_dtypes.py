"""Dtypes that no array has, and arrays in place of a dtype: refused everywhere, with JAX's error type."""

import numpy as np
import pytest

import plugjax
from tests.malformed.single_calls import check_refused

WRONG = {
    "128 bits": "'float128'", "complex of 256 bits": "'complex256'", "other byte order": "'>f4'", "void": "'V8'", "text": "'U3'",
    "objects": "object", "dates": "'datetime64[s]'", "an array": "x", "a rank-0 array": "x[0]", "a NumPy array": "np.ones(2)",
}  # fmt: skip
PROGRAMS = (
    "jax.lax.convert_element_type(x, {})", "jax.lax.full((2,), 1, {})", "jax.lax.iota({}, 2)", "jax.lax.bitcast_convert_type(x, {})",
    "x.astype({})", "x.view({})", "jnp.zeros(2, {})", "jnp.ones_like(x, dtype={})", "jnp.arange(3, dtype={})", "jnp.asarray([1.0], {})",
    "jax.nn.one_hot(jnp.arange(2), 3, dtype={})", "jnp.eye(2, dtype={})",
)  # fmt: skip
VALUES = ("np.ones(2, np.longdouble)", "np.ones(2, '>f4')", "np.array(['a'])", "np.array([None])")
USES = (
    "jnp.asarray({})", "x + {}", "jnp.sin({})", "jax.lax.sin({})", "jax.jit(lambda v: v)({})", "jax.vmap(lambda v: v)({})",
    "jax.grad(lambda v: v.sum())({})", "jax.device_put({})", "jnp.result_type({})", "jnp.array([{0}, {0}])",
)  # fmt: skip


def scope_of(library):
    return {"np": np, "x": library.numpy.ones(2)}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("program", PROGRAMS)
def test_dtype_that_arrays_do_not_have_is_refused(program, wrong):
    check_refused(program.format(WRONG[wrong]), scope_of)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("use", USES)
def test_values_of_dtypes_that_arrays_do_not_have_are_refused(use, value):
    check_refused(use.format(value), scope_of)


def test_other_byte_order_is_converted_when_a_dtype_is_named():
    found = plugjax.numpy.asarray(np.arange(3, dtype=">i4"), "int32")
    assert found.dtype == np.int32
    assert found.tolist() == [0, 1, 2]


def test_pairs_outside_the_lattice_do_not_promote():
    for pair in (("float128", "float32"), (">f4", "float32")):
        with pytest.raises(ValueError, match="promotion"):
            plugjax.numpy.promote_types(*pair)
