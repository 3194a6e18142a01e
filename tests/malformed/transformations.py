"""Calls of transformations, loops, branches, callbacks and functions of trees, and their malformations.

A transformation returns a function, and half of its errors are raised when that function is called. Each row defines
``call``, which does both: its parameters are those of the transformation and of the returned function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.malformed.samples import Sample, described

SETUP = """
v = jnp.array([1.0, 2.0, 3.0])
m = jnp.array([[0.5, 1.0, 2.0], [3.0, 4.0, 5.0]])
tree = {'a': v, 'b': (v, m)}
structure = jax.tree_util.tree_structure
T = jax.tree_util
"""

DERIVATIVE = "argnums=0, has_aux=False, holomorphic=False"
# The signature of ``call``, its body, and the valid call.
CALLS = {
    "grad": (f"fun, x, y, {DERIVATIVE}, allow_int=False", "jax.grad(fun, argnums, has_aux, holomorphic, allow_int)(x, y)",
             "lambda x, y: jnp.sum(x * y), v, v"),
    "value_and_grad": (f"fun, x, y, {DERIVATIVE}, allow_int=False",
                       "jax.value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)(x, y)", "lambda x, y: jnp.sum(x * y), v, v"),
    "jacfwd": (f"fun, x, y, {DERIVATIVE}", "jax.jacfwd(fun, argnums, has_aux, holomorphic)(x, y)", "lambda x, y: x * y, v, v"),
    "jacrev": (f"fun, x, y, {DERIVATIVE}, allow_int=False", "jax.jacrev(fun, argnums, has_aux, holomorphic, allow_int)(x, y)",
               "lambda x, y: x * y, v, v"),
    "hessian": (f"fun, x, y, {DERIVATIVE}", "jax.hessian(fun, argnums, has_aux, holomorphic)(x, y)", "lambda x, y: jnp.sum(x * y), v, v"),
    "jit": ("fun, x, y, static_argnums=None, static_argnames=None, donate_argnums=None, donate_argnames=None, keep_unused=False, inline=False, "
            "device=None, backend=None, in_shardings=None, compiler_options=None",
            "jax.jit(fun, static_argnums=static_argnums, static_argnames=static_argnames, donate_argnums=donate_argnums, "
            "donate_argnames=donate_argnames, keep_unused=keep_unused, inline=inline, device=device, backend=backend, "
            "in_shardings=in_shardings, compiler_options=compiler_options)(x, y)", "lambda x, y: x * y, v + 0, v + 0"),
    "jit lower": ("fun, x, y, static_argnums=None", "jax.jit(fun, static_argnums=static_argnums).lower(x, y).out_info", "lambda x, y: x, v, v"),
    "jit of a key": ("fun, x, b, static_argnames=None", "jax.jit(fun, static_argnames=static_argnames)(x, b=b)", "lambda x, b: x * b, v, 2"),
    "vmap": ("fun, x, y, in_axes=0, out_axes=0, axis_name=None, axis_size=None",
             "jax.vmap(fun, in_axes, out_axes, axis_name, axis_size)(x, y)", "lambda x, y: x * y, m, m"),
    "vmap of a tree": ("fun, x, in_axes=0, out_axes=0", "jax.vmap(fun, in_axes, out_axes)(x)", "lambda t: t, {'a': m, 'b': (m, m)}"),
    "linear_transpose": ("fun, x, cotangent", "jax.linear_transpose(fun, x)(cotangent)", "lambda x: 2 * x, v, v"),
    "checkpoint": ("fun, x, y, prevent_cse=True, policy=None, static_argnums=()",
                   "jax.checkpoint(fun, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums)(x, y)", "lambda x, y: x * y, v, v"),
    "make_jaxpr": ("fun, x, y, static_argnums=(), axis_env=None, return_shape=False",
                   "jax.make_jaxpr(fun, static_argnums, axis_env, return_shape)(x, y)", "lambda x, y: x * y, v, v"),
    "pure_callback": ("callback, result_shape_dtypes, x, vmap_method=None",
                      "jax.pure_callback(callback, result_shape_dtypes, x, vmap_method=vmap_method) + 0",
                      "lambda x: np.asarray(x) * 2, jax.ShapeDtypeStruct((3,), 'float32'), v"),
    "pure_callback in vmap": ("x, vmap_method=None",
                              "jax.vmap(lambda r: jax.pure_callback(lambda r: np.asarray(r) * 2, r, r, vmap_method=vmap_method))(x)",
                              "m, 'sequential'"),
    "custom_jvp": ("fun, rule, x", "_with_rule(jax.custom_jvp(fun), rule)(x)", "lambda x: x * 2, lambda p, t: (p[0] * 2, t[0] * 2), v"),
    "custom_jvp nondiff": ("fun, rule, x, nondiff_argnums=()", "_with_rule(jax.custom_jvp(fun, nondiff_argnums=nondiff_argnums), rule)(x, 2.0)",
                           "lambda x, n: x * n, lambda n, p, t: (p[0] * n, t[0] * n), v, (1,)"),
    "defjvps": ("rule, x", "_with_rules(jax.custom_jvp(lambda x: x * 2), rule)(x)", "lambda t, out, x: t * 2, v"),
    "custom_vjp": ("fun, forward, backward, x", "_with_halves(jax.custom_vjp(fun), forward, backward)(x)",
                   "lambda x: x * 2, lambda x: (x * 2, None), lambda r, g: (g * 2,), v"),
    "custom_vjp nondiff": ("fun, forward, backward, x, nondiff_argnums=()",
                           "_with_halves(jax.custom_vjp(fun, nondiff_argnums=nondiff_argnums), forward, backward)(x, 2.0)",
                           "lambda x, n: x * n, lambda x, n: (x * n, None), lambda n, r, g: (g * n,), v, (1,)"),
    "custom_gradient": ("fun, x", "jax.grad(lambda x: jnp.sum(jax.custom_gradient(fun)(x)))(x)", "lambda x: (x * 2, lambda g: (g * 2,)), v"),
    "Partial": ("f, x", "T.Partial(f, x)(2)", "lambda a, b: a + b, 1"),
}  # fmt: skip
# Functions that ``call`` only hands its parameters to, those with defaults by name: the function, the head, and the valid call.
FORWARDED = {
    "jvp": ("jax.jvp", "fun, primals, tangents, has_aux=False", "lambda x, y: x * y, (v, v), (v, v)"),
    "vjp": ("jax.vjp", "fun, x, y, has_aux=False", "lambda x, y: x * y, v, v"),
    "pullback": ("jax.vjp(lambda x, y: x * y, v, v)[1]", "cotangent", "v"),
    "pullback of a tree": ("jax.vjp(lambda x: {'a': x, 'b': (x, 2 * x)}, v)[1]", "cotangent", "{'a': v, 'b': (v, v)}"),
    "linearize": ("jax.linearize", "fun, x, y, has_aux=False", "lambda x, y: x * y, v, v"),
    "pushforward": ("jax.linearize(lambda x, y: x * y, v, v)[1]", "tangent, other", "v, v"),
    "eval_shape": ("jax.eval_shape", "fun, x, y", "lambda x, y: x * y, v, v"),
    "device_put": ("jax.device_put", "x, device=None, donate=False, may_alias=None", "v"),
    "device_get": ("jax.device_get", "x", "v"),
    "block_until_ready": ("jax.block_until_ready", "x", "v"),
    "closure_convert": ("jax.closure_convert", "fun, x", "lambda x: x * v, v"),
    "scan": ("jax.lax.scan", "f, init, xs=None, length=None, reverse=False, unroll=1", "lambda c, x: (c + x, x), 0.0, v"),
    "scan of a tree": ("jax.lax.scan", "f, init, xs", "lambda c, x: (c, x), {'a': v, 'b': (v, m)}, m"),
    "while_loop": ("jax.lax.while_loop", "cond_fun, body_fun, init", "lambda c: jnp.all(c < 9), lambda c: c * 2, v"),
    "fori_loop": ("jax.lax.fori_loop", "lower, upper, body_fun, init, unroll=None", "0, 3, lambda i, c: c * 2, v"),
    "cond": ("jax.lax.cond", "pred, true_fun, false_fun, x", "True, lambda x: x * 2, lambda x: x + 1, v"),
    "cond with a traced predicate": ("jax.lax.cond", "pred, true_fun, false_fun, x", "v[0] > 0, lambda x: x * 2, lambda x: x + 1, v"),
    "switch": ("jax.lax.switch", "index, branches, x", "1, [lambda x: x * 2, lambda x: x + 1], v"),
    "map": ("jax.lax.map", "f, xs, batch_size=None", "lambda x: x * 2, m"),
    "associative_scan": ("jax.lax.associative_scan", "fn, elems, reverse=False, axis=0", "lambda a, b: a + b, v"),
    "custom_root": ("jax.lax.custom_root", "f, initial_guess, solve, tangent_solve, has_aux=False",
                    "lambda x: x - 2.0, 1.0, lambda f, x: x - f(x), lambda g, y: y / g(1.0)"),
    "custom_linear_solve": ("jax.lax.custom_linear_solve", "matvec, b, solve, transpose_solve=None, symmetric=False, has_aux=False",
                            "lambda x: 2 * x, v, lambda f, b: b / 2"),
    "tree_flatten": ("T.tree_flatten", "tree, is_leaf=None", "tree"),
    "tree_unflatten": ("T.tree_unflatten", "treedef, leaves", "structure(tree), [1, 2, 3]"),
    "tree_leaves": ("T.tree_leaves", "tree, is_leaf=None", "tree"),
    "tree_structure": ("T.tree_structure", "tree, is_leaf=None", "tree"),
    "tree_map": ("T.tree_map", "f, tree, rest, is_leaf=None", "lambda x, y: x + y, tree, tree"),
    "tree_all": ("T.tree_all", "tree, is_leaf=None", "{'a': 1, 'b': (1, 0)}"),
    "tree_reduce": ("T.tree_reduce", "f, tree, initializer=0, is_leaf=None", "lambda a, b: a + b, {'a': 1, 'b': (1, 0)}"),
    "tree_transpose": ("T.tree_transpose", "outer_treedef, inner_treedef, tree", "structure([0, 0]), structure((0, 0)), [(1, 2), (3, 4)]"),
    "tree_broadcast": ("T.tree_broadcast", "prefix, tree", "{'a': 1, 'b': 2}, tree"),
    "tree_flatten_with_path": ("T.tree_flatten_with_path", "tree, is_leaf=None", "tree"),
    "tree_map_with_path": ("T.tree_map_with_path", "f, tree, rest, is_leaf=None", "lambda path, x, y: x + y, tree, tree"),
    "keystr": ("T.keystr", "keys", "T.tree_flatten_with_path(tree)[0][0][0]"),
    "treedef_children": ("T.treedef_children", "treedef", "structure(tree)"),
    "treedef_is_leaf": ("T.treedef_is_leaf", "treedef", "structure(tree)"),
    "treedef_tuple": ("T.treedef_tuple", "treedefs", "[structure(tree), structure(1)]"),
    "all_leaves": ("T.all_leaves", "iterable, is_leaf=None", "[1, 2]"),
    "is_tree_node": ("T.is_tree_node", "typ", "dict"),
}  # fmt: skip


def forwarded(function: str, head: str) -> str:
    """The call of a function with the parameters of a head."""
    handed = []
    for parameter in head.split(", "):
        name, has_default, _ = parameter.partition("=")
        handed.append(f"{name}={name}" if has_default else name)
    return f"{function}({', '.join(handed)})"


RULES = """
def _with_rule(fun, rule):
    fun.defjvp(rule)
    return lambda x, *rest: jax.jvp(lambda x: fun(x, *rest), (x,), (x,))
