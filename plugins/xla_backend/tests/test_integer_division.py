"""Integer division by a constant 0, which XLA's compiler does not survive without the lowering's guard."""

import subprocess
import sys

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax

DTYPES = ["int8", "int32", "uint8", "uint32"]
PROGRAM = """
import numpy as np, plugjax, plugjax.numpy as jnp
from plugjax import lax
def program():
    x, y = (jnp.array(v, "{dtype}") for v in ([7, 0, 9, 6], [0, 0, 2, 3]))
    return lax.div(x, y), lax.rem(x, y), lax.rem(jnp.zeros(4, "{dtype}"), jnp.zeros(4, "{dtype}")), x // y, x % y
with plugjax.default_device("xla"):
    for y in plugjax.jit(program)():
        print(*np.asarray(y))
"""


@pytest.mark.parametrize("dtype", DTYPES)
def test_dividing_constants_by_zero_leaves_the_process_alive(dtype):
    code = PROGRAM.format(dtype=dtype)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    quotient, remainder, zeros, *_ = run.stdout.splitlines()
    ones = int(~np.zeros((), dtype))
    assert quotient == f"{ones} {ones} 4 2"
    assert remainder == "7 0 1 0"
    assert zeros == "0 0 0 0"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("divide", [lax.div, lax.rem, jnp.floor_divide, jnp.remainder])
def test_division_by_zero_is_that_of_the_numpy_backend(dtype, divide):
    info = np.iinfo(dtype)
    x, y = (a.ravel() for a in np.meshgrid(*[np.array([0, 1, 7, info.max, info.min], dtype)] * 2))
    y = np.append(y, np.array(0, dtype) - np.array(1, dtype))
    x = np.append(x, np.array(info.min, dtype))
    found = plugjax.jit(divide, device=plugjax.devices("xla")[0])(x, y)
    with plugjax.default_device("numpy"), plugjax.disable_jit():
        expected = divide(jnp.asarray(x), jnp.asarray(y))
    np.testing.assert_array_equal(found, expected)


def test_a_divisor_that_is_known_not_to_be_zero_is_left_alone():
    with plugjax.default_device("xla"):
        text = plugjax.jit(lambda x: lax.div(x, np.int32(3))).lower(np.int32(7)).as_text()
        assert "stablehlo.select" not in text
        text = plugjax.jit(lax.div).lower(np.int32(7), np.int32(3)).as_text()
    assert "stablehlo.select" in text
