"""How shardings are shown: what is printed is compared as bytes."""

import contextlib
import io

import numpy as np

from tests.meshes.programs.table import as_bytes, drawn, mapped, program


def printed(function):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        function()
    return as_bytes(out.getvalue())


def _pictures(name, shape, *specs, **options):
    def pictures(e):
        def show():
            for spec in specs:
                x = e.jax.device_put(drawn(shape), e.named(*spec))
                e.jax.debug.visualize_array_sharding(x, **options)

        return printed(show)

    pictures.__name__ = f"picture {name}"
    program(pictures)


SPECS = (
    (),
    ("x",),
    ("x", None),
    ("x", "y"),
    (None, "y"),
    ("y", "x"),
    (("x", "y"),),
    (None, ("y", "x")),
)
_pictures("of a matrix", (8, 16), *SPECS)
_pictures("of a tall matrix", (64, 8), *SPECS)
_pictures("of a wide matrix", (8, 64), *SPECS)
_pictures("of a vector", (8,), (), ("x",), ("y",), (("y", "x"),))
_pictures("at another scale", (8, 8), *SPECS, scale=2.5)
_pictures("of other widths", (8, 8), *SPECS, min_width=4, max_width=40, use_color=False)


@program
def picture_in_compiled_function(e):
    f = e.jax.jit(lambda x: e.jax.debug.visualize_array_sharding(x.T))
    return printed(lambda: f(e.jax.device_put(drawn((8, 8)), e.named("x"))))


def _inspected(name, f, *specs, shape=(8, 8)):
    """The shardings that the compiler chose for values in a function."""

    def inspected(e):
        seen = []

        def see(value):
            e.jax.debug.inspect_array_sharding(value, callback=seen.append)
            return value

        args = [e.jax.device_put(drawn(shape, seed=i), e.named(*s)) for i, s in enumerate(specs)]
        compiled = e.jax.jit(lambda *xs: f(e, see, *xs))
        results = compiled(*args)
        compiled(*args)
        words = sorted(f"{list(s.spec)} of {len(s.device_set)}" for s in seen)
        return results, as_bytes("\n".join(words))

    inspected.__name__ = f"inspected {name}"
    program(inspected)


_inspected("argument", lambda e, see, x: see(x), ("x", "y"))
_inspected("elementwise", lambda e, see, x: see(e.jnp.sin(x)), ("x",))
_inspected("two axes", lambda e, see, x: see(e.jnp.sin(x)), (("x", "y"),))
_inspected("whole", lambda e, see, x: see(x + 1), ())
_inspected("product", lambda e, see, x, y: see(x @ y), ("x",), (None, "y"))
_inspected("contracted", lambda e, see, x, y: see(x @ y), (None, "x"), ("x",))
_inspected("sum", lambda e, see, x: see(x.sum(0)), ("x", "y"))
_inspected("tree", lambda e, see, x: see({"a": x, "b": x.T}), ("x", "y"))
_inspected("reshaped", lambda e, see, x: see(x.reshape(4, 16)), ("x",))
_inspected("sliced", lambda e, see, x: see(x[:, 2:5]), ("x",))
_inspected(
    "constraint",
    lambda e, see, x: see(e.lax.with_sharding_constraint(x + 1, e.named(None, "y"))) * 2,
    (None, "y"),
)
_inspected("gradient", lambda e, see, x: e.jax.grad(lambda x: see(e.jnp.sin(x)).sum())(x), ("x",))
_inspected("jvp", lambda e, see, x: e.jax.jvp(lambda x: see(e.jnp.sin(x)), (x,), (x,)), ("x",))
_inspected("batched", lambda e, see, x: e.jax.vmap(lambda x: see(e.jnp.sin(x)))(x), ("x", "y"))
_inspected("relu", lambda e, see, x: see(e.jax.nn.relu(x)), ("x",))
_inspected(
    "carry",
    lambda e, see, x: e.lax.scan(lambda c, a: (see(e.jnp.sin(c)), see(a)), x, x),
    (None, "x"),
)
_inspected(
    "grown carry",
    lambda e, see, x: e.lax.scan(lambda c, a: (see(c + a), c.sum()), e.jnp.zeros(8), x),
    (None, "x"),
)
_inspected("loop", lambda e, see, x: e.lax.fori_loop(0, 3, lambda i, x: see(x + i), x), (None, "x"))
_inspected(
    "branches",
    lambda e, see, x: e.lax.cond(x.sum() > 0, lambda x: see(x), lambda x: see(x + 1), x),
    (None, "x"),
)
_inspected("call", lambda e, see, x: e.jax.jit(lambda y: see(y) + 1)(x + 1), ("x",))
_inspected(
    "of one device",
    lambda e, see, x: mapped(e, lambda x: see(x + 1), x, i=e.P("x"), o=e.P("x")),
    ("x",),
)


@program
def inspected_eagerly(e):
    seen = []
    x = e.jax.device_put(drawn(), e.named("x", "y"))
    e.jax.debug.inspect_array_sharding({"a": x, "b": x.T}, callback=seen.append)
    e.jax.vmap(lambda x: e.jax.debug.inspect_array_sharding(x, callback=seen.append))(x)
    return as_bytes("\n".join(str(list(s.spec)) for s in seen))


@program
def inspected_when_compiled(e):
    seen = []

    def f(x):
        e.jax.debug.inspect_array_sharding(x, callback=seen.append)
        return x

    lowered = e.jax.jit(f, in_shardings=e.named("y")).lower(drawn())
    before = len(seen)
    lowered.compile()
    return np.array([before, len(seen)])