def _with_rules(fun, rule):
    fun.defjvps(rule)
    return lambda x: jax.jvp(fun, (x,), (x,))
def _with_halves(fun, forward, backward):
    fun.defvjp(forward, backward)
    return lambda x, *rest: jax.grad(lambda x: jnp.sum(fun(x, *rest)))(x)
"""

ARGNUMS = {
    "first": "0", "second": "1", "last": "-1", "below": "-3", "above": "2", "both": "(0, 1)", "turned": "(1, 0)", "twice": "(0, 0)",
    "twice negative": "(0, -2)", "list": "[0]", "list of both": "[0, 1]", "set": "{0}", "range": "range(2)", "generator": "(i for i in (0,))",
    "strings": "('x',)", "float": "0.0", "floats": "(0.0, 1)", "None inside": "(0, None)", "numpy": "np.int64(1)", "bools": "(True, False)",
    "too many": "(0, 1, 2)", "array": "np.array([0, 1])", "scalar array": "jnp.array(0)", "string": "'x'", "negative both": "(-1, -2)",
}  # fmt: skip
MAPPED = {
    "one": "1", "last": "-1", "below": "-3", "above": "2", "far": "7", "None": "None", "both": "(0, 0)", "none of both": "(None, None)",
    "one of both": "(0, None)", "too many": "(0, 0, 0)", "too few": "(0,)", "empty": "()", "list": "[0, 0]", "dict": "{'x': 0}",
    "dict inside": "({'a': 0}, 0)", "float": "0.0", "float inside": "(0.0, 0)", "string": "'x'", "string inside": "('x', 0)", "bool": "True",
    "array": "np.array([0, 0])", "scalar array": "jnp.array(0)", "different": "(0, 1)", "nested": "((0, 0), 0)", "numpy": "np.int64(0)",
    "of a tree": "({'a': 0, 'b': 1},)", "result tree": "{'a': 0, 'b': 1}", "wrong tree": "({'a': 0, 'c': 1},)", "object": "object()",
}  # fmt: skip
FUNCTIONS = {
    "identity": "(lambda *a: a)", "first": "(lambda a, *b: a)", "one argument": "(lambda a: a)", "three arguments": "(lambda a, b, c: a)",
    "integers": "(lambda *a: jnp.arange(3))", "an integer": "(lambda *a: 1)", "a float": "(lambda *a: 1.5)", "a bool": "(lambda *a: True)",
    "complex": "(lambda *a: jnp.sum(a[0]) * 1j)", "a vector": "(lambda *a: jnp.ones(3))", "a matrix": "(lambda *a: jnp.ones((2, 3)))",
    "a scalar": "(lambda *a: jnp.sum(a[-1]))", "half": "(lambda *a: jnp.ones(3, jnp.float16))", "a list": "(lambda *a: [a[0]])",
    "a dict": "(lambda *a: {'a': a[0]})", "a pair": "(lambda *a: (a[0], a[-1]))", "strings": "(lambda *a: ('a', 'b'))",
    "an object": "(lambda *a: object())", "pair of None": "(lambda *a: (None, None))", "three results": "(lambda *a: (a[0], a[0], a[0]))",
    "pair of integers": "(lambda *a: (1, 2))", "other shape": "(lambda *a: (jnp.ones(7), a[-1]))", "a type": "float", "a module": "np",
    "host": "(lambda *a: float(a[0]))", "branch": "(lambda a, *b: a if a > 0 else -a)", "numpy": "(lambda *a: np.ones(3))",
    "empty tuple": "(lambda *a: ())", "raises": "(lambda *a: [][1])", "a set": "(lambda *a: {1.0})", "double": "(lambda *a: np.ones(3) * 1.5)",
    "a key": "(lambda *a: jax.random.key(0))", "integer carry": "(lambda c, x: (1, x))", "dict carry": "(lambda c, x: ({'a': c}, x))",
    "vector carry": "(lambda c, x: (jnp.ones(3) * x, x))", "not hashable": "[lambda x: x]", "of lists": "[[1.0]]",
    "partial": "__import__('functools').partial(lambda a, *b: a, 1.0)",
}  # fmt: skip
TREES = {
    "other keys": "{'a': v, 'c': (v, m)}", "fewer": "{'a': v}", "list for tuple": "{'a': v, 'b': [v, m]}", "None inside": "{'a': None, 'b': (v, m)}",
    "more": "{'a': v, 'b': (v, m), 'c': v}", "keys of two types": "{'a': v, 1: v}", "set": "{1.0}", "a string inside": "{'a': 'x', 'b': (v, m)}",
    "an object inside": "{'a': object(), 'b': (v, m)}", "a tuple": "(v, v)", "three": "(v, v, v)", "a list": "[v, v]", "integers": "jnp.arange(3)",
    "scalar": "v[0]", "matrix": "m", "other length": "jnp.ones(7)", "half": "v.astype('float16')", "complex": "v * 1j", "strings": "('a', 'b')",
    "pair of lengths": "(v, jnp.ones(7))", "pair of types": "(v, jnp.arange(3))", "pair of None": "(v, None)", "generator": "(i for i in (1, 2))",
    "treedef": "structure(tree)", "type": "int", "functions": "[lambda x: x, lambda x: x]", "other functions": "[lambda x: x, lambda x: 1]",
    "no functions": "[]", "a struct": "jax.ShapeDtypeStruct((3,), 'float32')", "another struct": "jax.ShapeDtypeStruct((2,), 'float32')",
    "integer struct": "jax.ShapeDtypeStruct((3,), 'int32')", "structs": "[jax.ShapeDtypeStruct((3,), 'float32')] * 2", "a key": "jax.random.key(0)",
    "float0": "np.zeros((3,), jax.dtypes.float0)", "ints": "np.array([1, 2, 3])", "a word": "'expand_dims'", "a device": "jax.devices()[0]",
    "devices": "jax.devices()", "a bool": "False", "minus one": "-1", "two": "2",
}  # fmt: skip

ARGNUM_PARAMETERS = {"argnums", "static_argnums", "donate_argnums", "nondiff_argnums"}
MAPPED_PARAMETERS = {"in_axes", "out_axes"}
NAMES = {
    "a name": "'x'",
    "names": "('x', 'y')",
    "no such name": "'z'",
    "number": "1",
    "numbers": "(1,)",
    "set": "{'x'}",
    "empty": "()",
}


def replacements(parameter: str, value: Any) -> dict[str, str]:
    """Further replacements of a transformation's argument."""
    if parameter in ARGNUM_PARAMETERS:
        return ARGNUMS
    if parameter in MAPPED_PARAMETERS:
        return MAPPED
    if parameter in ("static_argnames", "donate_argnames", "axis_name"):
        return NAMES
    if callable(value):
        return FUNCTIONS
    return {} if isinstance(value, bool) else TREES


def transformations() -> Iterator[Sample]:
    """A sample of each row."""
    handed_on = {
        name: (head, forwarded(function, head), arguments)
        for name, (function, head, arguments) in FORWARDED.items()
    }
    for name, (head, body, arguments) in {**CALLS, **handed_on}.items():
        setup = f"{SETUP}{RULES}def call({head}):\n    return {body}\n"
        scope: dict[str, Any] = {"np": np}
        exec(f"import jax, jax.numpy as jnp\n{setup}", scope)
        sample = described(f"transformation {name}", setup, f"call({arguments})", scope["call"])
        sample.replacements = replacements
        yield sample
