"""Options as flags of absl, as programs of JAX read them; each program in a process of its own."""

import os
import subprocess
import sys

import pytest

KNOWN = """
import sys
from importlib import import_module
jax = import_module(sys.argv.pop(1))
jax.config.parse_flags_with_absl()
print(jax.config.jax_enable_x64, jax.config.jax_debug_nans, jax.config.jax_default_matmul_precision, sys.argv[1:])
"""
APP = """
import sys
from importlib import import_module
jax = import_module(sys.argv.pop(1))
from absl import app, flags
flags.DEFINE_integer("n", 1, "")
jax.config.config_with_absl()
def main(argv):
    print(argv[1:], flags.FLAGS.n, jax.config.jax_enable_x64, jax.config.jax_numpy_rank_promotion)
app.run(main)
"""
pytestmark = pytest.mark.parametrize("framework", ["jax", "plugjax"])


def run(framework, program, *words):
    done = subprocess.run(
        [sys.executable, "-c", program, framework, *words],
        capture_output=True, text=True, timeout=100, env={**os.environ, "PLUGJAX_BACKEND": "numpy"},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr.splitlines()[-2:]


def test_flags_of_the_options_alone(framework):
    words = ("--jax_enable_x64", "--jax_default_matmul_precision=highest", "--other=3", "--", "--jax_debug_nans")  # fmt: skip
    assert run(framework, KNOWN, *words)[:2] == (0, f"True False highest {list(words)}\n")


def test_flags_of_a_program(framework):
    words = ("--n=4", "--jax_enable_x64=1", "--jax_numpy_rank_promotion=raise", "file")
    assert run(framework, APP, *words)[:2] == (0, "['file'] 4 True raise\n")


def test_a_flag_with_a_wrong_value(framework):
    code, said, (fault, _) = run(framework, APP, "--jax_numpy_rank_promotion=rase")
    assert (code, said) == (1, "")
    assert (
        "flag --jax_numpy_rank_promotion=rase: value should be one of <allow|warn|raise>" in fault
    )
