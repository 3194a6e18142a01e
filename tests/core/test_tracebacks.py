"""Tracebacks end at the user's line, and the modes of ``jax_traceback_filtering`` act as JAX's."""

import operator  # noqa: F401  # calls use it
import os
import pickle
import subprocess
import sys
import traceback

import jax
import jax.numpy as jaxnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.transforms.tracebacks import NOTE, UnfilteredStackTrace, api_boundary

HERE = os.path.basename(__file__)
x = np.ones((3, 4), np.float32)


def wrong(v):
    """A function of the user's with an error inside."""
    return v @ v


def fails(v):
    raise KeyError("of the user")


# What a user writes -> the user's frames that its traceback ends with.
CALLS = {
    "x @ x": ["<lambda>"],
    "x + jnp.ones(7)": ["<lambda>"],
    "x ** jnp.ones(7)": ["<lambda>"],
    "x >> 1": ["<lambda>"],
    "x[0, 0, 0]": ["<lambda>"],
    "x[0.5]": ["<lambda>"],
    "operator.setitem(x, 0, 1)": ["<lambda>"],
    "x.sum(axis=5)": ["<lambda>"],
    "x.reshape(5)": ["<lambda>"],
    "x.astype('no dtype')": ["<lambda>"],
    "x.at[0, 0, 0].set(1)": ["<lambda>"],
    "x.at[0].add(jnp.ones(7))": ["<lambda>"],
    "x.at['a'].get()": ["<lambda>"],
    "len(jnp.float32(1))": ["<lambda>"],
    "np.sum(x, axis=9)": ["<lambda>"],
    "np.add(x, jnp.ones(7))": ["<lambda>"],
    "jnp.add(x, jnp.ones(7))": ["<lambda>"],
    "jnp.add.outer('a', 3)": ["<lambda>"],
    "jnp.sin('a')": ["<lambda>"],
    "jnp.concatenate([x, jnp.ones(3)])": ["<lambda>"],
    "jnp.median(x, axis=7)": ["<lambda>"],
    "jnp.einsum('ij,jk', x, x)": ["<lambda>"],
    "jnp.linalg.inv(x)": ["<lambda>"],
    "jnp.fft.fft(x, axis=7)": ["<lambda>"],
    "jnp.vectorize(wrong)(x)": ["<lambda>", "wrong"],
    "lax.add(x, jnp.ones(7))": ["<lambda>"],
    "lax.reshape(x, (7,))": ["<lambda>"],
    "lax.linalg.cholesky(x)": ["<lambda>"],
    "lax.scan(lambda c, a: (1, a), 0., x)": ["<lambda>"],
    "lax.cond(True, lambda: 1, lambda: 1.5)": ["<lambda>"],
    "lax.while_loop(lambda c: c, lambda c: c, x)": ["<lambda>"],
    "lax.fori_loop(0, 3, lambda i, c: fails(c), x)": ["<lambda>", "<lambda>", "fails"],
    "lax.psum(x, 'i')": ["<lambda>"],
    "lax.associative_scan(lambda a, b: fails(a), x)": ["<lambda>", "<lambda>", "fails"],
    "plugjax.random.normal(3)": ["<lambda>"],
    "plugjax.random.split(3, 'a')": ["<lambda>"],
    "plugjax.nn.softmax('a')": ["<lambda>"],
    "plugjax.nn.initializers.orthogonal()(plugjax.random.key(0), (3,))": ["<lambda>"],
    "plugjax.scipy.special.gammaln('a')": ["<lambda>"],
    "plugjax.scipy.stats.norm.pdf('a')": ["<lambda>"],
    "plugjax.image.resize(x, (1,), 'b')": ["<lambda>"],
    "plugjax.ops.segment_sum('a', x)": ["<lambda>"],
    "plugjax.tree.map(fails, [1, 2])": ["<lambda>", "fails"],
    "plugjax.tree.map(operator.add, [1, 2], [1])": ["<lambda>"],
    "plugjax.jit(wrong)(x)": ["<lambda>", "wrong"],
    "plugjax.jit(3)": ["<lambda>"],
    "plugjax.jit(wrong, static_argnums=0)(x)": ["<lambda>"],
    "plugjax.jit(wrong).lower(x)": ["<lambda>", "wrong"],
    "plugjax.jit(jnp.sin).lower(x).compile()(1.)": ["<lambda>"],
    "plugjax.grad(lambda v: v)(x)": ["<lambda>"],
    "plugjax.grad(wrong)(x)": ["<lambda>", "wrong"],
    "plugjax.grad(plugjax.jit(wrong))(x)": ["<lambda>", "wrong"],
    "plugjax.vmap(wrong, in_axes=3)(x)": ["<lambda>"],
    "plugjax.vmap(lambda r: r @ r[:2])(x)": ["<lambda>", "<lambda>"],
    "plugjax.jacfwd(wrong)(x)": ["<lambda>", "wrong"],
    "plugjax.hessian(wrong)(x)": ["<lambda>", "wrong"],
    "plugjax.vjp(jnp.sin, x)[1](3)": ["<lambda>"],
    "plugjax.linearize(jnp.sin, x)[1](3)": ["<lambda>"],
    "plugjax.jvp(wrong, (x,), (x,))": ["<lambda>", "wrong"],
    "plugjax.checkpoint(wrong)(x)": ["<lambda>", "wrong"],
    "plugjax.make_jaxpr(wrong)(x)": ["<lambda>", "wrong"],
    "plugjax.eval_shape(wrong, x)": ["<lambda>", "wrong"],
    "plugjax.device_put('a')": ["<lambda>"],
    "plugjax.pure_callback(fails, plugjax.ShapeDtypeStruct((), 'float32'), 1.)": ["<lambda>", "fails"],
    "plugjax.debug.callback(fails, 1.)": ["<lambda>", "fails"],
}  # fmt: skip


