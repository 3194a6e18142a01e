"""Right and wrong calls of transformations, one line each, for JAX or plugjax (``j``) and its ``numpy`` (``n``)."""

import functools
import operator

import numpy as np

X = np.array([0.5, -1.0, 2.0], np.float32)
M = np.arange(6.0, dtype=np.float32).reshape(2, 3)


def with_vjp(j, fwd, bwd, **options):
    f = j.custom_vjp(lambda x, y: x * y, **options)
    f.defvjp(fwd, bwd)
    return f


def with_jvp(j, rule, **options):
    f = j.custom_jvp(lambda x, y: x * y, **options)
    f.defjvp(rule)
    return f


def static_second(j):
    return j.jit(lambda x, k: x * k if isinstance(k, int) else 0 * x, static_argnums=1)


TRANSFORMATIONS = {
    "grad negative argnum": lambda j, n: j.grad(lambda x, y: x * y**2, argnums=-1)(2.0, 3.0),
    "grad oob": lambda j, n: j.grad(lambda x: x, argnums=2)(2.0),
    "grad nonscalar": lambda j, n: j.grad(lambda x: x)(X),
    "grad int": lambda j, n: j.grad(lambda x: x)(2),
    "grad int out": lambda j, n: j.grad(lambda x: 1)(2.0),
    "grad none out": lambda j, n: j.grad(lambda x: None)(2.0),
    "grad tuple out": lambda j, n: j.grad(lambda x: (x, x))(2.0),
    "grad complex": lambda j, n: j.grad(lambda x: x * x)(2j),
    "grad complex out": lambda j, n: j.grad(lambda x: x * 1j)(2.0),
    "grad holo": lambda j, n: j.grad(lambda x: x * x, holomorphic=True)(2j),
    "grad holo real": lambda j, n: j.grad(lambda x: x * x, holomorphic=True)(2.0),
    "allow int": lambda j, n: j.grad(lambda x, y: x * y, argnums=(0, 1), allow_int=True)(2, 3.0),
    "aux not pair": lambda j, n: j.grad(lambda x: x, has_aux=True)(2.0),
    "grad kwargs": lambda j, n: j.grad(lambda x, *, k: x * k)(2.0, k=3.0),
    "grad str": lambda j, n: j.grad(lambda x: x)("a"),
    "grad dict": lambda j, n: j.grad(lambda d: d["a"] * d["b"][0])({"a": 2.0, "b": [3.0]}),
    "jacfwd dict": lambda j, n: j.jacfwd(lambda d: {"o": d["a"] * X})({"a": 2.0}),
    "jacrev tuple": lambda j, n: j.jacrev(lambda x, y: (x * y, y), argnums=(0, 1))(X, X),
    "hessian tree": lambda j, n: j.hessian(lambda d: (d["a"] ** 2 * d["b"]).sum())(
        {"a": X, "b": X}
    ),
    "jvp len": lambda j, n: j.jvp(lambda x, y: x, (1.0, 2.0), (1.0,)),
    "jvp dtype": lambda j, n: j.jvp(lambda x: x, (1.0,), (1,)),
    "jvp shape": lambda j, n: j.jvp(lambda x: x, (X,), (X[:2],)),
    "jvp notuple": lambda j, n: j.jvp(lambda x: x, 1.0, 1.0),
    "jvp tree": lambda j, n: j.jvp(lambda x: x, ([1.0],), ((1.0,),)),
    "jvp int": lambda j, n: j.jvp(lambda x: x * 2, (1,), (np.zeros((), j.dtypes.float0),)),
    "jvp int bad": lambda j, n: j.jvp(lambda x: x * 2, (1,), (1,)),
    "jvp aux": lambda j, n: j.jvp(lambda x: (x, x * 2), (1.0,), (1.0,), has_aux=True),
    "vjp badct": lambda j, n: j.vjp(lambda x: x * X, 3.0)[1](X[:2]),
    "vjp badtree": lambda j, n: j.vjp(lambda x: (x, x), 3.0)[1](1.0),
    "vjp ctdtype": lambda j, n: j.vjp(lambda x: x * x, 3.0)[1](np.float16(1)),
    "vjp ctint": lambda j, n: j.vjp(lambda x: x * x, 3.0)[1](1),
    "vjp ctcomplex": lambda j, n: j.vjp(lambda x: x * x, 3.0)[1](1j),
    "linearize aux": lambda j, n: (lambda r: (r[0], r[1](1.0), r[2]))(
        j.linearize(lambda x: (x * x, x), 3.0, has_aux=True)
    ),
    "linearize bad": lambda j, n: j.linearize(lambda x: x * x, 3.0)[1](X),
    "linearize two": lambda j, n: j.linearize(lambda x, y: x * y, 3.0, 4.0)[1](1.0, 2.0),
    "lin transpose": lambda j, n: j.linear_transpose(lambda x: x * 3.0, 2.0)(1.0),
    "lin transpose nl": lambda j, n: j.linear_transpose(lambda x: n.sin(x), 2.0)(1.0),
    "lin transpose struct": lambda j, n: j.linear_transpose(
        lambda x: x @ M.T, j.ShapeDtypeStruct((3,), "float32")
    )(X[:2]),
    "lin transpose ctbad": lambda j, n: j.linear_transpose(
        lambda x: x @ M.T, j.ShapeDtypeStruct((3,), "float32")
    )(X),
    "vmap mismatch": lambda j, n: j.vmap(lambda x, y: x + y)(X, X[:2]),
    "vmap scalar": lambda j, n: j.vmap(lambda x: x)(1.0),
    "vmap oob": lambda j, n: j.vmap(lambda x: x, in_axes=1)(X),
    "vmap allnone": lambda j, n: j.vmap(lambda x: x, in_axes=None)(X),
    "vmap allnone size": lambda j, n: j.vmap(lambda x: x, in_axes=None, axis_size=2)(X),
    "vmap outnone": lambda j, n: j.vmap(lambda x: x, out_axes=None)(X),
    "vmap outoob": lambda j, n: j.vmap(lambda x: x, out_axes=2)(X),
    "vmap outneg": lambda j, n: j.vmap(lambda x: x, out_axes=-1)(M),
    "vmap list axes": lambda j, n: j.vmap(lambda x, y: x, in_axes=[0, None])(X, 1.0),
    "vmap dict axes": lambda j, n: j.vmap(
        lambda d: d["a"] + d["b"], in_axes=({"a": 0, "b": None},)
    )({"a": X, "b": 1.0}),
    "vmap prefix bad": lambda j, n: j.vmap(lambda x: x, in_axes=((0, 0),))((X,)),
    "vmap len axes": lambda j, n: j.vmap(lambda x: x, in_axes=(0, 0))(X),
    "vmap kwargs": lambda j, n: j.vmap(lambda x, *, k: x + k)(X, k=X),
    "vmap str axis": lambda j, n: j.vmap(lambda x: x, in_axes="a")(X),
    "vmap axisname": lambda j, n: j.vmap(lambda x: j.lax.psum(x, "i"), axis_name="i")(X),
    "psum unbound": lambda j, n: j.lax.psum(1.0, "i"),
    "vmap axis size mismatch": lambda j, n: j.vmap(lambda x: x, axis_size=5)(X),
    "psum const": lambda j, n: j.vmap(lambda x: j.lax.psum(1, "i"), axis_name="i")(X),
    "all gather tiled": lambda j, n: j.vmap(
        lambda x: j.lax.all_gather(x, "i", tiled=True), axis_name="i"
    )(M),
    "a2a": lambda j, n: j.vmap(lambda x: j.lax.all_to_all(x, "i", 0, 0), axis_name="i")(
        np.arange(9.0, dtype="f").reshape(3, 3)
    ),
    "a2a bad": lambda j, n: j.vmap(lambda x: j.lax.all_to_all(x, "i", 0, 0), axis_name="i")(M),
    "psum scatter": lambda j, n: j.vmap(lambda x: j.lax.psum_scatter(x, "i"), axis_name="i")(
        np.ones((3, 3), "f")
    ),
    "pmean grad": lambda j, n: j.grad(
        lambda x: j.vmap(lambda v: j.lax.pmean(v**2, "i"), axis_name="i")(x).sum()
    )(X),
    "pswapaxes": lambda j, n: j.vmap(lambda x: j.lax.pswapaxes(x, "i", 0), axis_name="i")(
        np.arange(9.0, dtype="f").reshape(3, 3)
    ),
    "pshuffle": lambda j, n: j.vmap(lambda x: j.lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(X),
    "axis index 2": lambda j, n: j.vmap(
        j.vmap(lambda x: j.lax.axis_index(("a", "b")), axis_name="b"), axis_name="a"
    )(M),
    "axis size": lambda j, n: j.vmap(lambda x: x * j.lax.axis_size("i"), axis_name="i")(X),
    "jit unhashable": lambda j, n: j.jit(lambda x, y: x, static_argnums=1)(1.0, [1]),
    "jit static oob": lambda j, n: j.jit(lambda x: x, static_argnums=3)(1.0),
    "jit static names bad": lambda j, n: j.jit(lambda x: x, static_argnames="z")(1.0),
    "jit donate static": lambda j, n: j.jit(lambda x: x, static_argnums=0, donate_argnums=0)(1.0),
    "jit str": lambda j, n: j.jit(lambda x: x)("a"),
    "jit ret str": lambda j, n: j.jit(lambda x: "a")(1.0),
    "jit none": lambda j, n: j.jit(lambda x: None)(1.0),
    "jit int": lambda j, n: j.jit(lambda x: int(x))(1.0),
    "jit range": lambda j, n: j.jit(lambda x: list(range(x)))(1),
    "jit np": lambda j, n: j.jit(lambda x: np.asarray(x))(1.0),
    "jit index": lambda j, n: j.jit(lambda x: [1, 2][x])(1),
    "jit mask": lambda j, n: j.jit(lambda x: x[x > 0])(X),
    "jit shape": lambda j, n: j.jit(lambda x: n.zeros(x))(3),
    "jit arange": lambda j, n: j.jit(lambda x: n.arange(x))(3),
    "jit hash": lambda j, n: j.jit(lambda x: hash(x))(3),
    "jit dict key": lambda j, n: j.jit(lambda x: {1: 2}[x])(1),
    "jit format": lambda j, n: j.jit(lambda x: len(f"{x}") * 0 + x)(1),
    "jit float fmt": lambda j, n: j.jit(lambda x: float(x))(1),
    "jit complex": lambda j, n: j.jit(lambda x: complex(x))(1),
    "jit tolist": lambda j, n: j.jit(lambda x: x.tolist())(X),
    "jit item": lambda j, n: j.jit(lambda x: x.item())(1.0),
    "jit iter0": lambda j, n: j.jit(lambda x: list(x))(1.0),
    "jit len0": lambda j, n: j.jit(lambda x: len(x))(1.0),
    "jit setitem": lambda j, n: j.jit(lambda x: x.__setitem__(0, 1.0))(X),
    "setitem": lambda j, n: n.asarray(X).__setitem__(0, 1.0),
    "jit iadd": lambda j, n: j.jit(lambda x: operator.iadd(x, 1))(X),
    "leak": lambda j, n: (lambda s: (j.jit(lambda x: s.append(x))(1.0), s[0] + 1))([]),
    "leak vmap": lambda j, n: (lambda s: (j.vmap(lambda x: (s.append(x), x)[1])(X), s[0] + 1))([]),
    "leak grad": lambda j, n: (lambda s: (j.grad(lambda x: (s.append(x), x)[1])(1.0), n.sin(s[0])))(
        []
    ),
    "eval shape": lambda j, n: str(j.eval_shape(lambda x, y: {"a": x @ y}, M, M.T)),
    "eval shape kw": lambda j, n: str(j.eval_shape(lambda x, *, k: (x, k), M, k=1)),
    "make jaxpr": lambda j, n: str(j.make_jaxpr(lambda x: x * 2 + 1)(1.0)),
    "make jaxpr static": lambda j, n: str(
        j.make_jaxpr(lambda x, k: x * k, static_argnums=1)(1.0, 3)
    ),
    "make jaxpr shape": lambda j, n: str(j.make_jaxpr(lambda x: x * 2, return_shape=True)(1.0)[1]),
    "make jaxpr env": lambda j, n: str(
        j.make_jaxpr(lambda x: j.lax.psum(x, "i"), axis_env=[("i", 4)])(1.0)
    ),
    "custom jvp norule": lambda j, n: j.grad(j.custom_jvp(lambda x: x * x))(2.0),
    "custom vjp norule": lambda j, n: j.grad(j.custom_vjp(lambda x: x * x))(2.0),
    "custom vjp call norule": lambda j, n: j.custom_vjp(lambda x: x * x)(2.0),
    "cvjp wrong count": lambda j, n: j.grad(
        with_vjp(j, lambda x, y: (x * y, None), lambda r, g: (g,))
    )(2.0, 3.0),
    "cvjp none ct": lambda j, n: j.grad(
        with_vjp(j, lambda x, y: (x * y, None), lambda r, g: (g, None)), argnums=(0, 1)
    )(2.0, 3.0),
    "cvjp bad shape": lambda j, n: j.grad(
        with_vjp(j, lambda x, y: (x * y, None), lambda r, g: (X, g))
    )(2.0, 3.0),
    "cvjp nontuple": lambda j, n: j.grad(with_vjp(j, lambda x, y: (x * y, None), lambda r, g: g))(
        2.0, 3.0
    ),
    "cvjp fwd nopair": lambda j, n: j.grad(with_vjp(j, lambda x, y: x * y, lambda r, g: (g, g)))(
        2.0, 3.0
    ),
    "cvjp fwd outtree": lambda j, n: j.grad(
        with_vjp(j, lambda x, y: ((x, y), None), lambda r, g: (g, g))
    )(2.0, 3.0),
    "cvjp fwd dtype": lambda j, n: j.grad(with_vjp(j, lambda x, y: (1, None), lambda r, g: (g, g)))(
        2.0, 3.0
    ),
    "cvjp nondiff": lambda j, n: j.grad(
        with_vjp(j, lambda x, y: (x * y, None), lambda y, r, g: (g * y,), nondiff_argnums=(1,))
    )(2.0, 3.0),
    "cvjp nondiff tracer": lambda j, n: j.jit(
        lambda y: j.grad(
            with_vjp(j, lambda x, y: (x * y, None), lambda y, r, g: (g,), nondiff_argnums=(1,))
        )(2.0, y)
    )(3.0),
    "cvjp jvp": lambda j, n: j.jvp(
        with_vjp(j, lambda x, y: (x * y, None), lambda r, g: (g, g)), (1.0, 2.0), (1.0, 1.0)
    ),
    "cvjp kw": lambda j, n: j.grad(
        with_vjp(j, lambda x, y: (x * y, (x, y)), lambda r, g: (g * r[1], g * r[0]))
    )(2.0, y=3.0),
    "cvjp argcount": lambda j, n: with_vjp(j, lambda x, y: (x * y, None), lambda r, g: (g, g))(2.0),
    "cjvp shape": lambda j, n: j.grad(with_jvp(j, lambda p, t: (p[0] * p[1], X)))(2.0, 3.0),
    "cjvp dtype": lambda j, n: j.grad(with_jvp(j, lambda p, t: (p[0] * p[1], 1)))(2.0, 3.0),
    "cjvp notpair": lambda j, n: j.grad(with_jvp(j, lambda p, t: p[0] * p[1]))(2.0, 3.0),
    "cjvp tree": lambda j, n: j.grad(with_jvp(j, lambda p, t: ((p[0],), (t[0],))))(2.0, 3.0),
    "cjvp primal dtype": lambda j, n: j.grad(with_jvp(j, lambda p, t: (1, t[0])))(2.0, 3.0),
    "cjvp nondiff": lambda j, n: j.grad(
        with_jvp(j, lambda y, p, t: (p[0] * y, t[0] * y), nondiff_argnums=(1,))
    )(2.0, 3.0),
    "cjvp nonlinear": lambda j, n: j.grad(with_jvp(j, lambda p, t: (p[0] * p[1], t[0] ** 2)))(
        2.0, 3.0
    ),
    "cjvp kw": lambda j, n: j.grad(with_jvp(j, lambda p, t: (p[0] * p[1], t[0])))(2.0, y=3.0),
    "checkpoint static": lambda j, n: j.grad(
        j.checkpoint(lambda x, k: n.sin(x) ** k, static_argnums=1)
    )(2.0, 3),
    "checkpoint bool": lambda j, n: j.grad(j.checkpoint(lambda x: x if x > 0 else -x))(2.0),
    "policy": lambda j, n: j.grad(
        j.checkpoint(lambda x: n.sin(n.sin(x)), policy=j.checkpoint_policies.everything_saveable)
    )(2.0),
    "pure cb": lambda j, n: j.pure_callback(
        lambda x: x * 2, j.ShapeDtypeStruct((3,), "float32"), X
    ),
    "pure cb shape": lambda j, n: j.pure_callback(
        lambda x: x[:2], j.ShapeDtypeStruct((3,), "float32"), X
    ),
    "pure cb dtype": lambda j, n: j.pure_callback(
        lambda x: x.astype("f8"), j.ShapeDtypeStruct((3,), "float32"), X
    ),
    "pure cb tree": lambda j, n: j.pure_callback(
        lambda x: (x, x), j.ShapeDtypeStruct((3,), "float32"), X
    ),
    "pure cb grad": lambda j, n: j.grad(
        lambda x: j.pure_callback(lambda x: x.sum(), j.ShapeDtypeStruct((), "float32"), x)
    )(X),
    "pure cb vmap none": lambda j, n: j.vmap(
        lambda x: j.pure_callback(lambda x: x, j.ShapeDtypeStruct((), "float32"), x)
    )(X),
    "pure cb vmap badmethod": lambda j, n: j.vmap(
        lambda x: j.pure_callback(
            lambda x: x, j.ShapeDtypeStruct((), "float32"), x, vmap_method="foo"
        )
    )(X),
    "pure cb expand": lambda j, n: j.vmap(
        lambda x, y: j.pure_callback(
            lambda x, y: x + y, j.ShapeDtypeStruct((), "float32"), x, y, vmap_method="expand_dims"
        ),
        in_axes=(0, None),
    )(X, 1.0),
    "compiled wrong": lambda j, n: j.jit(lambda x: x).lower(X).compile()(M),
    "compiled wrong dtype": lambda j, n: j.jit(lambda x: x).lower(X).compile()(np.arange(3)),
    "compiled tree": lambda j, n: j.jit(lambda x: x).lower(X).compile()((X,)),
    "compiled kw": lambda j, n: j.jit(lambda x, k: x * k).lower(X, k=2.0).compile()(X, k=3.0),
    "compiled missing": lambda j, n: j.jit(lambda x, k: x * k).lower(X, k=2.0).compile()(X),
    "compiled static": lambda j, n: (
        j.jit(lambda x, k: x * k, static_argnums=1).lower(X, 2).compile()(X)
    ),
    "compiled grad": lambda j, n: j.grad(lambda x: j.jit(lambda x: x.sum()).lower(X).compile()(x))(
        X
    ),
    "closure convert": lambda j, n: (lambda r: (len(r[1]), r[0](1.0, *r[1])))(
        j.closure_convert(lambda x: x * 2.0, 1.0)
    ),
    "stop gradient": lambda j, n: j.grad(lambda x: j.lax.stop_gradient(x) * x)(3.0),
    "custom gradient": lambda j, n: j.grad(j.custom_gradient(lambda x: (x**2, lambda g: (g * 5,))))(
        2.0
    ),
    "named call": lambda j, n: j.named_call(lambda x: x + 1, name="a")(1.0),
    "donated": lambda j, n: (
        lambda a: (j.jit(lambda x: x + 1, donate_argnums=0)(a), a.is_deleted(), a + 1)
    )(n.asarray(X)),
    "deleted": lambda j, n: (lambda a: (a.delete(), a + 1))(n.asarray(X)),
    "debug print kw": lambda j, n: j.debug.print("{a}", b=1),
    "debug print notstr": lambda j, n: j.debug.print(1),
    "jit varargs static": lambda j, n: j.jit(lambda *a: a[0] * a[1], static_argnums=(1,))(2.0, 3),
    "jit inner static": lambda j, n: j.vmap(
        j.jit(lambda x, k: x * k, static_argnums=1), in_axes=(0, None)
    )(X, 2),
    "jit static tracer": lambda j, n: j.jit(
        lambda y: j.jit(lambda x, k: x * k, static_argnums=1)(2.0, y)
    )(3),
    "axis shadow": lambda j, n: j.vmap(
        j.vmap(lambda x: j.lax.psum(x, "i"), axis_name="i"), axis_name="i"
    )(M),
    "custom vmap norule": lambda j, n: j.vmap(j.custom_batching.custom_vmap(lambda x: x * 2))(X),
    "vmap raw int": lambda j, n: j.vmap(lambda x, k: x * len([0] * k), in_axes=(0, None))(X, 2),
    "vmap raw str": lambda j, n: j.vmap(lambda x, k: x * len(k), in_axes=(0, None))(X, "abc"),
    "vmap raw obj": lambda j, n: j.vmap(lambda x, k: x * k(2), in_axes=(0, None))(X, lambda v: v),
    "vmap raw kwstr": lambda j, n: j.vmap(lambda x, k: x * len(k), in_axes=(0,))(X, k="abc"),
    "vmap raw out": lambda j, n: j.vmap(lambda x, k: k, in_axes=(0, None))(X, 2),
    "vmap raw outnone": lambda j, n: j.vmap(lambda x, k: k, in_axes=(0, None), out_axes=None)(X, 2),
    "vmap out str": lambda j, n: j.vmap(lambda x: "a")(X),
    "vmap out none": lambda j, n: j.vmap(lambda x: None)(X),
    "grad raw": lambda j, n: j.grad(lambda x, k: static_second(j)(x, k))(2.0, 3),
    "grad raw str": lambda j, n: j.grad(lambda x, k: x * len(k))(2.0, "abc"),
    "grad raw kw": lambda j, n: j.grad(lambda x, k: static_second(j)(x, k))(2.0, k=3),
    "jacfwd raw": lambda j, n: j.jacfwd(lambda x, k: static_second(j)(x, k))(X, 3),
    "jacrev raw": lambda j, n: j.jacrev(lambda x, k: static_second(j)(x, k))(X, 3),
    "hess raw": lambda j, n: j.hessian(lambda x, k: static_second(j)(x**2, k).sum())(X, 3),
    "vg raw": lambda j, n: j.value_and_grad(lambda x, k: static_second(j)(x, k))(2.0, 3),
    "ckpt raw": lambda j, n: j.checkpoint(lambda x, k: static_second(j)(x, k))(2.0, 3),
    "ckpt str": lambda j, n: j.checkpoint(lambda x, k: x * len(k))(2.0, "abc"),
    "cjvp raw": lambda j, n: j.custom_jvp(lambda x, k: static_second(j)(x, k))(2.0, 3),
    "jvp raw": lambda j, n: j.jvp(lambda x: x, ("a",), (1.0,)),
    "eval shape str": lambda j, n: j.eval_shape(lambda x: 1, "a"),
    "eval shape obj": lambda j, n: str(
        j.eval_shape(lambda x: x, j.ShapeDtypeStruct((2,), "int32"))
    ),
    "make jaxpr str": lambda j, n: j.make_jaxpr(lambda x: 1)("a"),
    "jit list arg": lambda j, n: j.jit(lambda x: x[0] + x[1])([1.0, 2.0]),
    "jit np scalar": lambda j, n: j.jit(lambda x: x)(np.float64(1)),
    "jit bigint": lambda j, n: j.jit(lambda x: x)(2**40),
    "jit object": lambda j, n: j.jit(lambda x: x)(object()),
    "jit npobj": lambda j, n: j.jit(lambda x: x)(np.array([object()])),
    "jit npstr": lambda j, n: j.jit(lambda x: x)(np.array(["a"])),
    "jit dt64": lambda j, n: j.jit(lambda x: x)(np.array(["2020"], "M8[Y]")),
    "remat none policy": lambda j, n: j.grad(
        j.remat(lambda x: n.sin(x), policy=None, prevent_cse=False)
    )(1.0),
    "ckpt static oob": lambda j, n: j.checkpoint(lambda x: x, static_argnums=(3,))(1.0),
    "ckpt static unhash": lambda j, n: j.checkpoint(lambda x, k: x * k[0], static_argnums=(1,))(
        1.0, [2]
    ),
    "cc hoist": lambda j, n: (lambda r: len(r[1]))(j.closure_convert(lambda x: x * X, X)),
    "custom vmap rule": lambda j, n: (
        lambda f: (f.def_vmap(lambda s, b, x: (x * 10, b[0])), j.vmap(f)(X))[1]
    )(j.custom_batching.custom_vmap(lambda x: x * 2)),
    "custom vmap badflag": lambda j, n: (
        lambda f: (f.def_vmap(lambda s, b, x: (x * 10, (True, True))), j.vmap(f)(X))[1]
    )(j.custom_batching.custom_vmap(lambda x: x * 2)),
    "sequential vmap": lambda j, n: j.vmap(j.custom_batching.sequential_vmap(lambda x: x * 2))(X),
    "cg bad": lambda j, n: j.grad(j.custom_gradient(lambda x: x**2))(2.0),
    "cg two": lambda j, n: j.grad(
        j.custom_gradient(lambda x, y: (x * y, lambda g: (g, g * 2))), argnums=(0, 1)
    )(2.0, 3.0),
    "defjvps": lambda j, n: (
        lambda f: (f.defjvps(lambda t, o, x, y: t * 10, None), j.grad(f, argnums=(0, 1))(2.0, 3.0))[
            1
        ]
    )(j.custom_jvp(lambda x, y: x * y)),
    "defjvps nondiff": lambda j, n: (lambda f: f.defjvps(None))(
        j.custom_jvp(lambda x, y: x * y, nondiff_argnums=(1,))
    ),
    "cvjp symzeros": lambda j, n: (
        lambda f: (
            f.defvjp(
                lambda x, y: (x.value * y.value, (x.perturbed, y.perturbed)),
                lambda r, g: (g * float(r[0]), g * float(r[1])),
                symbolic_zeros=True,
            ),
            j.grad(f)(2.0, 3.0),
        )[1]
    )(j.custom_vjp(lambda x, y: x * y)),
    "cvjp optremat": lambda j, n: (
        lambda f: (
            f.defvjp(
                lambda x, y: (x * y, (x, y)), lambda r, g: (g * r[1], g * r[0]), optimize_remat=True
            ),
            j.grad(f)(2.0, 3.0),
        )[1]
    )(j.custom_vjp(lambda x, y: x * y)),
    "nested grad": lambda j, n: j.grad(j.grad(j.grad(lambda x: x**4)))(2.0),
    "fwdrev": lambda j, n: j.jacfwd(j.jacrev(lambda x: (x**3).sum()))(X),
    "grad where nan": lambda j, n: j.grad(lambda x: n.where(x > 0, n.log(x), 0.0).sum())(X),
    "grad abs0": lambda j, n: j.grad(lambda x: n.abs(x))(0.0),
    "grad max tie": lambda j, n: j.grad(lambda x, y: n.maximum(x, y), argnums=(0, 1))(1.0, 1.0),
    "grad pow0": lambda j, n: j.grad(lambda x, y: x**y, argnums=(0, 1))(0.0, 2.0),
    "grad int pow": lambda j, n: j.grad(lambda x: x**0)(0.0),
    "vmap rng": lambda j, n: j.vmap(lambda k: j.random.normal(k, (2,)))(
        j.random.split(j.random.key(0), 3)
    ),
    "vmap neg in": lambda j, n: j.vmap(lambda x: x.sum(), in_axes=-1)(M),
    "vmap tuple of list": lambda j, n: j.vmap(lambda t: t[0] + t[1], in_axes=([0, None],))(
        [X, 1.0]
    ),
    "vmap out dict": lambda j, n: j.vmap(lambda x: {"a": x, "b": x * 2}, out_axes={"a": 0, "b": 0})(
        X
    ),
    "vmap out mismatch": lambda j, n: j.vmap(lambda x: (x, x), out_axes=(0,))(X),
    "vmap bool axis": lambda j, n: j.vmap(lambda x: x, in_axes=True)(M),
    "vmap noargs": lambda j, n: j.vmap(lambda: 1.0)(),
    "vmap noargs size": lambda j, n: j.vmap(lambda: 1.0, axis_size=3)(),
    "vmap empty": lambda j, n: j.vmap(lambda x: x * 2)(X[:0]),
    "psum axes": lambda j, n: j.vmap(
        j.vmap(lambda x: j.lax.psum(x, ("a", "b")), axis_name="b"), axis_name="a"
    )(M),
    "psum int axis": lambda j, n: j.vmap(lambda x: j.lax.psum(x, (0, "a")), axis_name="a")(M),
    "psum groups": lambda j, n: j.vmap(
        lambda x: j.lax.psum(x, "a", axis_index_groups=[[0, 1], [2]]), axis_name="a"
    )(X),
    "psum tree": lambda j, n: j.vmap(lambda x: j.lax.psum({"a": x, "b": 1}, "a"), axis_name="a")(X),
    "pbroadcast": lambda j, n: j.vmap(lambda x: j.lax.pbroadcast(x, "a", 1), axis_name="a")(X),
    "pargmax": lambda j, n: j.vmap(lambda x: j.lax.all_gather(x, "a", axis=1), axis_name="a")(M),
    "pdot": lambda j, n: j.vmap(lambda x: n.einsum("i,i->", x, j.lax.psum(x, "a")), axis_name="a")(
        M
    ),
    "lower sds": lambda j, n: str(
        j.jit(lambda x: x + 1).lower(j.ShapeDtypeStruct((3,), "float32")).out_info
    ),
    "trace jaxpr": lambda j, n: str(j.jit(lambda x: x + 1).trace(1.0).jaxpr),
    "donate names": lambda j, n: (
        lambda a: (j.jit(lambda x: x + 1, donate_argnames="x")(x=a), a.is_deleted())
    )(n.asarray(X) + 0),
    "donate oob": lambda j, n: j.jit(lambda x: x + 1, donate_argnums=4)(1.0),
    "jit inline": lambda j, n: str(
        j.make_jaxpr(lambda x: j.jit(lambda x: x + 1, inline=True)(x))(1.0)
    ),
    "jit keep unused": lambda j, n: len(
        j.jit(lambda x, y: x, keep_unused=True).lower(1.0, 2.0).compile().in_avals[0]
    ),
    "jit bad kw": lambda j, n: j.jit(lambda x: x, foo=1),
    "jit notcallable": lambda j, n: j.jit(1),
    "grad notcallable": lambda j, n: j.grad(1),
    "vmap notcallable": lambda j, n: j.vmap(1),
    "vmap of class": lambda j, n: j.vmap(functools.partial(lambda a, b: a * b, 2.0))(X),
    "jit partial": lambda j, n: j.jit(functools.partial(lambda a, b: a * b, b=2.0))(X),
    "jit decorator factory": lambda j, n: j.jit(static_argnames="k")(lambda x, k: x * k)(2.0, k=3),
    "device put": lambda j, n: j.device_put({"a": 1.0, "b": X}),
    "device get": lambda j, n: j.device_get({"a": 1.0, "b": n.asarray(X)}),
    "typeof": lambda j, n: str(j.typeof(X)),
}
