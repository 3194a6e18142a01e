"""Options of JAX that choose a derivative, refuse half precision, warn of constants, or write programs to files."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as pnp

LIBRARIES = pytest.mark.parametrize(
    ("j", "np_"), [(plugjax, pnp), (jax, jnp)], ids=["plugjax", "jax"]
)
LOGITS = np.array([[1.0, 2.0, -3.0], [0.5, 0.0, 100.0]], np.float32)


@pytest.mark.spread(2)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("axis", [-1, 0, (0, 1)])
def test_the_derivative_of_softmax_by_its_result(axis, masked):
    def jacobians(j, np_):
        mask = np_.asarray(LOGITS > 0) if masked else None
        x = np_.asarray(LOGITS)
        with j.softmax_custom_jvp(True):
            assert "custom_jvp_call" in str(j.make_jaxpr(j.nn.softmax)(x))
            f = j.jit(lambda x: j.nn.softmax(x, axis, mask))
            return f(x), j.jacfwd(f)(x), j.jacrev(f)(x)

    for ours, theirs in zip(jacobians(plugjax, pnp), jacobians(jax, jnp), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert "custom_jvp_call" not in str(plugjax.make_jaxpr(plugjax.nn.softmax)(pnp.ones(3)))


@LIBRARIES
def test_sums_of_half_precision_are_refused(j, np_):
    for dtype in ("float16", "bfloat16"):
        x = np_.ones((1, 3), dtype)
        with j.allow_f16_reductions(False):
            for call in (
                lambda x: j.lax.reduce_sum(x, (1,)),
                j.jit(lambda x: j.lax.reduce_sum(x, (0, 1))),
            ):
                with pytest.raises(ValueError, match="reduce_sum on operand"):
                    call(x)
            assert j.lax.reduce_sum(x, (0,)).shape == (3,)
            assert j.lax.reduce_max(x, (1,)).shape == (1,)
            assert j.lax.reduce_sum(np_.ones(3), (0,)) == 3
        assert j.lax.reduce_sum(x, (1,)).dtype == x.dtype


@LIBRARIES
def test_large_constants_are_warned_of(j, np_):
    table = np_.arange(1000.0)
    old = j.config.jax_captured_constants_warn_bytes
    try:
        for limit, expected in ((3000, 1), (5000, 0), (-1, 0)):
            j.config.update("jax_captured_constants_warn_bytes", limit)
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                j.jit(lambda x: x + table)(1.0)
            found = [str(w.message) for w in seen]
            assert len(found) == expected, found
            assert all("constants were captured during lowering (4.00KB total)" in m for m in found)
    finally:
        j.config.update("jax_captured_constants_warn_bytes", old)


def test_the_warning_of_constants_names_the_lines_that_use_them():
    table = pnp.arange(1000.0)
    before = plugjax.config.jax_captured_constants_warn_bytes
    plugjax.config.update("jax_captured_constants_warn_bytes", 1000)
    plugjax.config.update("jax_captured_constants_report_frames", -1)
    try:
        with pytest.warns(
            UserWarning, match=r"(?s)float32\[1000\], 4.00KB, used at .*test_options_that_act.py"
        ):
            plugjax.jit(lambda x: x + table)(1.0)
    finally:
        plugjax.config.update("jax_captured_constants_warn_bytes", before)
        plugjax.config.update("jax_captured_constants_report_frames", 0)


def test_programs_that_are_compiled_are_written_to_files(backend, tmp_path):
    suffix = "py" if backend == "numpy" else "mlir"

    def doubled(x):
        return x * 2.5

    plugjax.config.update("jax_dump_ir_to", str(tmp_path / "dumps"))
    plugjax.config.update("jax_dump_ir_modes", "stablehlo,jaxpr")
    try:
        with plugjax.default_device(backend):
            plugjax.jit(doubled)(pnp.ones(3))
    finally:
        plugjax.config.update("jax_dump_ir_to", "")
        plugjax.config.update("jax_dump_ir_modes", "stablehlo")
    (program,) = (tmp_path / "dumps").glob(f"jax_ir*_jit_doubled_compile.{suffix}")
    (jaxpr,) = (tmp_path / "dumps").glob("jax_*_doubled.jaxpr.txt")
    assert "mul" in program.read_text()
    assert "test_options_that_act.py" in program.read_text() or suffix == "py"
    assert "mul" in jaxpr.read_text()


def test_jax_writes_files_of_these_names(tmp_path):
    jax.config.update("jax_dump_ir_to", str(tmp_path))
    try:
        jax.jit(lambda x: x * 2.5)(1.0)
    finally:
        jax.config.update("jax_dump_ir_to", "")
    assert list(tmp_path.glob("jax_ir*_jit_*_compile.mlir"))