def error_of(call):
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def users_frames(error):
    """Names of the frames below this file's first helper; foreign files count with their names."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    return [f.name if os.path.basename(f.filename) == HERE else f.filename for f in frames]


@pytest.mark.parametrize("call", CALLS)
def test_the_traceback_ends_at_the_users_line(call):
    names = {**globals(), "x": jnp.asarray(x)}
    # In this file, so that its frames count as the user's.
    run = eval(compile(f"lambda: {call}", __file__, "eval"), names)
    error = error_of(run)
    assert users_frames(error) == CALLS[call]
    assert error.__notes__ == [NOTE]


def test_a_callback_in_a_compiled_program_keeps_the_users_frames():
    shape = plugjax.ShapeDtypeStruct((), "float32")
    call = plugjax.jit(lambda v: plugjax.pure_callback(fails, shape, v))
    assert users_frames(error_of(lambda: call(jnp.float32(1)))) == ["<lambda>", "fails"]


def test_what_the_user_handled_before_is_still_told():
    def call():
        try:
            {}["missing"]
        except KeyError:
            jnp.ones(3) + jnp.ones(4)

    error = error_of(call)
    assert isinstance(error.__context__, KeyError)
    assert not error.__suppress_context__


def run_both(mode):
    """The error of a jitted function that fails, of plugjax and of JAX, in a mode."""
    with plugjax.config.override("traceback_filtering", mode):
        ours = error_of(lambda: plugjax.jit(wrong)(jnp.asarray(x)))
    before = jax.config.jax_traceback_filtering
    jax.config.update("jax_traceback_filtering", mode)
    try:
        theirs = error_of(lambda: jax.jit(wrong)(jaxnp.asarray(x)))
    finally:
        jax.config.update("jax_traceback_filtering", before)
    return ours, theirs


# JAX leaves the frames of some of its own files in.
KEPT_BY_JAX = ("array_methods.py", "core.py", "deprecations.py", "tensor_contractions.py")


def foreign_frames(error):
    found = [f for f in users_frames(error) if f not in ("<lambda>", "wrong")]
    return [f for f in found if not ("/jax/" in f and f.endswith(KEPT_BY_JAX))]


def hidden(error):
    return [
        frame.f_locals.get("__tracebackhide__", False)
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if os.path.basename(frame.f_code.co_filename) not in (HERE, *KEPT_BY_JAX)
    ]


@pytest.mark.parametrize("mode", ["auto", "quiet_remove_frames"])
def test_frames_are_removed_quietly(mode):
    for error in run_both(mode):
        assert foreign_frames(error) == []
        assert "TRACEBACK_FILTERING=off" in "".join(error.__notes__)
        assert error.__cause__ is None


def test_off_keeps_all_frames():
    for error in run_both("off"):
        assert foreign_frames(error)
        assert not hasattr(error, "__notes__")


def test_remove_frames_shows_the_whole_traceback_as_the_cause():
    ours, theirs = run_both("remove_frames")
    for error in (ours, theirs):
        assert foreign_frames(error) == []
        assert foreign_frames(error.__cause__)
        assert type(error.__cause__).__name__ == UnfilteredStackTrace.__name__
        assert not hasattr(error, "__notes__")
    assert "test_remove_frames" in "".join(traceback.format_exception(ours))


def test_tracebackhide_marks_the_frames():
    for error in run_both("tracebackhide"):
        assert foreign_frames(error)
        # Boundaries of JAX hide themselves while they run.
        assert all(hidden(error)[1:])
        assert not hasattr(error, "__notes__")


def test_the_environment_names_the_mode():
    program = "import plugjax.numpy as jnp; jnp.ones(3) + jnp.ones(4)"
    for name, whole in (("PLUGJAX_TRACEBACK_FILTERING", True), ("JAX_TRACEBACK_FILTERING", True), ("OTHER", False)):  # fmt: skip
        environment = {**os.environ, name: "off"}
        run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)  # fmt: skip
        assert ("eager_operators.py" in run.stderr) == whole
        assert (NOTE in run.stderr) != whole


def test_a_boundary_takes_the_same_arguments():
    def function(a, b=2, /, c=3, *, d, e=5):
        return a, b, c, d, e

    call = api_boundary(function)
    assert call(1, d=4) == (1, 2, 3, 4, 5)
    assert call(0, 9, c=8, d=7, e=6) == (0, 9, 8, 7, 6)
    for args in ({"b": 1}, {"a": 1, "d": 4}, {"d": 4, "g": 1}):
        assert str(error_of(lambda: call(**args))) == str(error_of(lambda: function(**args)))  # noqa: B023
    assert api_boundary(lambda *args, **kwargs: (args, kwargs))(1, a=2) == ((1,), {"a": 2})


def test_public_functions_pickle_and_keep_their_documentation():
    for function in (
        jnp.sum,
        jnp.sin,
        lax.sin,
        lax.reduce_sum,
        plugjax.random.normal,
        plugjax.device_put,
    ):
        assert pickle.loads(pickle.dumps(function)) is function
        assert "Example:" in function.__doc__
