"""Programs on which IREE crashes, or gives up, while it schedules kernels are scheduled otherwise; values are those of NumPy."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree.compile import CompileError, CompileTarget, compile_stablehlo, compiler, pipeline
from plugjax_iree.mlir import borrowed, set_parsed_attribute
from plugjax_iree.workarounds import without

X = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)


def loops(x):
    def body(i, c):
        y = lax.cond(c[0, 0] > 0, lambda c: jnp.sort(c @ x), lambda c: jnp.cumsum(c, 0) - x, c)
        return jnp.tanh(y) + lax.fori_loop(0, i, lambda k, d: d[::-1] * k + x, c)

    y = lax.fori_loop(0, 4, body, x)
    return y, lax.while_loop(lambda c: c.sum() < 9, lambda c: c + abs(y), x), x @ x


def gradient(x):
    def f(x):
        y, found = lax.scan(lambda c, row: (jnp.sin(c) * row, c.sum()), x[0], x)
        return lax.switch(y.argmax(), [jnp.sum, jnp.max, jnp.prod], y) + found.sum()

    return plugjax.value_and_grad(f)(x)


def values(function, device):
    with plugjax.default_device(plugjax.devices(device)[0]):
        return [np.asarray(y) for y in plugjax.tree.leaves(plugjax.jit(function)(X))]


@pytest.mark.parametrize("function", [loops, gradient])
def test_a_module_that_crashed_is_scheduled_otherwise(function, monkeypatch):
    attempts, compile_elsewhere = [], compiler.compile_elsewhere

    def crashing(text, *args, counted, **kwargs):
        attempts.append(counted)
        if counted:
            raise CompileError("crash", [])
        return compile_elsewhere(text, *args, counted=counted, **kwargs)

    monkeypatch.setattr(compiler, "compile_elsewhere", crashing)
    with plugjax.config.override("enable_compilation_cache", False):
        found = values(lambda x: function(x), "iree")
    assert attempts == [True, False]
    for x, y in zip(found, values(function, "numpy"), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def test_memory_is_not_counted_on_vulkan():
    with plugjax.default_device("iree"):
        text = plugjax.jit(loops).lower(X).as_text()

    def releases(driver, *off):
        with without(off):
            program = compile_stablehlo(
                text, CompileTarget(driver), subprocess=False, phase="stream"
            )
        return program.count(b"resource.dealloca")

    assert releases("vulkan") < releases("vulkan", "counted_memory")
    assert releases("local") == releases("local", "counted_memory")


# The passes of IREE before those that it repeats, and these.
UNSETTLED, REPEATED = (
    "iree-stream-tensor-transformation-pipeline,iree-stream-async-transformation-pipeline,iree-stream-cmd-transformation-pipeline",
    "iree-stream-optimization-pipeline",
)


@pytest.mark.parametrize("function", [loops, gradient])
def test_a_schedule_that_does_not_settle_is_taken_as_it_is(function, monkeypatch):
    """The mark of passes that repeat is on the module before they begin, so IREE gives up at once."""
    run_up_to, errors = pipeline._run_up_to, []

    def run_and_give_up(invocation, phase):
        if phase != b"stream":
            return run_up_to(invocation, phase)
        assert invocation.execute_text_pass_pipeline(UNSETTLED)
        with borrowed(invocation._inv_p) as (mlir, module):
            set_parsed_attribute(mlir, module, b"iree.fixedpoint.iteration", "0 : index")
        return invocation.execute_text_pass_pipeline(REPEATED)

    def compile_in_process(text, flags, process_flags, **options):
        with pytest.raises(CompileError) as refusal:
            pipeline.compile_here(text, flags, **{**options, "without": ("unsettled_timepoints",)})
        errors.append(str(refusal.value))
        return pipeline.compile_here(text, flags, **options)

    monkeypatch.setattr(pipeline, "_run_up_to", run_and_give_up)
    monkeypatch.setattr(compiler, "compile_elsewhere", compile_in_process)
    with plugjax.config.override("enable_compilation_cache", False):
        found = values(lambda x: function(x), "iree")
    assert len(errors) == 1
    assert "fixed point pipelines" in errors[0]
    for x, y in zip(found, values(function, "numpy"), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
