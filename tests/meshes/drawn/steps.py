"""What the steps of a drawn program do to a matrix whose sides are 8 or 16: a matrix of the same kind."""

import numpy as np

SPECS = ([], ["x"], ["y"], ["x", "y"], [None, "x"], [["x", "y"]], ["y", "x"])
SIDES = (8, 16)


def spec_of(e, spec):
    return e.P(*(tuple(s) if isinstance(s, list) else s for s in spec))


def unary(e, x, name):
    return getattr(e.jnp, name)(x)


def combined(e, x, name, other):
    y = other if other.shape == x.shape else e.jnp.mean(other)
    return getattr(e.jnp, name)(x, y)


def centred(e, x, axis, name):
    return x - getattr(e.jnp, name)(x, axis=axis, keepdims=True)


def turned(e, x):
    return x.T


def product(e, x):
    return x @ x.T / 8


def sorted_along(e, x, axis):
    return e.jnp.sort(x, axis=axis)


def rolled(e, x, by, axis):
    return e.jnp.roll(x, by, axis=axis)


def summed_up(e, x):
    return e.lax.scan(lambda c, row: (0.5 * c + row, 0.5 * c), 0 * x[0], x)[1]


def halves(e, x):
    n = x.shape[0] // 2
    return e.jnp.concatenate([x[n:], 2 * x[:n]], 0)


def batched(e, x):
    return e.jax.vmap(lambda row: row * e.jnp.tanh(row).sum() / 8, in_axes=1, out_axes=1)(x)


def branched(e, x):
    return e.lax.cond(x[0, 0] > 0, lambda x: x * 2, lambda x: e.jnp.sin(x), x)


def constrained(e, x, spec):
    return e.lax.with_sharding_constraint(x, e.jax.NamedSharding(e.mesh, spec_of(e, spec)))


def mapped(e, x, spec, name, collective):
    size = {"x": 4, "y": 2}[name]
    uncut = next((i for i in range(2) if i >= len(spec) or spec[i] is None), None)
    ring = [(i, (i + 1) % size) for i in range(size)]

    def of_one_device(a):
        if collective == "psum":
            return e.lax.psum(a, name) / size
        if collective == "pmax":
            # JAX has no derivative of pmax.
            return e.lax.pmax(e.lax.stop_gradient(a), name) - a
        if collective == "ppermute":
            return e.lax.ppermute(a, name, ring)
        if collective == "all_gather":
            gathered = e.lax.all_gather(a, name)
            return (gathered * np.arange(1, size + 1, dtype="f4").reshape(-1, 1, 1)).mean(0)
        if collective == "axis_index":
            return a * (e.lax.axis_index(name) + 1)
        if uncut is None:
            return e.lax.pmean(a, name)
        options = {"tiled": True}
        if collective == "psum_scatter":
            part = e.lax.psum_scatter(a, name, scatter_dimension=uncut, **options) / size
            return e.lax.all_gather(part, name, axis=uncut, **options)
        return e.lax.all_to_all(a, name, uncut, uncut, **options)

    spec = spec_of(e, spec)
    options = {"mesh": e.mesh, "in_specs": spec, "out_specs": spec, "check_vma": False}
    if collective in ("pmax", "all_gather", "psum", "psum_scatter", "all_to_all"):
        # What leaves differs along each axis only as the spec says: copies are averaged.
        left = tuple(n for n in ("x", "y") if n not in str(spec))
        inner = of_one_device
        return e.jax.shard_map(lambda a: e.lax.pmean(inner(a), left) if left else inner(a), **options)(x)  # fmt: skip
    if name not in str(spec):
        return x
    return e.jax.shard_map(of_one_device, **options)(x)


STEPS = {
    f.__name__: f
    for f in (
        unary, centred, turned, product, sorted_along, rolled, summed_up, halves, batched, branched, constrained, mapped,
    )
}  # fmt: skip


def run(e, program):
    """The result of a program, its derivative, and how both are spread if the program says it."""
    rng = np.random.default_rng(program["seed"])
    value = rng.uniform(-1, 1, program["shape"]).astype("float32")
    x = e.jax.device_put(value, e.jax.NamedSharding(e.mesh, spec_of(e, program["spec"])))

    def function(x):
        held = [x]
        for name, *arguments in program["steps"]:
            if name == "combined":
                operation, place = arguments
                found = combined(e, held[-1], operation, held[place % len(held)])
            else:
                found = STEPS[name](e, held[-1], *arguments)
            held.append(e.jnp.tanh(found))
        return held[-1]

    out = e.jax.NamedSharding(e.mesh, spec_of(e, program["out"]))
    y = e.jax.jit(function, out_shardings=out)(x)
    weights = rng.uniform(-1, 1, y.shape).astype("float32")
    g = e.jax.jit(e.jax.grad(lambda x: (function(x) * weights).sum()))(x)
    indices = [[[s.start or 0, s.stop] for s in shard.index] for shard in y.addressable_shards]
    return {
        "value": np.asarray(y).tolist(),
        "gradient": np.asarray(g).tolist(),
        "dtype": str(y.dtype),
        "shards": [[[a, n if b is None else b] for (a, b), n in zip(i, y.shape, strict=True)] for i in indices],
    }  # fmt: skip