@program
def mesh_of_unused_argument(e):
    x = e.jax.device_put(drawn(), e.named("x"))
    return e.np(e.jax.jit(lambda x: e.jnp.arange(3))(x))


def _kept(name, f, *specs):
    """How results are spread by operations that keep the cuts of their operands."""

    def kept(e):
        args = [e.jax.device_put(drawn((8, 8), seed=i), e.named(*s)) for i, s in enumerate(specs)]
        return e.jax.jit(lambda *xs: f(e, *xs))(*args)

    kept.__name__ = f"kept {name}"
    program(kept)


_kept("by relu", lambda e, x: e.jax.nn.relu(x), ("x",))
_kept("by checkpoint", lambda e, x: e.jax.checkpoint(e.jnp.sin)(x), ("x",))
_kept("by scan", lambda e, x: e.lax.scan(lambda c, a: (c + 1, a * 2), x, x), (None, "x"))
_kept("by fori_loop", lambda e, x: e.lax.fori_loop(0, 3, lambda i, x: x + i, x), ("x",))
_kept("by cond", lambda e, x: e.lax.cond(x.sum() > 0, e.jnp.sin, e.jnp.cos, x), ("x",))
_kept("by cumsum", lambda e, x: e.jnp.cumsum(x, 1), ("x",))
_kept("by sort", lambda e, x: e.jnp.sort(x, 1), ("x",))
_kept("by slices", lambda e, x: (x[:, 1:3], x[:, ::-1], e.jnp.pad(x, ((0, 0), (1, 1)))), ("x",))


def _looked_at(name, f, i, o, shape=(8, 4), **options):
    """What is printed in a function that is mapped outside of compiled functions, and its results."""

    def looked_at(e):
        results = []
        text = printed(
            lambda: results.append(
                mapped(e, lambda x: f(e, x), drawn(shape), i=i(e), o=o(e), **options)
            )
        )
        return text, results

    looked_at.__name__ = f"looked at {name}"
    program(looked_at)


def _print(value):
    print(value)  # noqa: T201
    return value


def _rows(e):
    return e.P("x")


def _whole(e):
    return e.P()


_looked_at("argument", lambda e, x: _print(x), _rows, _rows)
_looked_at("blocks", lambda e, x: _print(x + 1), lambda e: e.P("x", "y"), lambda e: e.P("x", "y"))
_looked_at("whole", lambda e, x: _print(x * 2), _whole, _whole)
_looked_at("sum", lambda e, x: _print(e.lax.psum(x, "x")), _rows, _whole)
_looked_at("number", lambda e, x: (_print(x.sum()), x)[1], _rows, _rows)
_looked_at("formatted", lambda e, x: (_print(f"sum {x.sum()} of {x!r}"), x)[1], _rows, _rows)
_looked_at("position", lambda e, x: (_print(e.lax.axis_index("y")), x)[1], _rows, _rows)
_looked_at("comparison", lambda e, x: (_print(x > 0), x)[1], _rows, _rows)
_looked_at("constant", lambda e, x: (_print(e.jnp.arange(3)), x)[1], _rows, _rows)
_looked_at("without types", lambda e, x: _print(x + 1), _rows, _rows, check_vma=False)
_looked_at(
    "after a loop", lambda e, x: _print(e.lax.fori_loop(0, 2, lambda i, x: x + x, x)), _rows, _rows
)
_looked_at("vector", lambda e, x: _print(x[::-1]), _rows, _rows, shape=(8,))
_looked_at(
    "branch on a sum", lambda e, x: x if e.lax.psum(x.sum(), "x") > 1e9 else -x, _rows, _rows
)
_looked_at("branch on what all have", lambda e, x: x if x.sum() > 1e9 else -x, _whole, _whole)


def _halved(e, x):
    while e.lax.psum(abs(x).sum(), "x") > 1:
        x = x / 2
    return x


_looked_at("loop on a sum", _halved, _rows, _rows)


def _shown(name, f):
    def shown(e, x):
        print("before")  # noqa: T201
        f(e, x)
        print("after")  # noqa: T201
        return x

    for specs, words in ((_rows, "rows"), (_whole, "whole")):
        for check_vma in (True, False):
            types = "" if check_vma else " without types"
            _looked_at(f"{name} of {words}{types}", shown, specs, specs, check_vma=check_vma)


_shown("debug.print", lambda e, x: e.jax.debug.print("{} {y}", x, y=x.sum()))
_shown("debug.callback", lambda e, x: e.jax.debug.callback(lambda y: print(y.sum() + 1), x * 2))  # noqa: T201


def _unknown(name, f, i=_rows, **options):
    def unknown(e):
        return mapped(e, lambda x: f(e, x), drawn(), i=i(e), o=e.P("x"), **options)

    unknown.__name__ = f"error_looked at {name}"
    program(unknown)


_unknown("branch on a part", lambda e, x: x if x.sum() > 0 else -x)
_unknown("branch on a vector", lambda e, x: x if x > 0 else -x, _whole)
_unknown("branch without types", lambda e, x: x if x.sum() > 0 else -x, _whole, check_vma=False)
_unknown("float", lambda e, x: x * float(x.sum()))
_unknown("float of what all have", lambda e, x: x * float(x.sum()), _whole)
_unknown("integer", lambda e, x: x * int(e.lax.axis_index("x")))
_unknown("index", lambda e, x: [x, x][e.lax.axis_index("y")])
_unknown("array", lambda e, x: x + np.asarray(x))
_unknown("item", lambda e, x: x * x.sum().item())
_unknown("list", lambda e, x: x * x.tolist()[0][0])
