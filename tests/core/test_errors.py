"""Bad input: the error type that JAX users expect, and a message that says what to do."""

import subprocess
import sys

import jax
import jax.numpy as jax_jnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import errors, lax


def both(make):
    """The same program in plugjax and in JAX."""
    return [(make, plugjax, jnp, lax), (make, jax, jax_jnp, jax.lax)]


def python_if(j, np_, _):
    j.jit(lambda x: x if x > 0 else -x)(1.0)


def python_if_vmap(j, np_, _):
    j.vmap(lambda x: x if x > 0 else -x)(np_.arange(3.0))


def python_int(j, np_, _):
    j.jit(lambda n: list(range(n)))(3)


def to_float(j, np_, _):
    j.jit(lambda x: float(x))(1.0)


def to_numpy(j, np_, _):
    j.jit(lambda x: np.asarray(x).sum())(np_.ones(2))


def boolean_mask(j, np_, _):
    j.jit(lambda x: x[x > 0])(np_.ones(3))


def leaked(j, np_, _):
    kept = []
    j.jit(lambda x: kept.append(x) or x)(1.0)
    np_.sin(kept[0])


def leaked_from_grad(j, np_, _):
    kept = []
    j.jit(lambda x: kept.append(x * 2) or x * 2)(1.0)
    j.jit(lambda y: y + kept[0])(1.0)


def non_hashable_static(j, np_, _):
    j.jit(lambda x, n: x, static_argnums=1)(1.0, [1])


def gradient_of_vector(j, np_, _):
    j.grad(lambda x: x * 2)(np_.ones(3))


def gradient_of_integers(j, np_, _):
    j.grad(lambda x: x * 2.0)(3)


def gradient_of_integer_output(j, np_, _):
    j.grad(lambda x: np_.int32(3))(3.0)


def gradient_of_pair(j, np_, _):
    j.grad(lambda x: (x, x))(3.0)


def missing_argument(j, np_, _):
    j.grad(lambda x: x, argnums=1)(3.0)


def jvp_of_wrong_structure(j, np_, _):
    j.jvp(lambda x: x, (1.0,), ((1.0, 2.0),))


def jvp_of_wrong_dtype(j, np_, _):
    j.jvp(lambda x: x, (1.0,), (1,))


def vmap_of_nothing(j, np_, _):
    j.vmap(lambda x: x, in_axes=None)(1.0)


def vmap_of_wrong_axis(j, np_, _):
    j.vmap(lambda x: x, in_axes=2)(np_.ones((2, 3)))


def vmap_of_different_sizes(j, np_, _):
    j.vmap(lambda x, y: x)(np_.ones(2), np_.ones(3))


def vmap_of_wrong_in_axes(j, np_, _):
    j.vmap(lambda x: x, in_axes="0")(np_.ones(2))


def scan_that_changes_its_carry(j, np_, lax_):
    lax_.scan(lambda c, x: (np_.stack([c, c]), x), np_.float32(0), np_.ones(3))


def scan_without_length(j, np_, lax_):
    lax_.scan(lambda c, x: (c, x), 0.0, None)


def while_with_vector_condition(j, np_, lax_):
    lax_.while_loop(lambda x: x > 0, lambda x: x, np_.ones(3))


def cond_with_different_results(j, np_, lax_):
    lax_.cond(True, lambda x: x, lambda x: (x, x), 1.0)


def cond_with_different_types(j, np_, lax_):
    lax_.cond(True, lambda x: x, lambda x: np_.ones(3), 1.0)


def cond_with_vector_predicate(j, np_, lax_):
    lax_.cond(np_.ones(3) > 0, lambda x: x, lambda x: x, 1.0)


def reverse_of_while(j, np_, lax_):
    j.grad(lambda x: lax_.while_loop(lambda c: c < 10, lambda c: c * 2, x))(1.0)


def item_assignment(j, np_, _):
    np_.ones(3)[0] = 1


def wrong_axis(j, np_, _):
    np_.sum(np_.ones((2, 3)), axis=5)


def dots_of_wrong_shapes(j, np_, _):
    np_.ones((3, 4)) @ np_.ones((5, 2))


def shapes_that_do_not_broadcast(j, np_, _):
    np_.ones((3, 4)) + np_.ones(5)


def lists_as_operands(j, np_, _):
    np_.add([1, 2], 3)


def dtypes_that_differ(j, np_, lax_):
    lax_.add(np_.ones(3), np_.arange(3))


def not_callable(j, np_, _):
    j.jit(3)


def result_that_is_no_array(j, np_, _):
    j.jit(lambda x: "text")(1.0)


def argument_that_is_no_array(j, np_, _):
    j.jit(lambda x: x)("text")


def truth_of_a_vector(j, np_, _):
    bool(np_.ones(3))


