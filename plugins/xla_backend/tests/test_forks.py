"""Processes forked from one that has used XLA: they compute, or raise at once; they never hang."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

SETUP = """
import faulthandler, gc, multiprocessing, os, signal, sys
import numpy as np
import plugjax
import plugjax.numpy as jnp
from plugjax.core.errors import JaxRuntimeError

N = 400
big = np.ones((N, N), np.float32)

@plugjax.jit
def step(w, x):
    return jnp.tanh(x @ w / N) @ w

w = plugjax.device_put(big)
before = step(w, big)
bf16 = plugjax.jit(lambda x: x * 2)(jnp.ones(3, jnp.bfloat16))
host = np.asarray(before)
expected = np.tanh(1.0) * N
aot = step.lower(w, big).compile()
donating = plugjax.jit(lambda x: x + 1, donate_argnums=0)
kept = donating(plugjax.device_put(big))
called = plugjax.jit(lambda x: plugjax.pure_callback(lambda v: np.asarray(v) + 1, x, x))
assert float(called(jnp.float32(1))) == 2
plugjax.block_until_ready((before, bf16, kept))

def run(child, seconds=60):
    pid = os.fork()
    if pid == 0:
        signal.alarm(seconds)
        try:
            child()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert status == 0, status
"""

CHILDREN = {
    "values of the parent": """
        np.testing.assert_array_equal(np.asarray(before), host)
        assert np.asarray(bf16).tolist() == [2, 2, 2]
        before.block_until_ready()
        assert float(before[0, 0]) == float(host[0, 0])
    """,
    "a program of the parent": """
        np.testing.assert_allclose(step(w, big), expected, rtol=1e-5)
        np.testing.assert_allclose(step(before / expected, big), expected, rtol=1e-5)
        np.testing.assert_allclose(step(w, w), expected, rtol=1e-5)
    """,
    "a program compiled ahead by the parent": """
        np.testing.assert_allclose(aot(w, big), expected, rtol=1e-5)
    """,
    "a new program": """
        found = plugjax.jit(lambda a, b: jnp.sum(jnp.sin(a @ b)))(w, big)
        np.testing.assert_allclose(found, np.sum(np.sin(big @ big)), rtol=1e-3)
        np.testing.assert_allclose(plugjax.grad(plugjax.jit(lambda v: jnp.sum(v * v)))(w), 2 * big)
    """,
    "donation": """
        again = donating(donating(kept))
        assert kept.is_deleted()
        assert float(again[0, 0]) == 4
    """,
    "eager work": """
        assert float((w + 1)[0, 0]) == 2
        assert float(jnp.sum(jnp.ones((2000, 2000)))) == 4e6
        with plugjax.default_device("xla"):
            plugjax.config.update("eager", "compile")
            assert float(jnp.cosh(jnp.zeros(5))[0]) == 1
    """,
    "a refused option": """
        try:
            plugjax.jit(jnp.cosh, compiler_options={"xla_no_such_flag": 1})(w)
        except JaxRuntimeError as error:
            assert "xla_no_such_flag" in str(error), error
        else:
            raise AssertionError
    """,
    "a program that calls Python": """
        for f in (called, plugjax.jit(lambda x: plugjax.pure_callback(lambda v: v, x, x))):
            try:
                f(jnp.float32(1))
            except JaxRuntimeError as error:
                assert "spawn" in str(error) and "calls Python" in str(error), error
            else:
                raise AssertionError
    """,
    "a child of the child": """
        step(w, big)
        after = plugjax.jit(lambda a: a + 3)(w).block_until_ready()
        def grandchild():
            np.testing.assert_allclose(step(w, big), expected, rtol=1e-5)
            assert float(after[0, 0]) == 4
            assert float(plugjax.jit(lambda a, b: a - b)(after, before)[0, 0]) == 4 - float(host[0, 0])
        run(grandchild)
    """,
    "values that are given up": """
        before.delete()
        globals().pop("w")
        gc.collect()
    """,
}


def python(program, cache="off"):
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program],
        env={**os.environ, "PLUGJAX_BACKEND": "xla", "PLUGJAX_CACHE_DIR": str(cache)},
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.spread(6)
@pytest.mark.parametrize("what", CHILDREN)
def test_a_forked_child_uses(what):
    body = "def child():" + CHILDREN[what].rstrip().replace("\n    ", "\n")
    python(
        SETUP
        + body
        + "\nrun(child)\nnp.testing.assert_allclose(step(w, big), expected, rtol=1e-5)\n"
    )


def test_a_forked_child_writes_and_reads_the_cache(tmp_path):
    child = (
        "def child():\n"
        "    found = plugjax.jit(lambda a: jnp.cosh(a) * 3)(w)\n"
        "    assert abs(float(found[0, 0]) - 3 * np.cosh(1.0)) < 1e-5\n"
        "run(child); written = len(os.listdir(os.environ['PLUGJAX_CACHE_DIR'])); run(child)\n"
        "assert len(os.listdir(os.environ['PLUGJAX_CACHE_DIR'])) == written\n"
    )
    python(SETUP + child, tmp_path / "cache")


def test_multiprocessing_with_fork():
    program = SETUP + (
        "def work(i):\n"
        "    return float(plugjax.jit(lambda a: jnp.sum(a) * i)(w)), float(step(w, big)[0, 0])\n"
        "with multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "    for i, (a, b) in enumerate(pool.map_async(work, range(4)).get(100)):\n"
        "        assert a == N * N * i\n"
        "        assert abs(b - expected) < 0.1\n"
    )
    python(program)


def test_a_value_that_the_parent_still_computes_is_not_waited_for():
    program = SETUP + (
        "x = jnp.ones((3000, 3000))\n"
        "slow = plugjax.jit(lambda x: x @ x @ x @ x @ x @ x @ x @ x)\n"
        "slow(x).block_until_ready()\n"
        "pending = slow(x)\n"
        "def child():\n"
        "    for use in (np.asarray, plugjax.block_until_ready, lambda v: step(v[:N, :N], big), lambda v: aot(v, big)):\n"
        "        try:\n"
        "            use(pending)\n"
        "        except (JaxRuntimeError, TypeError) as error:\n"
        "            assert isinstance(error, TypeError) or 'still being computed' in str(error), error\n"
        "        else:\n"
        "            raise AssertionError\n"
        "run(child, 30)\n"
    )
    python(program)


def test_a_forked_child_may_end_as_processes_do():
    program = SETUP + (
        "for compute in (False, True):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        signal.alarm(60)\n"
        "        if compute:\n"
        "            plugjax.jit(lambda a: a * 5)(w).block_until_ready()\n"
        "        sys.exit(0)\n"
        "    status = os.waitpid(pid, 0)[1]\n"
        "    assert status == 0, (compute, status)\n"
    )
    python(program)
