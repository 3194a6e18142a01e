"""Calls of control flow that are accepted and refused as in JAX, with the same types of errors and of results."""

import collections
import operator

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as pnp

Pair = collections.namedtuple("Pair", "x y")


def call(name):
    """A case: a call of a function of ``lax`` with given arguments; :class:`Made` ones are made first."""
    return lambda *args, **kwargs: (
        lambda j: getattr(j.lax, name)(
            *(a(j) if isinstance(a, Made) else a for a in args), **kwargs
        )
    )


class Made:
    """An argument that needs the module."""

    def __init__(self, make):
        self.make = make

    def __call__(self, j):
        return self.make(j)


def array(*shape, dtype="float32"):
    return np.ones(shape, dtype)


scan, loop, fori = call("scan"), call("while_loop"), call("fori_loop")
cond, switch, lax_map, prefix = (
    call("cond"),
    call("switch"),
    call("map"),
    call("associative_scan"),
)
xs = np.arange(3, dtype=np.float32)


def keep(c, x):
    return (c, x)


def same(x):
    return x


def plus(x):
    return x + 1


def pair(x):
    return (x, x)


def plus_x(i, x):
    return x + i


CASES = {
    "scan promotes a weak carry": scan(lambda c, x: (c * 0.5, c), 1, length=3),
    "scan promotes to the dtype of xs": scan(lambda c, x: (c + x, c), 0, xs),
    "scan keeps a weak carry weak inside": scan(lambda c, x: (c + np.float32(1), c), 0.0, length=3),
    "scan gives a weak carry": scan(lambda c, x: (1.0, c), np.float32(1), length=3),
    "scan of no function": scan(3, 0.0, xs),
    "scan without a pair": scan(lambda c, x: c, np.float32(0), xs),
    "scan with a triple": scan(lambda c, x: (c, c, c), 0.0, xs),
    "scan with a list": scan(lambda c, x: [c, x], np.float32(0), xs),
    "scan carry structure": scan(lambda c, x: ((c, c), x), 0.0, xs),
    "scan carry key missing": scan(lambda c, x: ({"a": c["a"]}, x), {"a": 1.0, "b": 2.0}, xs),
    "scan carry list for tuple": scan(lambda c, x: ({"a": [1.0]}, x), {"a": (1.0,)}, xs),
    "scan carry dtype": scan(lambda c, x: (c.astype("int32"), x), Made(lambda j: j.numpy.ones(())), xs),
    "scan carry shape": scan(lambda c, x: (array(3), x), array(2), xs),
    "scan length disagrees": scan(keep, 0.0, xs, length=4),
    "scan lengths differ": scan(keep, 0.0, (array(3), array(4))),
    "scan without length": scan(keep, 0.0, None),
    "scan over a scalar": scan(keep, 0.0, 1.0),
    "scan of a string": scan(keep, "a", xs),
    "scan giving a string": scan(lambda c, x: (c, "a"), 0.0, xs),
    "scan of nothing": scan(lambda c, x: (c + x, x), 0.0, array(0)),
    "scan unroll 0": scan(lambda c, x: (c + x, x), 0.0, xs, unroll=0),
    "scan unroll 2": scan(lambda c, x: (c + x, x), 0.0, xs, unroll=2),
    "scan unroll all": scan(lambda c, x: (c + x, x), 0.0, xs, unroll=True),
    "scan unroll negative": scan(lambda c, x: (c + x, x), 0.0, xs, unroll=-1),
    "scan split transpose": scan(lambda c, x: (c + x, x), 0.0, xs, _split_transpose=True),
    "scan of traced length": lambda j: j.jit(lambda n: j.lax.scan(keep, 0.0, None, length=n))(3),
    "while of no function": loop(3, same, 0),
    "while condition is a pair": loop(lambda x: (x < 3,), same, 0),
    "while condition is a number": loop(same, same, 0),
    "while condition is no scalar": loop(lambda x: x < array(2), same, 0),
    "while condition is a Python bool": loop(lambda x: False, same, Made(lambda j: j.numpy.ones(()))),
    "while carry structure": loop(lambda x: x < 3, pair, 0),
    "while carry shape": loop(lambda x: x[0] < 3, lambda x: (x[0] + 1, array(2)), (0, array(3))),
    "while promotes": loop(lambda x: x < 3, lambda x: x + 0.5, 0),
    "while in reverse": lambda j: j.grad(
        lambda x: j.lax.while_loop(lambda x: x < 3, lambda x: x * 2.0, x)
    )(1.0),
    "fori of other dtypes": fori(np.int32(0), np.int16(3), plus_x, 0),
    "fori of weak and other": fori(0, np.int16(3), plus_x, 0),
    "fori of signed and unsigned": fori(0, np.uint8(3), plus_x, 0),
    "fori of floats": fori(0.0, 3.0, plus_x, 0.0),
    "fori of int and float": fori(0, 3.0, plus_x, 0.0),
    "fori index is a Python int": fori(0, np.int16(3), lambda i, x: i, 0),
    "fori index of a dtype": fori(np.int16(0), np.int16(3), lambda i, x: i, np.int16(0)),
    "fori backwards": fori(5, 3, plus_x, 0.0),
    "fori unrolled": fori(0, 3, plus_x, 0.0, unroll=2),
    "fori of arrays": fori(array(2, dtype="int32"), 3, plus_x, 1.0),
    "fori structure": fori(0, 3, lambda i, y: (y, y), 1.0),
    "fori of no function": fori(0, 3, 4, 1.0),
    **{
        f"fori traced, unroll {u}": lambda j, u=u: j.jit(
            lambda n: j.lax.fori_loop(0, n, plus_x, 0.0, unroll=u)
        )(3)
        for u in (2, 1, False, None)
    },
    "fori traced in reverse": lambda j: j.jit(
        j.grad(lambda x, n: j.lax.fori_loop(0, n, lambda i, y: y * x, 1.0))
    )(2.0, 3),
    "fori known in reverse": lambda j: j.grad(
        lambda x: j.lax.fori_loop(0, 3, lambda i, y: y * x, 1.0)
    )(2.0),
    "cond of no function": cond(True, 3, same, 0),
    "cond with an operand each, true": cond(True, 3, plus, 0, same),
    "cond with an operand each, false": cond(False, 3, plus, 0.5, same),
    "cond with operand": cond(True, same, plus, operand=3),
    "cond with operand None": cond(True, lambda x: 1, lambda x: 2, operand=None),
    "cond with operands twice": cond(True, same, plus, 1, operand=3),
    "cond of None": cond(None, same, plus, 1),
    "cond of a list": cond([True], same, plus, 1),
    "cond of a string": cond("a", same, plus, 1),
    "cond of an array": cond(array(1), same, plus, 1),
    "cond of a complex": cond(1j, same, plus, 1),
    "cond of a float": cond(0.5, same, plus, 1),
    "cond structure": cond(True, same, pair, 1),
    "cond nested structure": cond(True, lambda x: {"a": (x, x)}, lambda x: {"a": [x, x]}, 1),
    "cond dtype": cond(True, same, lambda x: x * 1.0, 1),
    "cond shape": cond(True, lambda x: {"a": x}, lambda x: {"a": array(3)}, 1.0),
    "cond of weak and not": cond(True, same, lambda x: np.float32(1), 1.0),
    "cond of two weak": cond(True, same, same, 1.0),
    "cond without operands": cond(True, lambda: 1, lambda: 2),
    "cond of a namedtuple": cond(True, lambda p: Pair(p.y, p.x), same, Pair(1.0, 2.0)),
    "cond of unlike fields": cond(True, lambda p: Pair(p.y, p.x), same, Pair(1, 2.0)),
    "cond giving a string": cond(True, lambda p: "a", lambda p: "a", 1.0),
    "switch above": switch(7, [same, plus], 1),
    "switch below": switch(-7, [same, plus], 1),
    "switch of huge unsigned": switch(np.uint32(2**31 + 5), [same, plus], 1),
    "switch of one": switch(-7, [same], np.int32(1)),
    "switch of none": switch(0, [], 1),
    "switch of a float": switch(0.0, [same, plus], 1),
    "switch of a bool": switch(True, [same, plus], 1),
    "switch of an array": switch(array(1, dtype="int32"), [same, plus], 1),
    "switch of a string": switch("text", [same, plus], 1),
    "switch of no function": switch(0, [3], 1),
    "switch with operand": switch(1, [same, plus], operand=1),
    "switch structure": switch(0, [same, lambda x: (x,)], 1),
    "switch shape": switch(0, [same, lambda x: array(2)], 1),
    "switch of a tree": switch(1, [same, lambda t: {"a": t["b"], "b": t["a"]}], {"a": 1.0, "b": 2.0}),
    "map in blocks": lax_map(lambda x: x * 2, np.arange(7.0), batch_size=3),
    "map in one block": lax_map(lambda x: x * 2, np.arange(7.0), batch_size=9),
    "map in a block of all": lax_map(lambda x: x * 2, np.arange(7.0), batch_size=0),
    "map in even blocks": lax_map(lambda x: {"s": x[0] + x[1]}, (array(4, 2), xs[:1] * array(4, 2)), batch_size=2),
    "map of lengths that differ": lax_map(lambda x: x[0], (array(4), array(5))),
    "map of nothing": lax_map(same, ()),
    "map of a scalar": lax_map(same, 3.0),
    "prefixes of no function": prefix(3, xs),
    "prefixes of nothing": prefix(operator.add, ()),
    "prefixes of lengths that differ": prefix(lambda a, b: a, (array(4), array(3))),
    "prefixes along no axis": prefix(operator.add, xs, axis=1),
    "prefixes of bools": prefix(operator.and_, np.array([True, True, False, True])),
    "prefixes of an empty array": prefix(operator.add, array(0)),
    "prefixes of the wrong number": prefix(pair, xs),
}  # fmt: skip


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", CASES)
def test_accepted_and_refused_as_in_jax(name):
    try:
        expected = CASES[name](jax)
    except Exception as error:
        with pytest.raises(Exception) as found:
            CASES[name](plugjax)
        builtins = [c for c in type(error).__mro__ if c.__module__ == "builtins"]
        assert isinstance(found.value, builtins[0])
        return
    found = CASES[name](plugjax)
    a, b = plugjax.tree.leaves(found), jax.tree.leaves(expected)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y))
        if isinstance(y, jax.Array):
            assert (x.dtype.name, x.weak_type) == (y.dtype.name, y.weak_type)


