"""NumPy arrays and numbers as arguments: their values are copied, and results do not share the copies."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp

F = np.float32


@pytest.fixture(autouse=True)
def _xla():
    with plugjax.default_device(plugjax.devices("xla")[0]):
        yield


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s: (x, s),
        lambda x, s: (x.reshape(2, 2), s),
        lambda x, s: (x.T, s + 0),
        lambda x, s: (jnp.stack([x, x]), s * 2),
    ],
    ids=["itself", "reshape", "transpose", "stack"],
)
def test_results_do_not_change_with_later_calls(f):
    jitted = plugjax.jit(f)
    a = np.arange(4, dtype=F).reshape(1, 4)
    kept = [jitted(a + i, i) for i in range(6)]
    for i, (x, s) in enumerate(kept):
        expected, scalar = f(jnp.asarray(a + i), jnp.asarray(i))
        np.testing.assert_array_equal(x, expected)
        assert s == scalar


def test_the_argument_may_be_written_after_the_call():
    add = plugjax.jit(lambda x, y: x + y)
    a = np.ones(8, F)
    for _ in range(3):
        result = add(a, a)
        a += 1
        np.testing.assert_array_equal(result, 2 * (a - 1))


def test_while_a_long_program_reads_them():
    @plugjax.jit
    def slow(x, s):
        y = jnp.ones((600, 600)) * s
        for _ in range(3):
            y = y @ y * (1 / 600)
        return x * s + y[0, 0] * 0, y

    a = np.arange(8, dtype=F)
    found = [slow(a + i, float(i))[0] for i in range(12)]
    for i, x in enumerate(found):
        np.testing.assert_array_equal(x, (a + i) * F(i))


def test_threads_have_slots_of_their_own():
    add = plugjax.jit(lambda x, s: x * s + 1)
    wrong = []

    def work(k):
        with plugjax.default_device(plugjax.devices("xla")[0]):
            for i in range(300):
                a = np.full(16, k * 1000 + i, F)
                if not np.array_equal(add(a, 2.0), a * 2 + 1):
                    wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize(
    "value",
    [
        2, 2.5, True, 2j, F(3), np.float64(3.5), np.int8(-3), np.bool_(True), np.arange(4), np.arange(4.0)[::-1], np.zeros((0,)),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.float16(2), np.zeros((200, 200), F),
        np.array(3.5),
    ],
    ids=str,
)  # fmt: skip
def test_values_dtypes_and_weakness_are_those_of_arrays(value):
    twice = plugjax.jit(lambda x: x + x)
    expected = twice(jnp.asarray(value) if isinstance(value, np.ndarray | np.generic) else value)
    for _ in range(4):
        found = twice(value)
        np.testing.assert_array_equal(found, expected)
        assert (found.dtype, found.weak_type) == (expected.dtype, expected.weak_type)


def test_an_integer_that_does_not_fit():
    twice = plugjax.jit(lambda x: x + x)
    for _ in range(3):
        assert twice(3) == 6
    with pytest.raises(OverflowError, match="too large to convert to int32"):
        twice(2**40)
    assert twice(4) == 8


@pytest.mark.parametrize("value", [np.int64(2**33 + 5), np.uint64(2**63), np.int64(-(2**31) - 1)])
def test_numbers_of_numpy_wrap_around(value):
    add = plugjax.jit(lambda x, y: x + y)
    for y in (value, value.dtype.type(1), value):
        expected = jnp.asarray(np.asarray([y])) + 1
        for x in (1, np.int32(1)):
            np.testing.assert_array_equal(add(x, y), expected[0])


def test_an_integer_of_python_that_does_not_fit_is_refused():
    add = plugjax.jit(lambda x, y: x + y)
    for y in (1, 2**31, 2, 2**31):
        if y < 2**31:
            assert add(np.arange(2), y)[1] == y + 1
        else:
            with pytest.raises(OverflowError):
                add(np.arange(2), y)


def test_jax_is_not_imported():
    program = (
        "import sys, numpy as np, plugjax\n"
        "f = plugjax.jit(lambda x, s, n: (x * s + n).sum())\n"
        "print([float(f(np.ones(4), s, True)) for s in (1.0, 2.0, 3.0)], 'jax' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PLUGJAX_BACKEND": "xla"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[8.0, 12.0, 16.0] False"