PROGRAMS = [
    python_if, python_if_vmap, python_int, to_float, to_numpy, boolean_mask, leaked, leaked_from_grad,
    non_hashable_static, gradient_of_vector, gradient_of_integers, gradient_of_integer_output, gradient_of_pair,
    missing_argument, jvp_of_wrong_structure, jvp_of_wrong_dtype, vmap_of_nothing, vmap_of_wrong_axis,
    vmap_of_different_sizes, vmap_of_wrong_in_axes, scan_that_changes_its_carry, scan_without_length,
    while_with_vector_condition, cond_with_different_results, cond_with_different_types, cond_with_vector_predicate,
    reverse_of_while, item_assignment, wrong_axis, dots_of_wrong_shapes, shapes_that_do_not_broadcast,
    lists_as_operands, dtypes_that_differ, not_callable, result_that_is_no_array, argument_that_is_no_array,
    truth_of_a_vector,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_error_types_are_those_of_jax(program):
    with pytest.raises(Exception) as theirs:
        program(jax, jax_jnp, jax.lax)
    with pytest.raises(Exception) as ours:
        program(plugjax, jnp, lax)
    expected = {c.__name__ for c in type(theirs.value).__mro__}
    found = {c.__name__ for c in type(ours.value).__mro__}
    # The same named class, or at least the same builtin.
    assert type(theirs.value).__name__ in found or _builtin(theirs.value) in found, (
        theirs.value,
        ours.value,
        expected,
    )


def _builtin(error):
    return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")


@pytest.mark.parametrize(
    ("program", "kind", "words"),
    [
        (
            python_if,
            errors.TracerBoolConversionError,
            ["bool[]", "'gt'", "test_errors.py", "lax.cond"],
        ),
        (python_int, errors.TracerIntegerConversionError, ["int32[]", "static_argnums"]),
        (to_numpy, errors.TracerArrayConversionError, ["float32[2]", "plugjax.numpy"]),
        (boolean_mask, errors.NonConcreteBooleanIndexError, ["bool[3]", "jnp.where"]),
        (leaked, errors.UnexpectedTracerError, ["leaked", "argument", "Return the value"]),
        (
            non_hashable_static,
            ValueError,
            ["Non-hashable static argument", "argument `n`", "[1]", "tuple"],
        ),
        (gradient_of_vector, TypeError, ["scalar-output", "(3,)"]),
        (gradient_of_integers, TypeError, ["int32", "allow_int"]),
        (vmap_of_different_sizes, ValueError, ["float32[2]", "float32[3]", "inconsistent"]),
        (scan_that_changes_its_carry, TypeError, ["float32[]", "float32[2]"]),
        (cond_with_different_results, TypeError, ["structure", "false_fun"]),
        (reverse_of_while, ValueError, ["Reverse-mode", "scan"]),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_messages_say_what_came_and_what_to_do(program, kind, words):
    with pytest.raises(kind) as caught:
        program(plugjax, jnp, lax)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_a_leak_is_traced_to_the_users_line():
    kept = []

    def leak(x):
        kept.append(jnp.sin(x))  # This line.
        return x

    plugjax.jit(leak)(1.0)
    with pytest.raises(errors.UnexpectedTracerError) as caught:
        jnp.cos(kept[0])
    line = leak.__code__.co_firstlineno + 1
    assert f"test_errors.py:{line}" in str(caught.value)
    assert "'sin'" in str(caught.value)


def test_an_unknown_backend_names_those_that_are_installed():
    with pytest.raises(RuntimeError, match=r"Unknown backend 'abacus'.*numpy.*doctor"):
        plugjax.devices("abacus")
    done = subprocess.run(
        [sys.executable, "-c", "import plugjax.numpy as jnp; jnp.ones(3)"],
        env={**__import__("os").environ, "PLUGJAX_BACKEND": "abacus"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0
    assert "Unknown backend 'abacus'" in done.stderr


def test_an_unknown_device_names_those_there_are():
    with pytest.raises(ValueError, match="numpy:0"):
        plugjax.device_put(1.0, "numpy:7")


def test_incompatible_devices_are_named():
    x = plugjax.device_put(np.ones(3, np.float32), "numpy")
    y = plugjax.device_put(np.ones(3, np.float32), "xla")
    with pytest.raises(ValueError, match=r"numpy:0.*xla:cpu:0"):
        x + y


def test_a_deleted_array_says_so():
    x = jnp.ones(3)
    x.delete()
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        x + 1


def test_an_unknown_option_lists_the_known_ones():
    with pytest.raises(AttributeError, match="enable_x64"):
        plugjax.config.update("jax_enable_x46", True)
    with pytest.raises(ValueError, match="True or False"):
        plugjax.config.update("jax_enable_x64", 3)


def _frames(error):
    found, traceback = [], error.__traceback__
    while traceback is not None:
        found.append(traceback.tb_frame.f_code.co_filename)
        traceback = traceback.tb_next
    return found


def test_tracebacks_show_the_users_program():
    def broken(x):
        return jnp.ones((3, 4)) @ x

    program = plugjax.jit(plugjax.vmap(plugjax.grad(lambda x: jnp.sum(broken(x)))))
    with pytest.raises(TypeError) as caught:
        program(np.ones((2, 5), np.float32))
    frames = _frames(caught.value)
    users = [f for f in frames if f == __file__]
    assert len(users) == 3  # This call, the lambda, and the faulty line.
    assert len(frames) <= 5
    with plugjax.config.override("traceback_filtering", "off"), pytest.raises(TypeError) as caught:
        program(np.ones((2, 5), np.float32))
    assert len(_frames(caught.value)) > 10


ONE_CAUSE = {
    "primitive": lambda: lax.add(jnp.ones(2), jnp.ones(3)),
    "operator": lambda: jnp.ones(2) @ jnp.ones(3),
    "jit": lambda: plugjax.jit(lambda x: x @ jnp.ones(3))(jnp.ones(2)),
    "jit of a tree": lambda: plugjax.jit(lambda t: t["a"] @ jnp.ones(3))({"a": jnp.ones(2)}),
    "grad": lambda: plugjax.grad(lambda x: (x + jnp.ones(3)).sum())(jnp.ones(2)),
    "vmap": lambda: plugjax.vmap(lambda x: x @ jnp.ones(3))(jnp.ones((2, 2))),
}


@pytest.mark.parametrize("name", ONE_CAUSE)
def test_an_error_does_not_seem_to_follow_from_one_of_ours(name):
    with pytest.raises((TypeError, ValueError)) as caught:
        ONE_CAUSE[name]()
    error = caught.value
    assert error.__context__ is None or error.__suppress_context__
