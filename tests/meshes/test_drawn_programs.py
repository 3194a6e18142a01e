"""Drawn programs over a mesh of eight devices: values, derivatives and shards are those of JAX."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.meshes.drawn.steps import SIDES, SPECS

UNARY = st.tuples(st.just("unary"), st.sampled_from(["sin", "negative", "square", "tanh", "flip"]))
SPEC = st.sampled_from(SPECS)
AXIS = st.sampled_from([0, 1])
COLLECTIVES = (
    "psum", "pmax", "ppermute", "all_gather", "axis_index", "psum_scatter", "all_to_all",
)  # fmt: skip
STEP = st.one_of(
    UNARY,
    st.tuples(
        st.just("combined"),
        st.sampled_from(["add", "multiply", "subtract", "maximum"]),
        st.integers(0, 7),
    ),
    st.tuples(st.just("centred"), AXIS, st.sampled_from(["mean", "max", "sum"])),
    st.sampled_from(
        [("turned",), ("product",), ("summed_up",), ("halves",), ("batched",), ("branched",)]
    ),
    st.tuples(st.just("sorted_along"), AXIS),
    st.tuples(st.just("rolled"), st.integers(-3, 3), AXIS),
    st.tuples(st.just("constrained"), SPEC),
    st.tuples(st.just("mapped"), SPEC, st.sampled_from(["x", "y"]), st.sampled_from(COLLECTIVES)),
)
PROGRAM = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 99),
        "shape": st.lists(st.sampled_from(SIDES), min_size=2, max_size=2),
        "spec": SPEC,
        "out": SPEC,
        "steps": st.lists(STEP, min_size=1, max_size=5),
    }
)


class Worker:
    """A process that runs programs."""

    def __init__(self, framework):
        environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.meshes.drawn", framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def ask(self, program):
        self.process.stdin.write(json.dumps(program) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@pytest.fixture(scope="module")
def workers():
    found = {name: Worker(name) for name in ("jax", "xla", "numpy")}
    yield found
    for worker in found.values():
        worker.close()


@given(program=PROGRAM)
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_drawn_programs(workers, program):
    for worker in workers.values():
        worker.ask(program)
    expected, *found = (worker.answer() for worker in workers.values())
    assert "error" not in expected, expected
    for answer in found:
        assert "error" not in answer, answer
        assert answer["dtype"] == expected["dtype"]
        assert answer["shards"] == expected["shards"]
        for what in ("value", "gradient"):
            np.testing.assert_allclose(answer[what], expected[what], rtol=2e-4, atol=2e-5)
