"""Errors about arguments name the argument and the function with its place; trees are shown by structure, never by value."""

import functools

import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax


def function(x, settings, *rest, scale=1.0):
    return x * scale


PLACE = rf"function at {__file__}:\d+"


def loud(*shape):
    """An array whose values are seen in a message that prints them."""
    return jnp.full(shape, 7.25)


# A call, and what its message says.
NAMED = {
    "jit": (lambda: plugjax.jit(function)(1.0, {"a": "text"}), rf"{PLACE}: argument `settings\['a'\]`"),
    "jit by name": (lambda: plugjax.jit(function)(1.0, 2.0, scale="text"), rf"{PLACE}: argument `scale`"),
    "jit, variadic": (lambda: plugjax.jit(function)(1.0, 2.0, 3.0, "text"), rf"{PLACE}: argument `args\[3\]`"),
    "jit behind a static one": (
        lambda: plugjax.jit(function, static_argnums=0)(1.0, ["text"]), rf"{PLACE}: argument `settings\[0\]`",
    ),
    "jit of a partial": (
        lambda: plugjax.jit(functools.partial(function, 1.0))({"a": "text"}), r"argument `settings\['a'\]`",
    ),
    "jit, static": (lambda: plugjax.jit(function, static_argnums=1)(1.0, [1]), rf"{PLACE}.*argument `settings`"),
    "jit, static name": (
        lambda: plugjax.jit(function, static_argnames="scale")(1.0, 1, scale=[1]), rf"{PLACE}.*argument `scale`",
    ),
    "lower": (lambda: plugjax.jit(function).lower(1.0, "text"), rf"{PLACE}: argument `settings`"),
    "eval_shape": (lambda: plugjax.eval_shape(function, 1.0, ("text",)), rf"{PLACE}: argument `settings\[0\]`"),
    "make_jaxpr": (lambda: plugjax.make_jaxpr(function)("text", 1.0), rf"{PLACE}: argument `x`"),
    "compiled": (
        lambda: plugjax.jit(function, keep_unused=True).lower(1.0, {"a": 1.0}).compile()(1.0, {"a": loud(3)}),
        r"function was compiled: argument `settings\['a'\]`.*float32\[3\]",
    ),
    "grad": (lambda: plugjax.grad(function, argnums=1)(1.0, {"a": 1}), rf"argument `settings\['a'\]` of {PLACE}"),
    "grad, negative": (lambda: plugjax.grad(function, argnums=-2)(1, 1.0), rf"argument `x` of {PLACE}"),
    "vmap": (lambda: plugjax.vmap(function)(loud(3), {"a": 1.0}), r"argument `settings\['a'\]` along axis 0"),
    "vmap, sizes": (lambda: plugjax.vmap(function)(loud(3), {"a": loud(4)}), r"axis 0 of argument `settings\['a'\]`"),
    "vmap, in_axes": (
        lambda: plugjax.vmap(function, in_axes=(0, {"a": 0}))(loud(3), {"b": loud(3)}),
        rf"in_axes\[1\] .*argument `settings` of {PLACE}.*\['a'\].*\['b'\]",
    ),
    "traced": (
        lambda: plugjax.jit(lambda x, flag: 1 if flag["a"] else 2)(1.0, {"a": True}), r"the argument flag\['a'\] of",
    ),
}  # fmt: skip
SHOWN = {
    "tree.map, keys": (
        lambda: plugjax.tree.map(jnp.add, {"a": [loud(2)]}, {"a": [loud(2), loud(2)]}),
        r"different lengths in tree 2: .* at \['a'\] the former has a list of 1, the latter a list of 2",
    ),
    "tree.map, a leaf": (lambda: plugjax.tree.map(jnp.add, [loud(2)], loud(2)), "different types.*latter a leaf"),
    "tree.map, third": (
        lambda: plugjax.tree.map(max, {"a": 1}, {"a": loud(2)}, {"b": loud(2)}), r"metadata in tree 3: .*\['b'\]",
    ),
    "tree.map_with_path": (
        lambda: plugjax.tree.map_with_path(lambda *a: a, [loud(2)], [loud(2), loud(2)]), "latter a list of 2",
    ),
    "in_axes": (lambda: plugjax.vmap(function, in_axes=((0,), 0))([loud(2)], loud(2)), "former has a tuple of 1, the latter a list"),
    "out_axes": (lambda: plugjax.vmap(lambda x: {"a": x}, out_axes={"b": 0})(loud(2)), r"keys \['b'\], .*keys \['a'\]"),
    "cond": (lambda: lax.cond(True, lambda: {"a": loud(2)}, lambda: {"a": loud(3)}), r"output\['a'\].*float32\[3\]"),
    "cond predicate": (lambda: lax.cond(loud(2), lambda: 1, lambda: 2), r"float32\[2\]"),
    "scan": (lambda: lax.scan(lambda c, x: ({"a": x}, x), {"a": 1.0}, loud(3, 2)), r"carry\['a'\]: takes float32\[\]"),
    "vjp": (lambda: plugjax.vjp(jnp.sin, loud(2))[1]([loud(2)]), "latter a list of 1"),
    "jvp": (lambda: plugjax.jvp(jnp.sin, (loud(2),), (loud(3),)), r"\(2,\) and \(3,\) at argument \[0\]"),
}  # fmt: skip


@pytest.mark.parametrize("call", NAMED)
def test_the_argument_is_named(call):
    run, words = NAMED[call]
    with pytest.raises((TypeError, ValueError), match=f"(?s){words}"):
        run()


@pytest.mark.parametrize("call", SHOWN)
def test_trees_are_shown_without_values(call):
    run, words = SHOWN[call]
    with pytest.raises((TypeError, ValueError), match=f"(?s){words}") as caught:
        run()
    assert "7.25" not in str(caught.value)


def test_an_error_of_the_mapped_function_is_left_alone():
    def fails(x, y):
        raise ValueError("of the user")

    with pytest.raises(ValueError, match=r"^of the user"):
        plugjax.tree.map(fails, [1], [2])
