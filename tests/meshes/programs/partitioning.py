"""Functions that say how they are split (``custom_partitioning``), and what their ``partition`` is asked."""

import numpy as np

from tests.meshes.programs.table import as_bytes, asked, drawn, mapped, program


def split(e, function, of_device, rule, static=(), **options):
    """A function with a rule, whose devices run ``of_device(arguments' shapes, function)``; and what it was asked."""
    seen = []

    def partition(*given):
        *values, mesh, args, result = given

        def shardings(tree):
            return e.jax.tree.map(lambda s: s.sharding, tree)

        leaves = e.leaves((args, result))
        seen.append(str([(s.shape, str(s.dtype), list(s.sharding.spec)) for s in leaves] + values))
        return mesh, of_device(args, *values), shardings(result), shardings(args)

    f = e.jax.experimental.custom_partitioning.custom_partitioning(function, static_argnums=static)
    f.def_partition(partition, sharding_rule=rule, **options)
    return f, seen


def _transformed(e):
    def transformed(x):
        return e.jnp.fft.fft(x).real

    return split(
        e, transformed, lambda _: transformed, "... i -> ... i", need_replication_factors=("i",)
    )


def _product(e):
    def of_device(args):
        names = [n for n in (args[0].sharding.spec[1],) if n is not None]
        return lambda x, y: e.lax.psum(x @ y, names[0]) if names else x @ y

    return split(e, lambda x, y: x @ y, of_device, "i k, k j -> i j", reduction_factors=("k",))


def _tree(e):
    def sums(d, n):
        return {"s": d["a"].sum(1) * n, "t": d["b"] * n}

    return split(e, sums, lambda _, n: lambda d: sums(d, n), "i j, k -> i, k", static=(1,))


def _flattened(e):
    def flat(x):
        return x.reshape(-1)

    return split(e, flat, lambda _: flat, "i j -> (i j)")


CASES = {
    "transform of rows": (_transformed, lambda f: f, [((8, 4), ("x",))]),
    "transform along a cut": (_transformed, lambda f: f, [((8, 4), (None, "y"))]),
    "transform of matrices": (_transformed, lambda f: f, [((4, 2, 4), ("x", None))]),
    "product": (
        _product,
        lambda f: lambda x, y: f(x, y) * 2,
        [((8, 4), ("x",)), ((4, 8), (None, "y"))],
    ),
    "sum over devices": (_product, lambda f: f, [((8, 4), ("x", "y")), ((4, 8), ("y",))]),
    "tree": (
        _tree,
        lambda f: lambda a, b: f({"a": a, "b": b}, 3),
        [((8, 4), ("x",)), ((8,), ("x",))],
    ),
    "flattened": (_flattened, lambda f: f, [((8, 4), ("x",))]),
    "nothing cut": (_product, lambda f: f, [((8, 4), ()), ((4, 8), ())]),
}


def _run(e, case):
    make, use, args = CASES[case]
    f, seen = make(e)
    arrays = [
        e.jax.device_put(drawn(shape, seed=i), e.named(*spec))
        for i, (shape, spec) in enumerate(args)
    ]
    return e.jax.jit(use(f))(*arrays), seen


def _define(case):
    def values(e):
        return _run(e, case)[0]

    def questions(e):
        return as_bytes("\n".join(_run(e, case)[1]))

    values.__name__, questions.__name__ = f"split {case}", f"asked for {case}"
    # The devices transform the parts that they have: the compiler leaves them cut.
    (asked if case == "transform along a cut" else program)(values)
    asked(questions)


for _case in CASES:
    _define(_case)


@program
def split_outside_of_compiled_functions(e):
    f, _ = _transformed(e)
    return e.np(f(e.jax.device_put(drawn(), e.named("x"))))


@program
def split_on_one_device(e):
    f, _ = _transformed(e)
    return e.np([f(drawn()), e.jax.jit(f)(drawn())])


@program
def split_in_a_loop(e):
    f, _ = _transformed(e)
    x = e.jax.device_put(drawn(), e.named("x"))
    return e.jax.jit(lambda x: e.lax.scan(lambda c, _: (f(c) / 4, None), x, length=2)[0])(x)


@program
def split_in_shard_map(e):
    f, _ = _transformed(e)
    return mapped(e, lambda x: f(x) + 1, drawn(), i=e.P("x"), o=e.P("x"))


@asked
def split_by_a_function(e):
    def scaled(x):
        return 2 * x

    f, _ = split(e, scaled, lambda _: scaled, lambda mesh, operands, results: "i j -> i j")
    return e.jax.jit(f)(e.jax.device_put(drawn(), e.named("x")))


def _refused(name, of_device, rule, change=lambda e, s: s):
    def refused(e):
        f = e.jax.experimental.custom_partitioning.custom_partitioning(lambda x: 2 * x)

        def partition(mesh, args, result):
            return mesh, of_device, change(e, result.sharding), (args[0].sharding,)

        f.def_partition(partition, sharding_rule=rule)
        return e.jax.jit(f)(e.jax.device_put(drawn(), e.named("x", "y")))

    refused.__name__ = f"error_split {name}"
    asked(refused)


_refused("of another shape", lambda x: x[:1], "i j -> i j")
_refused("that raises", lambda x: 1 / 0, "i j -> i j")
_refused("of another rank", lambda x: 2 * x, "i j k -> i j")
_refused("with another number of results", lambda x: 2 * x, "i j -> i j, i")
_refused("by no sharding", lambda x: 2 * x, "i j -> i j", lambda e, s: s.spec)


@asked
def asked_to_gather(e):
    """Results and arguments are spread otherwise than the partitioner proposed."""
    whole = e.named()
    f = e.jax.experimental.custom_partitioning.custom_partitioning(lambda x: x.sum() + x)
    f.def_partition(
        lambda mesh, args, result: (mesh, lambda x: x.sum() + x, whole, (whole,)),
        sharding_rule="i j -> i j",
    )
    return e.jax.jit(f)(e.jax.device_put(drawn(), e.named("x", "y")))


@asked
def asked_for_the_position_of_a_device(e):
    f = e.jax.experimental.custom_partitioning.custom_partitioning(lambda x: x)
    f.def_partition(
        lambda mesh, args, result: (
            mesh,
            lambda x: x * 0 + 2 * e.lax.axis_index("x") + e.lax.axis_index("y"),
            result.sharding,
            (args[0].sharding,),
        ),
        sharding_rule="i j -> i j",
    )
    return e.jax.jit(f)(e.jax.device_put(drawn(), e.named("x", "y")))


@program
def error_batch_of_a_split(e):
    f, _ = _transformed(e)
    return e.jax.vmap(f)(np.ones((2, 8, 4), np.float32))