WHERE = {
    "scan carry structure": ["(*, *)", "at the top", "a leaf"],
    "scan carry key missing": ["{'a': *, 'b': *}", "{'a': *}", "at the top"],
    "scan carry list for tuple": ["{'a': (*,)}", "{'a': [*]}", "at ['a']"],
    "scan carry shape": ["float32[2]", "float32[3]"],
    "while carry structure": ["(*, *)", "at the top"],
    "while carry shape": ["carry[1]", "float32[3]", "float32[2]"],
    "cond structure": ["(*, *)", "at the top"],
    "cond nested structure": ["{'a': (*, *)}", "{'a': [*, *]}", "at ['a']"],
    "cond shape": ["output['a']", "float32[]", "float32[3]"],
    "cond of unlike fields": ["output.x", "int32[]", "float32[]"],
    "switch structure": ["branch 0", "branch 1", "(*,)"],
}


@pytest.mark.parametrize("name", WHERE)
def test_messages_print_both_sides_and_the_place(name):
    with pytest.raises(TypeError) as found:
        CASES[name](plugjax)
    for words in WHERE[name]:
        assert words in str(found.value)


def test_while_in_reverse_says_what_to_do():
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work for loops"):
        CASES["while in reverse"](plugjax)


def test_branches_of_a_vmapped_predicate_run_as_python_when_it_is_known():
    with plugjax.disable_jit():

        def f(p, x):
            return plugjax.lax.cond(p, pnp.sin, pnp.cos, x)

        mapped = plugjax.vmap(f)(np.array([True, False]), np.float32([1.0, 1.0]))
        looped = plugjax.vmap(lambda x: plugjax.lax.while_loop(lambda y: y < 5, lambda y: 2 * y, x))
        np.testing.assert_allclose(mapped, np.float32([np.sin(1.0), np.cos(1.0)]), rtol=1e-6)
        np.testing.assert_allclose(looped(np.float32([1.0, 3.0])), [8.0, 6.0])
