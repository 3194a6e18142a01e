"""Errors that programs set and Python raises later, as in JAX."""

import jax
import jax._src.error_check
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import export
from plugjax.experimental import error_check


def first_error(j, check):
    @j.jit
    def f(x):
        check.set_error_if(x < 0, "negative")
        check.set_error_if(x > 9, "large")
        return j.numpy.sqrt(x)

    found = []
    for x in (
        np.array([1.0, 4.0]),
        np.array([1.0, -4.0]),
        np.array([10.0, 1.0]),
        np.array([-1.0, 10.0]),
    ):
        f(x)
        try:
            check.raise_if_error()
        except ValueError as error:
            found.append(str(error))
        else:
            found.append(None)
    f(np.array([10.0]))
    f(np.array([-1.0]))
    with pytest.raises(check.JaxValueError, match="large"):
        check.raise_if_error()
    check.raise_if_error()
    return found


def test_the_first_error_is_raised_as_in_jax(backend):
    expected = first_error(jax, jax._src.error_check)
    assert expected == [None, "negative", "large", "negative"]
    with plugjax.default_device(backend), error_check.error_checking_context():
        assert first_error(plugjax, error_check) == expected


def test_in_loops_and_branches_and_derivatives():
    def f(x):
        def body(i, c):
            error_check.set_error_if(c > 4, "grown")
            return c * 2

        return plugjax.lax.fori_loop(0, 3, body, x)

    for run in (f, plugjax.jit(f), plugjax.grad(f), plugjax.jit(plugjax.grad(f))):
        run(1.0)
        error_check.raise_if_error()
        run(2.0)
        with pytest.raises(error_check.JaxValueError, match="grown"):
            error_check.raise_if_error()


def test_a_note_names_the_line():
    error_check.set_error_if(jnp.array(True), "here")
    with pytest.raises(error_check.JaxValueError) as caught:
        error_check.raise_if_error()
    assert "test_error_check.py" in caught.value.__notes__[0]


def test_it_is_not_raised_in_traced_functions():
    error_check.set_error_if(jnp.array(False), "no")

    def f(x):
        error_check.set_error_if(x > 0, "yes")
        error_check.raise_if_error()

    with pytest.raises(ValueError, match="within a traced context"):
        plugjax.jit(f)(1.0)


def test_blocks_keep_errors_apart():
    error_check.set_error_if(jnp.array(True), "outer")
    with error_check.error_checking_context():
        error_check.raise_if_error()
        error_check.set_error_if(jnp.array(True), "inner")
    with pytest.raises(error_check.JaxValueError, match="outer"):
        error_check.raise_if_error()
    error_check.raise_if_error()


def test_calls_keep_one_message_for_each_place():
    def f(x):
        error_check.set_error_if(x > 2, "kept once")
        return x

    call = error_check.unwrap_from_import(error_check.wrap_for_export(f))
    call(1.0)
    count = len(error_check._storage.messages.found)
    for _ in range(3):
        call(1.0)
    assert len(error_check._storage.messages.found) == count


def test_a_code_without_a_message_is_an_error():
    damaged = np.uint32(5), np.frombuffer(b"[]", np.uint8)
    assert error_check.unwrap_from_import(lambda: (1, damaged))() == 1
    with pytest.raises(error_check.JaxValueError, match="unknown error occurred"):
        error_check.raise_if_error()


def test_exported_functions_bring_their_errors():
    def f(x):
        error_check.set_error_if(x > 2, "too large")
        return x * 2

    exported = export.export(plugjax.jit(error_check.wrap_for_export(f)))(jnp.float32(0.0))
    loaded = export.deserialize(exported.serialize())
    call = error_check.unwrap_from_import(loaded.call)
    assert call(jnp.float32(1.0)) == 2
    error_check.raise_if_error()
    assert call(jnp.float32(3.0)) == 6
    with pytest.raises(error_check.JaxValueError, match="too large"):
        error_check.raise_if_error()
