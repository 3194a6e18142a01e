"""Values that are summands of the devices along an axis, and reduced ones, whose cotangents are such."""

import numpy as np

from tests.meshes.programs.table import PROGRAMS, as_bytes, drawn

X, W = drawn((8,)), np.arange(2, dtype="float32") + 1


def row(name, out=(), given=("x",)):
    """A program of one device: a function of the environment, a varying and a whole value; gives values and types that were noted."""

    def add(function):
        def run(e):
            types = []

            def device(x, w):
                def note(value):
                    types.append(str(e.jax.typeof(value)))
                    return value

                return function(e, note, x, w)

            mapped = e.jax.shard_map(
                device, mesh=e.mesh, in_specs=(e.P(*given), e.P()), out_specs=e.P(*out)
            )
            x = X if len(given) == 1 else drawn((4, 8))
            return e.jax.jit(mapped)(x, W), as_bytes(" ".join(types))

        PROGRAMS[f"summands {name}"] = run
        return function

    return add


def reduced(e, x, names="x"):
    return e.lax.pcast(x, names, to="reduced")


def summand(e, x):
    return e.lax.pcast(x, "x", to="unreduced")


def total(e, x):
    return e.lax.psum(x, "x")


row("reduced beside varying", out=("x",))(lambda e, n, x, w: n(x * n(reduced(e, w))))
row("reduced to varying", out=("x",))(
    lambda e, n, x, w: x + n(e.lax.pcast(reduced(e, w), "x", to="varying"))
)
row("two reduced", out=("x",))(lambda e, n, x, w: x * n(e.jnp.sin(reduced(e, w)) * reduced(e, w)))
row("reduced along two axes", out=("x",))(
    lambda e, n, x, w: e.lax.pmax(
        e.lax.pcast(x, "y", to="varying") * n(reduced(e, w, ("x", "y"))), "y"
    )
)
row("reduced with whole")(lambda e, n, x, w: reduced(e, w) * w)
row("sum of reduced")(lambda e, n, x, w: total(e, reduced(e, w)))
row("reduced result")(lambda e, n, x, w: reduced(e, w))
row("reduced twice")(lambda e, n, x, w: reduced(e, reduced(e, w)))
row("varying to reduced")(lambda e, n, x, w: reduced(e, x))
row("varying twice", out=("x",))(lambda e, n, x, w: e.lax.pcast(x, "x", to="varying"))
row("along axes of two kinds", out=("x",))(
    lambda e, n, x, w: e.lax.pcast(x, ("x", "y"), to="varying")
)
row("whole to summands")(lambda e, n, x, w: total(e, summand(e, w)))
row("summands to varying")(lambda e, n, x, w: e.lax.pcast(summand(e, x), "x", to="varying"))
row("partly reduced", out=("x",))(lambda e, n, x, w: x * reduced(e, w, ("x", "y")))
row("unknown state")(lambda e, n, x, w: e.lax.pcast(x, "x", to="whole"))
row("sum of summands")(lambda e, n, x, w: n(total(e, n(summand(e, x)))))
row("mean of summands")(lambda e, n, x, w: e.lax.pmean(summand(e, x), "x"))
row("maximum of summands")(lambda e, n, x, w: e.lax.pmax(summand(e, x), "x"))
row("two summands")(lambda e, n, x, w: total(e, n(summand(e, x) + summand(e, x * x))))
row("summands and whole")(lambda e, n, x, w: total(e, summand(e, x) + w))
row("summands and varying")(lambda e, n, x, w: total(e, summand(e, x) + x))
row("summands times reduced")(lambda e, n, x, w: total(e, n(summand(e, x) * reduced(e, w))))
row("sine of summands")(lambda e, n, x, w: total(e, e.jnp.sin(summand(e, x))))
row("summands moved")(lambda e, n, x, w: total(e, n(summand(e, x).reshape(2, 1).T.sum(0))))
row("summands scattered", out=("x",), given=(None, "x"))(
    lambda e, n, x, w: n(e.lax.psum_scatter(summand(e, x), "x", tiled=True))
)
row("summands scattered by rows", out=("x",), given=(None, "x"))(
    lambda e, n, x, w: n(e.lax.psum_scatter(summand(e, x), "x"))
)
row("gathered as reduced", out=("x",))(
    lambda e, n, x, w: x * n(e.lax.all_gather(x, "x", to="reduced")).sum()
)
row("gathered end to end", out=("x",))(
    lambda e, n, x, w: x * n(e.lax.all_gather(x, "x", to="reduced", tiled=True)).sum()
)
row("whole gathered as reduced")(lambda e, n, x, w: e.lax.all_gather(w, "x", to="reduced"))
row("in a loop", out=("x",))(
    lambda e, n, x, w: e.lax.scan(lambda c, _: (c * reduced(e, w), None), x, None, length=2)[0]
)
row("in a branch", out=("x",))(
    lambda e, n, x, w: e.lax.cond(
        e.lax.axis_index("x") > 1, lambda x, w: x * w, lambda x, w: x + w, x, reduced(e, w)
    )
)
row("cotangents that add up")(lambda e, n, x, w: total(e, n(e.lax.scan(
    lambda c, y: (c + e.jax.grad(lambda w: (y * w).sum())(reduced(e, w)), None), summand(e, e.jnp.zeros_like(x)), e.jnp.stack([x, 2 * x])
)[0])))  # fmt: skip

