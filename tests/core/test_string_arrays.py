"""Arrays of strings, compared with JAX: they are put on CPUs by name, read, and moved."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as pnp

STRINGS = np.array([["abcd", ""], ["ü€", "x" * 50]], dtype=np.dtypes.StringDType())

READS = {
    "asarray": np.asarray,
    "tolist": lambda x: x.tolist(),
    "repr": repr,
    "str": str,
    "format": lambda x: f"{x}",
    "shape": lambda x: (x.shape, x.ndim, x.size, len(x), x.itemsize, x.nbytes, x.weak_type),
    "dtype": lambda x: x.dtype,
    "transposed": lambda x: np.asarray(x.T),
    "waited for": lambda x: x.block_until_ready().tolist(),
    "aval": lambda x: str(x.aval),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_strings_are_read_as_in_jax(read, backend):
    ours = plugjax.device_put(STRINGS, plugjax.devices(backend)[0])
    theirs = jax.device_put(STRINGS, jax.devices()[0])
    assert np.all(np.asarray(read(ours)) == np.asarray(read(theirs)))


def test_strings_are_put_on_named_cpus_only():
    for j, np_ in ((plugjax, pnp), (jax, jnp)):
        device = j.devices("cpu")[0]
        for make in (
            lambda: j.device_put(STRINGS, device),
            lambda: np_.asarray(STRINGS, device=device),
            lambda: j.device_put(STRINGS, j.sharding.SingleDeviceSharding(device)),
            lambda: j.device_put({"a": STRINGS}, device)["a"],
            lambda: j.device_put(j.device_put(STRINGS, device), device),
        ):
            x = make()
            assert isinstance(x, j.Array)
            assert x.committed
            assert j.device_get(x).tolist() == STRINGS.tolist()
        for refused in (
            lambda: j.device_put(STRINGS),
            lambda: np_.asarray(STRINGS),
            lambda: j.device_put(np.array(["a"]), device),
            lambda: np_.array(["a"]),
            lambda: np_.zeros(2, STRINGS.dtype),
        ):
            with pytest.raises(TypeError):
                refused()


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
