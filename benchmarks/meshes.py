"""Rows over eight devices of the processor, and for meshes without devices."""

from __future__ import annotations

from benchmarks.rows import MLP, Row, ours

JAX = (
    "os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'\n"
    "import jax as j, jax.numpy as jnp, numpy as np\nfrom jax import lax\nfrom jax.sharding import AbstractMesh, AxisType\n"
)
OURS = (
    ours("xla")
    + "from plugjax.sharding import AbstractMesh, AxisType\nj.config.update('jax_num_cpu_devices', 8)\n"
)
MESH = """
P, named = j.P, j.NamedSharding
mesh = j.make_mesh((8,), ('x',), axis_types=(AxisType.Auto,))
rows, whole = named(mesh, P('x')), named(mesh, P())
"""
TRANSFORMER = """
auto = (AxisType.Auto,) * 2
def norm(x):
    m = jnp.mean(x, -1, keepdims=True)
    return (x - m) / jnp.sqrt(jnp.mean((x - m) ** 2, -1, keepdims=True) + 1e-5)
def block(p, x):
    B, T, D = x.shape
    q, k, v = ((norm(x) @ w).reshape(B, T, 16, D // 16) for w in p[:3])
    s = jnp.einsum('bthd,bshd->bhts', q, k) / 8.0
    e = jnp.exp(s - jnp.max(s, -1, keepdims=True))
    a = jnp.einsum('bhts,bshd->bthd', e / jnp.sum(e, -1, keepdims=True), v).reshape(B, T, D)
    x = lax.with_sharding_constraint(x + a @ p[3], named(mesh, P('d')))
    return x + jnp.tanh(norm(x) @ p[4]) @ p[5]
def loss(ps, x):
    for p in ps: x = block(p, x)
    return jnp.mean(x ** 2)
def fresh():
    return lambda ps, x: j.tree.map(lambda p, g: p - 0.1 * g, ps, j.grad(loss)(ps, x))
def args(layers):
    def struct(shape, *spec): return j.ShapeDtypeStruct(shape, 'float32', sharding=named(mesh, P(*spec)))
    D = 1024
    p = [*(struct((D, D), None, 'm') for _ in range(3)), struct((D, D), 'm'), struct((D, 4 * D), None, 'm'), struct((4 * D, D), 'm')]
    return [p] * layers, struct((64, 128, D), 'd')
P, named = j.P, j.NamedSharding
"""
_ABSTRACT = "mesh = AbstractMesh({shape}, ('d', 'm'), axis_types=auto)\n"
_REAL = "mesh = j.make_mesh((4, 2), ('d', 'm'), axis_types=auto)\n"
_LOWER = "RESULT = wall(lambda: j.jit(fresh()).lower(*a).as_text(), 5)"
_SHAPES = "RESULT = wall(lambda: j.eval_shape(fresh(), *a), 5)"


def _both(name: str, target: float, code: str, unit: str = "ms", scale: float = 1e3) -> Row:
    return Row(f"8 devices: {name}", target, OURS + code, JAX + code, unit, scale)


def _growth(name: str, code: str) -> Row:
    """4,096 devices against 8, and no framework against another."""
    small, large = (
        OURS + TRANSFORMER + _ABSTRACT.format(shape=shape) + "a = args(4)\n" + code
        for shape in ("(4, 2)", "(64, 64)")
    )
    return Row(f"4,096 abstract devices, against 8: {name}", 1.1, large, small, "ms", 1e3)


_PUT = (
    MESH
    + "a = np.ones((16384, 16384), 'f'); j.block_until_ready(j.device_put(np.ones((8, 8), 'f'), {s}))\n"
)
_STEP = (
    MESH
    + MLP
    + "f = j.jit(step); p = j.device_put(params(), whole); x, y = (j.device_put(v, rows) for v in (X, Y))\n"
    "RESULT = wall(lambda: j.block_until_ready(f(p, x, y)), 300)"
)
_PEAK = "before = rss(); y = j.block_until_ready(j.device_put(a, {s}))\nRESULT = rss() - before"
_TIME = "RESULT = wall(lambda: j.block_until_ready(j.device_put(a, {s})), 4)"

ROWS: list[Row] = [
    _both("warm jit call", 1.2, MESH + "f = j.jit(lambda x: x + 1.0); x = j.device_put(np.arange(64, dtype='f'), rows); f(x)\nRESULT = per_call(lambda: f(x))", "us", 1e6),
    _both("warm jit call, waited for", 1.2, MESH + "f = j.jit(lambda x: x + 1.0); x = j.device_put(np.arange(64, dtype='f'), rows); f(x)\nRESULT = wall(lambda: f(x).block_until_ready(), 3000)", "us", 1e6),
    _both("warm jit call with a sum over all, waited for", 1.2, MESH + "f = j.jit(lambda x: x.sum()); x = j.device_put(np.arange(64, dtype='f'), rows); f(x)\nRESULT = wall(lambda: f(x).block_until_ready(), 1000)", "us", 1e6),
    _both("data-parallel MLP step, waited for", 1.2, _STEP, "us", 1e6),
    _both("device_put of 1 GB, by rows", 1.2, (_PUT + _TIME).format(s="rows")),
    _both("memory of device_put of 1 GB, by rows", 1.05, (_PUT + _PEAK).format(s="rows"), "MB", 1e-6),
    _both("trace and lower a transformer step of 8 blocks", 1.0, TRANSFORMER + _REAL + "a = args(8)\n" + _LOWER),
    _both("eval_shape of a transformer step of 8 blocks, 4,096 abstract devices", 1.0, TRANSFORMER + _ABSTRACT.format(shape="(64, 64)") + "a = args(8)\n" + _SHAPES),
    _growth("eval_shape of a transformer step", _SHAPES),
    _growth("trace and lower a transformer step", _LOWER),
]  # fmt: skip
