"""Right and wrong calls of control flow, one line each, for JAX or plugjax (``j``) and its ``numpy`` (``n``)."""

import numpy as np

from tests.core.call_programs import M, X

CONTROL_FLOW = {
    "cond types": lambda j, n: j.lax.cond(True, lambda x: x, lambda x: 1, 2.0),
    "cond tree": lambda j, n: j.lax.cond(True, lambda x: (x, x), lambda x: x, 2.0),
    "cond pred shape": lambda j, n: j.lax.cond(n.array([True]), lambda x: x, lambda x: x, 2.0),
    "cond pred float": lambda j, n: j.lax.cond(2.0, lambda x: x, lambda x: -x, 2.0),
    "cond pred str": lambda j, n: j.lax.cond("a", lambda x: x, lambda x: -x, 2.0),
    "cond operand kw": lambda j, n: j.lax.cond(True, lambda x: x, lambda x: -x, operand=2.0),
    "cond notcallable": lambda j, n: j.lax.cond(True, 1, 2, 3),
    "switch clamp": lambda j, n: j.lax.switch(7, [lambda x: x, lambda x: -x], 2.0),
    "switch empty": lambda j, n: j.lax.switch(0, [], 2.0),
    "switch float": lambda j, n: j.lax.switch(0.5, [lambda x: x, lambda x: -x], 2.0),
    "switch one": lambda j, n: j.lax.switch(5, [lambda x: x], 2.0),
    "while carry type": lambda j, n: j.lax.while_loop(lambda x: x < 3, lambda x: x + 1.0, 0),
    "while cond type": lambda j, n: j.lax.while_loop(lambda x: x, lambda x: x + 1, 0),
    "while tree": lambda j, n: j.lax.while_loop(lambda x: x[0] < 3, lambda x: x[0], (0,)),
    "fori neg": lambda j, n: j.lax.fori_loop(3, 0, lambda i, x: x + 1, 0.0),
    "fori float": lambda j, n: j.lax.fori_loop(0.0, 3.0, lambda i, x: x + 1, 0.0),
    "fori unroll": lambda j, n: j.lax.fori_loop(0, 5, lambda i, x: x + i, 0, unroll=2),
    "fori unroll dyn": lambda j, n: j.jit(
        lambda m: j.lax.fori_loop(0, m, lambda i, x: x + i, 0, unroll=2)
    )(3),
    "fori grad dyn": lambda j, n: j.grad(
        lambda x: j.jit(lambda m: j.lax.fori_loop(0, m, lambda i, v: v * x, x))(3)
    )(2.0),
    "scan len": lambda j, n: j.lax.scan(lambda c, x: (c, x), 0.0, X, length=2),
    "scan nolen": lambda j, n: j.lax.scan(lambda c, x: (c, x), 0.0, None),
    "scan mismatch": lambda j, n: j.lax.scan(lambda c, x: (c, x[0]), 0.0, (X, X[:2])),
    "scan carry type": lambda j, n: j.lax.scan(lambda c, x: (c * X, x), 0.0, X),
    "scan carry dtype": lambda j, n: j.lax.scan(lambda c, x: (c + x, x), 0, X),
    "scan notpair": lambda j, n: j.lax.scan(lambda c, x: c, 0.0, X),
    "scan scalar xs": lambda j, n: j.lax.scan(lambda c, x: (c, x), 0.0, 1.0),
    "scan unroll0": lambda j, n: j.lax.scan(lambda c, x: (c + x, x), 0.0, X, unroll=0),
    "scan unroll true": lambda j, n: j.lax.scan(lambda c, x: (c + x, x), 0.0, X, unroll=True),
    "scan zero": lambda j, n: j.lax.scan(lambda c, x: (c + x, x), 0.0, X[:0]),
    "scan rev": lambda j, n: j.lax.scan(lambda c, x: (c + x, c), 0.0, X, reverse=True),
    "map batch": lambda j, n: j.lax.map(lambda x: x * 2, X, batch_size=2),
    "assoc": lambda j, n: j.lax.associative_scan(n.add, M, axis=1, reverse=True),
    "assoc notcallable": lambda j, n: j.lax.associative_scan(1, M),
    "assoc mismatch": lambda j, n: j.lax.associative_scan(lambda a, b: a, (X, X[:2])),
    "root": lambda j, n: j.grad(
        lambda a: j.lax.custom_root(
            lambda x: x**2 - a, 1.0, lambda f, x: n.sqrt(a), lambda g, y: y / g(1.0)
        )
    )(4.0),
    "linsolve": lambda j, n: j.grad(
        lambda b: j.lax.custom_linear_solve(lambda x: 3 * x, b, lambda mv, b: b / 3, symmetric=True)
    )(4.0),
    "linsolve noT": lambda j, n: j.grad(
        lambda b: j.lax.custom_linear_solve(lambda x: 3 * x, b, lambda mv, b: b / 3)
    )(4.0),
    "root badtree": lambda j, n: j.lax.custom_root(
        lambda x: (x, x), 1.0, lambda f, x: x, lambda g, y: y
    ),
    "scan raw": lambda j, n: j.lax.scan(lambda c, x: (c, x), "a", X),
    "cond raw": lambda j, n: j.lax.cond(True, lambda x: 1.0, lambda x: 2.0, "a"),
    "map raw": lambda j, n: j.lax.map(lambda x: x, "a"),
    "while int overflow": lambda j, n: j.lax.while_loop(
        lambda x: x < 5, lambda x: x + 2, np.int8(0)
    ),
    "while weak": lambda j, n: j.lax.while_loop(lambda x: x < 5, lambda x: x + n.int8(1), 0),
    "while grad fwd": lambda j, n: j.jvp(
        lambda x: j.lax.while_loop(lambda c: c < 10, lambda c: c * x, x), (2.0,), (1.0,)
    ),
    "while grad rev": lambda j, n: j.grad(
        lambda x: j.lax.while_loop(lambda c: c < 10, lambda c: c * x, x)
    )(2.0),
    "scan weak": lambda j, n: j.lax.scan(lambda c, x: (c + x, c), 0.0, X),
    "scan weak int promote": lambda j, n: j.lax.scan(
        lambda c, x: (c + x, c), 0, np.arange(3, dtype="int8")
    ),
    "cond weak": lambda j, n: j.lax.cond(True, lambda: 1.0, lambda: n.float32(2)),
    "cond weak2": lambda j, n: j.lax.cond(True, lambda: 1.0, lambda: n.float16(2)),
    "cond none": lambda j, n: j.lax.cond(True, lambda: None, lambda: None),
    "cond none bad": lambda j, n: j.lax.cond(True, lambda: None, lambda: 1.0),
    "cond npbool": lambda j, n: j.lax.cond(np.bool_(False), lambda: 1.0, lambda: 2.0),
    "cond int": lambda j, n: j.lax.cond(3, lambda: 1.0, lambda: 2.0),
    "cond arity": lambda j, n: j.lax.cond(True, lambda x: 1.0, lambda: 2.0, 3.0),
    "cond kw": lambda j, n: j.lax.cond(
        pred=True, true_fun=lambda x: x, false_fun=lambda x: -x, operand=1.0
    ),
    "switch list": lambda j, n: j.lax.switch(np.array([0]), [lambda: 1.0]),
    "switch neg": lambda j, n: j.lax.switch(-3, [lambda: 1.0, lambda: 2.0]),
    "switch bool": lambda j, n: j.lax.switch(True, [lambda: 1.0, lambda: 2.0]),
    "switch vmap": lambda j, n: j.vmap(
        lambda i: j.lax.switch(i, [lambda: 1.0, lambda: 2.0, lambda: 3.0])
    )(np.array([5, -1, 1])),
    "fori vec": lambda j, n: j.lax.fori_loop(np.array([0]), 3, lambda i, c: c, 0),
    "fori dtypes": lambda j, n: j.lax.fori_loop(np.int8(0), np.int16(3), lambda i, c: c + i, 0),
    "fori dtypes2": lambda j, n: j.lax.fori_loop(0, np.uint8(3), lambda i, c: c + i, np.uint8(0)),
    "fori type": lambda j, n: j.lax.fori_loop(0, 3, lambda i, c: c + 0.5, 0),
    "fori big": lambda j, n: j.lax.fori_loop(0, 2**33, lambda i, c: c, 0),
    "scan dict": lambda j, n: j.lax.scan(
        lambda c, x: ({"a": c["a"] + x["b"]}, c), {"a": 0.0}, {"b": X}
    ),
    "scan none xs": lambda j, n: j.lax.scan(lambda c, x: (c + 1, x), 0, None, length=3),
    "scan y none": lambda j, n: j.lax.scan(lambda c, x: (c + x, None), 0.0, X),
    "scan len float": lambda j, n: j.lax.scan(lambda c, x: (c, x), 0.0, None, length=2.0),
    "scan len neg": lambda j, n: j.lax.scan(lambda c, x: (c, x), 0.0, None, length=-1),
    "scan len tracer": lambda j, n: j.jit(
        lambda m: j.lax.scan(lambda c, x: (c, x), 0.0, None, length=m)
    )(3),
    "scan unroll neg": lambda j, n: j.lax.scan(lambda c, x: (c + x, x), 0.0, X, unroll=-1),
    "scan unroll big": lambda j, n: j.lax.scan(lambda c, x: (c + x, x), 0.0, X, unroll=10),
    "scan notcallable": lambda j, n: j.lax.scan(1, 0.0, X),
    "scan arity": lambda j, n: j.lax.scan(lambda c: (c, c), 0.0, X),
    "scan grad": lambda j, n: j.grad(
        lambda x: j.lax.scan(lambda c, a: (c * a, c), 1.0, x)[1].sum()
    )(X),
    "map multi": lambda j, n: j.lax.map(lambda t: t[0] * t[1], (X, X)),
    "map batch0": lambda j, n: j.lax.map(lambda t: t, X, batch_size=0),
    "map batch big": lambda j, n: j.lax.map(lambda t: t, X, batch_size=7),
    "assoc axis": lambda j, n: j.lax.associative_scan(n.add, M, axis=5),
    "assoc tree": lambda j, n: j.lax.associative_scan(
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (X, X)
    ),
    "assoc rev": lambda j, n: j.lax.associative_scan(
        n.matmul, np.arange(12.0, dtype="f").reshape(3, 2, 2), reverse=True
    ),
    "linsolve T": lambda j, n: j.grad(
        lambda b: j.lax.custom_linear_solve(
            lambda x: M[:, :2] @ x,
            b,
            lambda mv, b: n.linalg.solve(M[:, :2], b),
            transpose_solve=lambda vm, b: n.linalg.solve(M[:, :2].T, b),
        ).sum()
    )(np.ones(2, "f")),
    "vmap cond": lambda j, n: j.vmap(
        lambda p, x: j.lax.cond(p, lambda v: v * 2, lambda v: v - 1, x)
    )(np.array([True, False, True]), X),
    "vmap while": lambda j, n: j.vmap(
        lambda x: j.lax.while_loop(lambda c: c < 10, lambda c: c * 2, x)
    )(np.array([1.0, 20.0, 3.0], "f")),
    "gradient of a batched cond": lambda j, n: j.grad(
        lambda x: j.vmap(lambda x: j.lax.cond(x > 0, n.sqrt, lambda v: v * 0, x))(x).sum()
    )(X),
    "gradient of a batched switch": lambda j, n: j.grad(
        lambda x: j.vmap(lambda x: j.lax.switch((x > 0).astype(int), [lambda v: v * 2, n.log], x))(
            x
        ).sum()
    )(np.array([4.0, -1.0, 0.0], np.float32)),
    "gradients of a batched cond of two": lambda j, n: j.grad(
        lambda x, y: j.vmap(lambda x, y: j.lax.cond(x > 0, lambda: x / y, lambda: y))(x, y).sum(),
        (0, 1),
    )(X, 0 * X),
    "gradient of a batched cond by a shared number": lambda j, n: j.grad(
        lambda y: j.vmap(lambda x: j.lax.cond(x > 3, n.sqrt, lambda y: y * x, y))(X).sum()
    )(0.0),
    "tangent of a batched cond of rows": lambda j, n: j.jvp(
        lambda x: j.vmap(lambda x: j.lax.cond(x[0] > 0, n.sqrt, lambda v: v * 3, x))(x), (M,), (M,)
    ),
}