# Derivatives inside: by a reduced value that of one device, still to be summed.


def gradient(name, loss, jax_can=True):
    """JAX gets the sum of a varying value's derivatives where it refuses the program."""

    @row(f"derivative {name}")
    def _(e, note, x, w):
        to = "reduced" if jax_can or e.jax.__name__ != "jax" else "varying"
        found = e.jax.grad(lambda w: loss(e, x, w))(e.lax.pcast(w, "x", to=to))
        return total(e, note(found) if jax_can else found)


gradient("of a product", lambda e, x, w: (x * w).sum())
gradient("of a sine", lambda e, x, w: (x * e.jnp.sin(w)).sum())
gradient("of a mean", lambda e, x, w: (x * w).mean())
gradient("of an outer product", lambda e, x, w: (x[:, None] @ w[None, :]).sum())
gradient("of a part", lambda e, x, w: (x * w[1]).sum())
gradient("of a checkpoint", lambda e, x, w: e.jax.checkpoint(lambda w: (x * e.jnp.sin(w)).sum())(w))
gradient("of a negation", lambda e, x, w: (x * (w - w * w)).sum(), False)
gradient("of numbers", lambda e, x, w: (x * (w * 0.5 + 1) / 3).sum(), False)
gradient("of a sigmoid", lambda e, x, w: (x * e.jax.nn.sigmoid(w)).sum(), False)
gradient("of a matrix", lambda e, x, w: x.sum() * (w[:, None] @ w[None, :]).sum(), False)
gradient("of rows", lambda e, x, w: (x * w[e.jnp.array([1, 0])]).sum(), False)
gradient("of a choice", lambda e, x, w: (x * e.jnp.where(w > 1.5, w, w * w)).sum(), False)
gradient("of a norm", lambda e, x, w: (x * w / e.jnp.sqrt((w * w).sum())).sum(), False)
gradient(
    "of a loop",
    lambda e, x, w: e.lax.scan(lambda c, y: (c + y * w, None), e.jnp.zeros(2) * x, x)[0].sum(),
    False,
)
gradient(
    "of a long loop",
    lambda e, x, w: (
        e.lax.scan(lambda c, y: (e.jnp.tanh(c * w + y), c), x, e.jnp.arange(3.0))[1] ** 2
    ).sum(),
    False,
)
gradient(
    "of a branch",
    lambda e, x, w: e.lax.cond(
        x[0] > 0, lambda x, w: (x * w).sum(), lambda x, w: (x - w * w).sum(), x, w
    ),
    False,
)
gradient(
    "of a power",
    lambda e, x, w: (x * w**3).sum(),
    False,
)


