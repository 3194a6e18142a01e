"""Arrays of strings, compared with JAX: they are put on CPUs by name, read, and moved."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as pnp

STRINGS = np.array([["abcd", ""], ["ü€", "x" * 20]], dtype=np.dtypes.StringDType())

READS = {
    "asarray": lambda x: (np.asarray(x).tolist(), np.asarray(x).dtype),
    "tolist": lambda x: x.tolist(),
    "repr": repr,
    "str": str,
    "format": lambda x: f"{x}",
    "shape": lambda x: (x.shape, x.ndim, x.size, len(x), x.itemsize, x.nbytes, x.weak_type),
    "dtype": lambda x: x.dtype,
    "waited for": lambda x: x.block_until_ready().tolist(),
    "aval": lambda x: str(x.aval),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_strings_are_read_as_in_jax(read, backend):
    ours = plugjax.device_put(STRINGS, plugjax.devices(backend)[0])
    theirs = jax.device_put(STRINGS, jax.devices()[0])
    assert read(ours) == read(theirs)


MADE = [
    lambda j, np_, device: j.device_put(STRINGS, device),
    lambda j, np_, device: np_.asarray(STRINGS, device=device),
    lambda j, np_, device: j.device_put(STRINGS, j.sharding.SingleDeviceSharding(device)),
    lambda j, np_, device: j.device_put({"a": STRINGS}, device)["a"],
    lambda j, np_, device: j.device_put(j.device_put(STRINGS, device), device),
]
REFUSED = [
    lambda j, np_, device: j.device_put(STRINGS),
    lambda j, np_, device: np_.asarray(STRINGS),
    lambda j, np_, device: j.device_put(np.array(["one"]), device),
    lambda j, np_, device: np_.array(["one"]),
    lambda j, np_, device: np_.zeros(2, STRINGS.dtype),
]


@pytest.mark.parametrize(("j", "np_"), [(plugjax, pnp), (jax, jnp)], ids=["plugjax", "jax"])
def test_strings_are_put_on_named_cpus_only(j, np_):
    device = j.devices("cpu")[0]
    for make in MADE:
        x = make(j, np_, device)
        assert isinstance(x, j.Array)
        assert x.committed
        assert j.device_get(x).tolist() == STRINGS.tolist()
    for refused in REFUSED:
        with pytest.raises(TypeError):
            refused(j, np_, device)


def test_what_is_put_is_a_copy():
    values = STRINGS.copy()
    x = plugjax.device_put(values, "numpy")
    values[0, 0] = "other"
    assert x.tolist() == STRINGS.tolist()


def test_compiled_functions_do_not_take_strings():
    for j in (plugjax, jax):
        x = j.device_put(STRINGS, j.devices("cpu")[0] if j is jax else j.devices("xla")[0])
        assert j.eval_shape(lambda a: a, x).dtype == STRINGS.dtype
        with pytest.raises(TypeError):
            j.jit(lambda a: a)(x)
        with pytest.raises(ValueError, match="promotion"):
            j.jit(lambda a: a + 1)(x)