def with_own_rule(e, x, w):
    f = e.jax.custom_vjp(lambda w: w * w)
    f.defvjp(lambda w: (w * w, w), lambda w, bar: (bar * w + bar * w,))
    return (x * f(w)).sum()


gradient("of a function with its own rule", with_own_rule)


@row("tangents", out=("x",))
def tangents(e, note, x, w):
    primal = reduced(e, w)
    return x * note(e.jax.jvp(lambda w: w * w, (primal,), (primal,))[1])


def outside(name, function, argument):
    """Derivatives of the whole program, to the second order."""

    def run(e):
        def loss(a):
            mapped = e.jax.shard_map(
                lambda x, w: function(e, x, w),
                mesh=e.mesh,
                in_specs=(e.P("x"), e.P()),
                out_specs=e.P(),
            )
            found = e.jax.jit(mapped)(*((a, W) if argument == 0 else (X, a)))
            return (found**2).sum()

        first = e.jax.grad(loss)
        second = e.jax.grad(lambda a: (first(a) * a * a).sum())
        at = X if argument == 0 else W
        return first(at), second(at)

    PROGRAMS[f"summands outside {name}"] = run


def freed(e, w):
    """JAX refuses to save summands, and has no second derivatives by reduced values."""
    return e.lax.pcast(w, "x", to="varying" if e.jax.__name__ == "jax" else "reduced")


def added(e, x):
    return e.lax.psum(x if e.jax.__name__ == "jax" else summand(e, x), "x")


outside("by a reduced value", lambda e, x, w: added(e, x * freed(e, w) ** 2), 1)
outside("by summands", lambda e, x, w: added(e, x * x), 0)


def factors(e, x, w):
    left = x * x / 2 if e.jax.__name__ == "jax" else summand(e, x * x / 2)
    return total(e, left * freed(e, w))


outside("by factors of summands", factors, 1)


def chosen(e, choose, x, w):
    """Each device takes a branch of its own. JAX's derivatives are right if the operand is said to vary."""
    w = e.lax.pcast(w, "x", to="varying") if e.jax.__name__ == "jax" else w
    return total(e, choose(w))


outside(
    "by the branch of a device",
    lambda e, x, w: chosen(
        e, lambda w: e.lax.cond(x[0] > 2, lambda w: x * e.jnp.sin(w), lambda w: x + w * w, w), x, w
    ),
    1,
)
outside(
    "by the same in a branch",
    lambda e, x, w: chosen(
        e, lambda w: x * e.lax.cond(x[0] > 2, e.jnp.sin, lambda w: w * w, w), x, w
    ),
    1,
)
outside(
    "by one of three branches",
    lambda e, x, w: chosen(
        e,
        lambda w: e.lax.switch(
            e.lax.axis_index("x") % 3, [lambda w: w, e.jnp.sin, lambda w: w * x], w
        ),
        x,
        w,
    ),
    1,
)
outside(
    "by the turns of a device",
    lambda e, x, w: chosen(
        e,
        lambda w: (
            w
            * e.lax.while_loop(
                lambda c: c[1] < x[0],
                lambda c: (c[0] * 1.5, c[1] + 1),
                (e.lax.stop_gradient(w), e.jnp.zeros_like(x[0])),
            )[0]
        ),
        x,
        w,
    ),
    1,
)
outside(
    "by what is gathered",
    lambda e, x, w: added(
        e,
        x.sum()
        * e.lax.all_gather(
            x, "x", to="reduced" if e.jax.__name__ != "jax" else "varying", tiled=True
        ),
    ),
    0,
)

# Where such values enter and leave: their types outside say it.


def across(name, specs, out, function, casts=(), check_vma=True):
    def run(e):
        mesh = e.jax.make_mesh((8,), ("x",), axis_types=(e.AxisType.Explicit,))
        with e.jax.set_mesh(mesh):
            x = e.jax.device_put(drawn((16,)), e.jax.NamedSharding(mesh, e.P("x")))
            w = e.jax.reshard(
                e.jnp.asarray(W), e.P(*casts[:1], **(casts[1] if casts else {})) if casts else e.P()
            )
            given = {"in_specs": specs(e)} if specs else {}
            mapped = e.jax.shard_map(
                lambda x, w: function(e, x, w), out_specs=out(e), **given,
                check_vma=check_vma,
            )  # fmt: skip
            types = []

            def whole(x, w):
                found = mapped(x, w)
                types.append(str(e.jax.typeof(found)))
                return e.jax.reshard(found, e.P())

            return e.jax.jit(whole)(x, w), as_bytes(" ".join(types))

    PROGRAMS[f"summands across {name}"] = run


_REDUCED = (None, {"reduced": {"x"}})
across(
    "in as reduced",
    lambda e: (e.P("x"), e.P(reduced={"x"})),
    lambda e: e.P("x"),
    lambda e, x, w: x * w,
    _REDUCED,
)
across("in as the type says", None, lambda e: e.P("x"), lambda e, x, w: x * w, _REDUCED)
across(
    "in without a word",
    lambda e: (e.P("x"), e.P()),
    lambda e: e.P("x"),
    lambda e, x, w: x * w,
    _REDUCED,
)
across(
    "in with a word too many",
    lambda e: (e.P("x"), e.P(reduced={"x"})),
    lambda e: e.P("x"),
    lambda e, x, w: x * w,
)
across(
    "out as reduced",
    lambda e: (e.P("x"), e.P()),
    lambda e: e.P(reduced={"x"}),
    lambda e, x, w: reduced(e, w),
)
across(
    "out as summands",
    lambda e: (e.P("x"), e.P()),
    lambda e: e.P(unreduced={"x"}),
    lambda e, x, w: summand(e, x),
)
across(
    "out as summands by the spec",
    lambda e: (e.P("x"), e.P()),
    lambda e: e.P(unreduced={"x"}),
    lambda e, x, w: x * w,
)
across(
    "out as summands unasked",
    lambda e: (e.P("x"), e.P()),
    lambda e: e.P(),
    lambda e, x, w: summand(e, x),
)


across(
    "in and out without types",
    lambda e: (e.P("x"), e.P(reduced={"x"})),
    lambda e: e.P(unreduced={"x"}),
    lambda e, x, w: x * w,
    _REDUCED,
    check_vma=False,
)
across(
    "summands without types",
    lambda e: (e.P("x"), e.P()),
    lambda e: e.P(unreduced={"x"}),
    lambda e, x, w: x + w,
    check_vma=False,
)


def _through(e):
    """Summands leave one program, and enter another."""
    mesh = e.jax.make_mesh((8,), ("x",), axis_types=(e.AxisType.Explicit,))
    with e.jax.set_mesh(mesh):
        x = e.jax.device_put(drawn((16,)), e.jax.NamedSharding(mesh, e.P("x")))
        one = e.jax.shard_map(
            lambda x: summand(e, x), in_specs=e.P("x"), out_specs=e.P(unreduced={"x"})
        )
        two = e.jax.shard_map(
            lambda u: total(e, u + u), in_specs=e.P(unreduced={"x"}), out_specs=e.P()
        )

        def loss(w):
            held = e.jax.reshard(w, e.P(reduced={"x"}))
            mapped = e.jax.shard_map(
                lambda x, w: total(e, (x * w).sum()),
                in_specs=(e.P("x"), e.P(reduced={"x"})),
                out_specs=e.P(),
            )
            return mapped(x, held)

        return e.jax.jit(lambda x: two(one(x)))(x), e.jax.jit(e.jax.grad(loss))(e.jnp.asarray(W))


PROGRAMS["summands across two programs"] = _through
PROGRAMS["error_summands of an automatic axis"] = lambda e: e.jax.shard_map(
    lambda x: x, mesh=e.mesh, in_specs=e.P("x"), out_specs=e.P(unreduced={"x"})
)(X)


def _some_axes(e):
    mesh = e.jax.make_mesh((4, 2), ("x", "y"), axis_types=(e.AxisType.Explicit,) * 2)
    with e.jax.set_mesh(mesh):
        x = e.jax.device_put(X, e.jax.NamedSharding(mesh, e.P("x")))
        return e.jax.shard_map(
            lambda x: x, in_specs=e.P("x"), out_specs=e.P(unreduced={"x"}), axis_names={"x"}
        )(x)


PROGRAMS["error_summands along some axes"] = _some_axes

# New values are of the type of those that they are like, as carries need it.
row("zeros like varying", out=("x",))(
    lambda e, n, x, w: (
        e.lax.fori_loop(0, 3, lambda i, c: c + x, n(e.jnp.zeros_like(x)))
        + n(e.jnp.full_like(x, 2.0, shape=(2,)))
        + n(e.lax.full_like(w, 1.0))
    )
)
row("derivative of a sum")(
    lambda e, n, x, w: total(
        e,
        n(e.jax.grad(lambda x: x.sum())(x))
        + n(e.jax.jvp(e.jnp.sin, (x,), (e.jnp.zeros_like(x),))[1]),
    )
)
row("derivative of nothing")(lambda e, n, x, w: total(e, n(e.jax.grad(lambda x: w.sum())(x))))


# Loops and branches of summands.
row("turns of summands")(
    lambda e, n, x, w: total(
        e,
        n(
            e.lax.while_loop(
                lambda c: c[1] < x[0],
                lambda c: (c[0] + c[0], c[1] + 2),
                (summand(e, x), e.jnp.zeros_like(x[0])),
            )[0]
        ),
    )
)
row("branches of summands")(
    lambda e, n, x, w: total(
        e, n(e.lax.cond(x[0] > 2, lambda: summand(e, x), lambda: summand(e, x * x)))
    )
)
row("a summand in one branch")(
    lambda e, n, x, w: total(e, e.lax.cond(x[0] > 2, lambda: summand(e, x), lambda: w))
)


def _given(e):
    """A cotangent counts by its own type. JAX asks for that of the result's, so it computes the derivatives by hand."""

    def device(x, w):
        if e.jax.__name__ == "jax":
            return 2 * w, 2 * w, total(e, x), total(e, x), 4 * total(e, x)
        whole = e.jnp.ones_like(w)
        same = [whole, reduced(e, whole)]
        square = e.jax.vjp(lambda v: v * v, reduced(e, w))[1]
        product = e.jax.vjp(lambda v: total(e, summand(e, x) * v), reduced(e, w))[1]
        varying = e.lax.pcast(whole, "x", to="varying")
        found = [*(square(bar) for bar in same), *(product(bar) for bar in (*same, varying))]
        return tuple(total(e, bar) for (bar,) in found)

    mapped = e.jax.shard_map(device, mesh=e.mesh, in_specs=(e.P("x"), e.P()), out_specs=e.P())
    return e.jax.jit(mapped)(X, W)


PROGRAMS["summands given cotangents"] = _given


def _mesh_given(e):
    """The type of a result where no mesh is in force."""
    mesh = e.jax.make_mesh((8,), ("x",), axis_types=(e.AxisType.Explicit,))
    x = e.jax.device_put(drawn((16,)), e.jax.NamedSharding(mesh, e.P("x")))
    mapped = e.jax.shard_map(
        lambda x: summand(e, x), mesh=mesh, in_specs=e.P("x"), out_specs=e.P(unreduced={"x"})
    )
    types = []

    def whole(x):
        found = mapped(x)
        types.append(str(e.jax.typeof(found)))
        return e.jax.reshard(found, e.jax.NamedSharding(mesh, e.P()))

    return e.jax.jit(whole)(x), as_bytes(types[0])


PROGRAMS["summands across without a mesh in force"] = _mesh_given
