"""The benchmark rows. Each side is code that runs in a fresh process and prints one number.

``SETUP`` gives every side its names: ``j`` (the library), ``jnp``, ``lax``, ``np``, and ``per_call`` / ``wall``.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks import kernels

SETUP = """
import os, sys, time
os.environ.setdefault("JAX_PLATFORMS", "cpu"); os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1"); os.environ.setdefault("PLUGJAX_TIERED", "off")
START = time.perf_counter()
def per_call(f, target=0.05, repeats=7):
    f(); f()
    clock = time.thread_time
    n = 1
    while True:
        t = clock(); [f() for _ in range(n)]; d = clock() - t
        if d > target / 10: break
        n *= 4
    n = max(1, int(n * target / max(d, 1e-9)))
    best = float("inf")
    for _ in range(repeats):
        t = clock(); [f() for _ in range(n)]; best = min(best, (clock() - t) / n)
    return best
def wall(f, repeats=15):
    f(); best = float("inf")
    for _ in range(repeats):
        t = time.perf_counter(); f(); best = min(best, time.perf_counter() - t)
    return best
def rss():
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
"""
JAX = "import jax as j, jax.numpy as jnp, numpy as np\nfrom jax import lax\n"


def ours(backend: str) -> str:
    """The import of plugjax with a default backend."""
    return (
        f"os.environ['PLUGJAX_BACKEND'] = '{backend}'\n"
        "import plugjax as j, plugjax.numpy as jnp, numpy as np\nfrom plugjax import lax\n"
    )


MLP = """
def params(sizes=(64, 128, 128, 10)):
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(a, b)).astype('f') * 0.1, np.zeros(b, 'f')) for a, b in zip(sizes[:-1], sizes[1:])]
X = np.random.default_rng(1).normal(size=(32, 64)).astype('f'); Y = np.eye(10, dtype='f')[np.arange(32) % 10]
def loss(p, x, y):
    for w, b in p[:-1]: x = jnp.tanh(x @ w + b)
    w, b = p[-1]; z = x @ w + b
    z = z - jnp.max(z, axis=-1, keepdims=True)
    return -jnp.mean(jnp.sum(y * (z - jnp.log(jnp.sum(jnp.exp(z), axis=-1, keepdims=True))), axis=-1))
def step(p, x, y):
    v, g = j.value_and_grad(loss)(p, x, y)
    return [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(p, g)], v
"""
CHAIN = """
def chain(n):
    def f(x):
        for i in range(n // 4):
            x = jnp.sin(x) * 1.5 + x - 0.25
        return x
    return f
N = 1000
"""
EAGER = """
x = jnp.arange(8.0); y = x + 1.0; m = jnp.ones((8, 8)); mask = x > 3.0; a = np.arange(8, dtype='f'); s = jnp.asarray(2.5)
"""


@dataclass(frozen=True)
class Row:
    """One row.

    Attributes:
        name: what is measured.
        target: ratio to reach.
        ours: code of our side, printing nothing; the last line is an expression.
        theirs: code of the other side.
        unit: of the printed numbers.
        scale: factor from seconds or bytes to the unit.
    """

    name: str
    target: float
    ours: str
    theirs: str
    unit: str = "us"
    scale: float = 1e6
    prepare: str = ""


def _eager(name: str, expression: str, target: float = 0.30) -> Row:
    code = EAGER + f"f = lambda: {expression}\nRESULT = per_call(f)"
    return Row(f"eager {name}", target, ours("numpy") + code, JAX + code)


def _warm(backend: str, target: float) -> Row:
    code = (
        "f = j.jit(lambda x: x + 1.0)\nx = jnp.arange(8.0)\nf(x)\nRESULT = per_call(lambda: f(x))"
    )
    return Row(f"warm jit call, 1 argument: {backend}", target, ours(backend) + code, JAX + code)


# Warm calls by what the arguments are: a definition of ``f``, and the call.
_WARM_CALLS = {
    "NumPy arguments": (
        "f = j.jit(lambda x, y: x * y + 1.0); a = np.arange(8, dtype='f'); b = a + 1",
        "f(a, b)",
    ),
    "Python scalars": (
        "f = j.jit(lambda x, s, n: x * s + n); x = jnp.arange(8.0)",
        "f(x, 2.5, 3)",
    ),
    "static arguments": (
        "f = j.jit(lambda x, n: x * n + 1.0, static_argnums=1); x = jnp.arange(8.0)",
        "f(x, 3)",
    ),
    "static names": (
        "f = j.jit(lambda x, n, s: x * n + s, static_argnames=('n', 's')); x = jnp.arange(8.0)",
        "f(x, n=3, s=2)",
    ),
    "keywords": (
        "f = j.jit(lambda x, y: x * y + 1.0); x = jnp.arange(8.0)",
        "f(x, y=x)",
    ),
    "donation": (
        "f = j.jit(lambda x: x + 1.0, donate_argnums=0); box = [jnp.arange(8.0)]",
        "box.append(f(box.pop()))",
    ),
    "donation of a tree": (
        "f = j.jit(lambda p, g: {k: p[k] - g[k] for k in p}, donate_argnums=0); "
        "g = {str(i): jnp.ones(8) for i in range(10)}; box = [{k: v + 0.0 for k, v in g.items()}]",
        "box.append(f(box.pop(), g))",
    ),
}


def _warm_call(name: str) -> Row:
    define, call = _WARM_CALLS[name]
    code = f"{define}\nRESULT = per_call(lambda: {call})"
    return Row(f"warm jit call, {name}: xla", 1.2, ours("xla") + code, JAX + code)


# A text is made once per lowered program, so a program is lowered for each: a definition of ``f``, and its arguments.
_TEXTS = {
    "x + 1": "f = lambda x: x + 1.0; a = (jnp.arange(8.0),)",
    "MLP step": MLP + "f = step; a = (params(), X, Y)",
    "1000 equations": CHAIN + "f = chain(N); a = (jnp.ones(8),)",
}


def _text(name: str) -> Row:
    fresh = "j.jit(lambda *x: f(*x)).lower(*a).as_text()"
    code = f"{_TEXTS[name]}\nRESULT = per_call(lambda: {fresh}, repeats=3)"
    return Row(f"lower a new function and as_text: {name}", 1.2, ours("xla") + code, JAX + code)


_LEAVES = """
tree = {str(i): jnp.arange(8.0) + i for i in range(100)}
f = j.jit(lambda t: {k: v + 1.0 for k, v in t.items()})
f(tree)
RESULT = per_call(lambda: f(tree))
"""


_IREE_PROGRAMS: dict[str, str] = {}


def _verification(name: str, body: str) -> Row:
    """The first call minus the second, against the compilation."""
    code = (
        "os.environ['PLUGJAX_CACHE_DIR'] = 'off'; os.environ['PLUGJAX_VERIFY'] = 'first'\n"
        + ours("iree")
        + body
        + """
args = [j.device_put(a, 'iree') for a in ARGS]
low = j.jit(F).lower(*args)
def clocked(f):
    t = time.perf_counter(); j.block_until_ready(f()); return time.perf_counter() - t
t = time.perf_counter(); c = low.compile(); compilation = time.perf_counter() - t
first, second = clocked(lambda: c(*args)), clocked(lambda: c(*args))
"""
    )
    return Row(
        f"IREE verification of a first call, against the compilation: {name}",
        0.1,
        code + "RESULT = first - second",
        code + "RESULT = compilation",
        "ms",
        1e3,
    )


def _iree_against_xla(name: str, body: str) -> Row:
    _IREE_PROGRAMS[name] = body
    code = (
        body
        + "\nf = j.jit(F)\nargs = [jnp.asarray(a) for a in ARGS]\ng = lambda: j.block_until_ready(f(*args))\nRESULT = wall(g)"
    )
    return Row(
        f"IREE run against XLA: {name}",
        1.6,
        ours("iree").replace("'iree'", "'iree'")
        + "j.config.update('default_device', 'iree:task:0')\n"
        + code,
        JAX + code,
        "ms",
        1e3,
    )


def _kernel(name: str, body: str) -> Row:
    code = (
        kernels.DRAW
        + body
        + "\nf = j.jit(F)\nargs = [jnp.asarray(a) for a in ARGS]\nRESULT = wall(lambda: j.block_until_ready(f(*args)), 30)"
    )
    return Row(
        f"IREE against XLA, one core: {name}",
        1.6,
        kernels.SETUP + ours("iree") + code,
        kernels.SETUP + JAX + "import jax.scipy.special\n" + code,
        "ms",
        1e3,
    )


def _compilation(layers: str, count: int) -> Row:
    code = kernels.DRAW + f"LAYERS = {count}\n" + kernels.TRANSFORMER
    return Row(
        f"IREE compilation against XLA: training step of a transformer, {layers}",
        3.0,
        "os.environ['PLUGJAX_CACHE_DIR'] = 'off'\n" + ours("iree") + code,
        JAX + code,
        "s",
        1.0,
    )


ROWS: list[Row] = [
    Row("import, NumPy backend ready", 0.30, ours("numpy") + "jnp.ones(3)\nRESULT = time.perf_counter() - START", JAX + "jnp.ones(3)\nRESULT = time.perf_counter() - START", "ms", 1e3),
    Row("import, XLA backend ready", 0.40, ours("xla") + "j.device_put(np.ones(3), 'xla')._resident()\nRESULT = time.perf_counter() - START", JAX + "j.device_put(np.ones(3))\nRESULT = time.perf_counter() - START", "ms", 1e3),
    Row("first scalar gradient from process start", 0.40, ours("numpy") + "float(j.grad(lambda x: jnp.sin(x) * x)(1.0))\nRESULT = time.perf_counter() - START", JAX + "float(j.grad(lambda x: jnp.sin(x) * x)(1.0))\nRESULT = time.perf_counter() - START", "ms", 1e3),
    Row("first MLP training step: numpy", 0.50, ours("numpy") + MLP + "float(j.jit(step)(params(), X, Y)[1])\nRESULT = time.perf_counter() - START", JAX + MLP + "float(j.jit(step)(params(), X, Y)[1])\nRESULT = time.perf_counter() - START", "ms", 1e3),
    Row("first MLP training step: xla, cold cache", 0.80, "os.environ['PLUGJAX_CACHE_DIR'] = 'off'\n" + ours("xla") + MLP + "float(j.jit(step)(params(), X, Y)[1])\nRESULT = time.perf_counter() - START", JAX + MLP + "float(j.jit(step)(params(), X, Y)[1])\nRESULT = time.perf_counter() - START", "ms", 1e3),
    Row("first MLP training step: xla, warm cache", 0.55, ours("xla") + MLP + "float(j.jit(step)(params(), X, Y)[1])\nRESULT = time.perf_counter() - START", JAX + MLP + "float(j.jit(step)(params(), X, Y)[1])\nRESULT = time.perf_counter() - START", "ms", 1e3),
    _eager("add", "x + y"),
    _eager("sin", "jnp.sin(x)"),
    _eager("slice", "x[1:4]", 0.15),
    _eager("reshape", "x.reshape(2, 4)", 0.15),
    _eager("matmul", "m @ x"),
    _eager("where", "jnp.where(mask, x, y)"),
    _eager("sum", "jnp.sum(x)"),
    _eager("asarray", "jnp.asarray(a)", 0.15),
    _eager("item", "s.item()"),
    Row("un-jitted small gradient", 0.12, ours("numpy") + "g = j.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2 * x))\nx = jnp.arange(8.0)\nRESULT = per_call(lambda: g(x))", JAX + "g = j.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2 * x))\nx = jnp.arange(8.0)\nRESULT = per_call(lambda: g(x))"),
    _warm("numpy", 1.0),
    _warm("iree", 1.0),
    _warm("xla", 1.2),
    Row("warm jit call, 100-leaf pytree: xla", 1.2, ours("xla") + _LEAVES, JAX + _LEAVES),
    Row("warm jit call, 100-leaf pytree: numpy", 1.2, ours("numpy") + _LEAVES, JAX + _LEAVES),
    Row("trace, per equation", 0.25, ours("numpy") + CHAIN + "RESULT = per_call(lambda: j.make_jaxpr(chain(N))(1.0), repeats=3) / N", JAX + CHAIN + "RESULT = per_call(lambda: j.make_jaxpr(chain(N))(1.0), repeats=3) / N"),
    Row("grad-trace, per equation", 0.25, ours("numpy") + CHAIN + "RESULT = per_call(lambda: j.make_jaxpr(j.grad(chain(N)))(1.0), repeats=3) / N", JAX + CHAIN + "RESULT = per_call(lambda: j.make_jaxpr(j.grad(chain(N)))(1.0), repeats=3) / N"),
    Row("vmap-trace, per equation", 0.25, ours("numpy") + CHAIN + "x = jnp.arange(3.0)\nRESULT = per_call(lambda: j.make_jaxpr(j.vmap(chain(N)))(x), repeats=3) / N", JAX + CHAIN + "x = jnp.arange(3.0)\nRESULT = per_call(lambda: j.make_jaxpr(j.vmap(chain(N)))(x), repeats=3) / N"),
    Row("trace, per equation of 10,000", 0.25, ours("numpy") + CHAIN + "N = 10000\nRESULT = per_call(lambda: j.make_jaxpr(chain(N))(1.0), repeats=1) / N", JAX + CHAIN + "N = 10000\nRESULT = per_call(lambda: j.make_jaxpr(chain(N))(1.0), repeats=1) / N"),
    Row("lowering, per equation", 0.30, ours("xla") + CHAIN + "from plugjax.execution.compile import run_passes\nfrom plugjax.stablehlo.lower import lower_module\nt = j.jit(chain(N)).trace(1.0)\nRESULT = per_call(lambda: lower_module(run_passes(t.jaxpr, 'xla'), 'xla', name='f'), repeats=3) / N", JAX + CHAIN + "t = j.jit(chain(N)).trace(1.0)\nRESULT = per_call(lambda: (j.clear_caches(), t.lower()), repeats=3) / N"),
    Row("XLA compile and first run of an MLP step", 1.05, "os.environ['PLUGJAX_CACHE_DIR'] = 'off'\n" + ours("xla") + MLP + "low = j.jit(step).lower(params(), X, Y)\nt = time.perf_counter(); c = low.compile(); float(c(params(), X, Y)[1])\nRESULT = time.perf_counter() - t", JAX + MLP + "low = j.jit(step).lower(params(), X, Y)\nt = time.perf_counter(); c = low.compile(); float(c(params(), X, Y)[1])\nRESULT = time.perf_counter() - t", "ms", 1e3),
    Row("XLA run of an MLP step", 1.05, ours("xla") + MLP + "f = j.jit(step); p = j.device_put(params(), 'xla'); x, y = jnp.asarray(X), jnp.asarray(Y)\nRESULT = wall(lambda: j.block_until_ready(f(p, x, y)), 200)", JAX + MLP + "f = j.jit(step); p = j.device_put(params()); x, y = jnp.asarray(X), jnp.asarray(Y)\nRESULT = wall(lambda: j.block_until_ready(f(p, x, y)), 200)", "us", 1e6),
    _iree_against_xla("elementwise", "F = lambda x: jnp.where(x > 0, 1.05 * x, 1.67 * (jnp.exp(x) - 1))\nARGS = [np.random.default_rng(0).normal(size=1 << 20).astype('f')]"),
    _iree_against_xla("softmax", "F = lambda x: jnp.exp(x - jnp.max(x, -1, keepdims=True)) / jnp.sum(jnp.exp(x - jnp.max(x, -1, keepdims=True)), -1, keepdims=True)\nARGS = [np.random.default_rng(0).normal(size=(1024, 1024)).astype('f')]"),
    _iree_against_xla("convolution 3x3, 64 channels", "F = lambda x, k: lax.conv_general_dilated(x, k, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))\nr = np.random.default_rng(0)\nARGS = [r.normal(size=(8, 56, 56, 64)).astype('f'), r.normal(size=(3, 3, 64, 64)).astype('f')]"),
    _iree_against_xla("convolution 3x3, 64 channels first", "F = lambda x, k: lax.conv(x, k, (1, 1), 'SAME')\nr = np.random.default_rng(0)\nARGS = [r.normal(size=(8, 64, 56, 56)).astype('f'), r.normal(size=(64, 64, 3, 3)).astype('f')]"),
    Row("IREE run against XLA: MLP step", 1.6, ours("iree") + MLP + "f = j.jit(step); p = j.device_put(params(), 'iree'); x, y = jnp.asarray(X), jnp.asarray(Y)\nRESULT = wall(lambda: j.block_until_ready(f(p, x, y)), 100)", JAX + MLP + "f = j.jit(step); p = j.device_put(params()); x, y = jnp.asarray(X), jnp.asarray(Y)\nRESULT = wall(lambda: j.block_until_ready(f(p, x, y)), 100)", "us", 1e6),
    _iree_against_xla(
        "transformer block, forward and backward",
        """
rng = np.random.default_rng(0)
B, T, D, H = 4, 64, 128, 4
def w(*s): return (rng.normal(size=s) / np.sqrt(s[0])).astype('f')
P = [w(D, 3 * D), w(D, D), w(D, 4 * D), w(4 * D, D)]
def norm(x):
    m = jnp.mean(x, -1, keepdims=True)
    return (x - m) / jnp.sqrt(jnp.mean((x - m) ** 2, -1, keepdims=True) + 1e-5)
def block(p, x):
    qkv = (norm(x) @ p[0]).reshape(B, T, 3, H, D // H)
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    s = jnp.einsum('bthd,bshd->bhts', q, k) / np.float32(np.sqrt(D // H))
    e = jnp.exp(s - jnp.max(s, -1, keepdims=True))
    a = jnp.einsum('bhts,bshd->bthd', e / jnp.sum(e, -1, keepdims=True), v).reshape(B, T, D)
    x = x + a @ p[1]
    return x + jnp.tanh(norm(x) @ p[2]) @ p[3]
F = lambda a, b, c, d, x: j.grad(lambda p: jnp.sum(block(p, x) ** 2))([a, b, c, d])
ARGS = [*P, rng.normal(size=(B, T, D)).astype('f')]
""",
    ),
    Row("scan of 1000 steps under disable_jit, against a NumPy loop", 3.0, ours("numpy") + "x = jnp.arange(1000.0)\ndef run():\n    with j.disable_jit():\n        return lax.scan(lambda c, a: (c * 0.5 + a, c), 0.0, x)\nRESULT = per_call(run, repeats=3)", "import numpy as np\nx = np.arange(1000, dtype='f')\ndef run():\n    c = np.float32(0); ys = []\n    for a in x:\n        ys.append(c); c = c * np.float32(0.5) + a\n    return c, np.stack(ys)\nRESULT = per_call(run, repeats=3)", "us", 1e6),
    Row("while of 1000 steps under disable_jit, against a NumPy loop", 3.0, ours("numpy") + "def run():\n    with j.disable_jit():\n        return lax.while_loop(lambda s: s[0] < 1000, lambda s: (s[0] + 1, s[1] * 0.5 + 1.0), (0, 1.0))\nRESULT = per_call(run, repeats=3)", "import numpy as np\ndef run():\n    i, c = np.int32(0), np.float32(1)\n    while i < 1000:\n        i, c = i + np.int32(1), c * np.float32(0.5) + np.float32(1)\n    return i, c\nRESULT = per_call(run, repeats=3)", "us", 1e6),
    Row("resident memory after import: numpy ready", 0.30, ours("numpy") + "jnp.ones(3)\nRESULT = rss()", JAX + "jnp.ones(3)\nRESULT = rss()", "MB", 1e-6),
    Row("resident memory after import: xla ready", 0.80, ours("xla") + "j.device_put(np.ones(3), 'xla')._resident()\nRESULT = rss()", JAX + "j.device_put(np.ones(3))\nRESULT = rss()", "MB", 1e-6),
    Row("peak memory of a NumPy-jit MLP step, against NumPy by hand", 1.2, ours("numpy") + MLP + """
import tracemalloc
big = params((512, 1024, 1024, 10)); X = np.ones((1024, 512), 'f'); Y = np.ones((1024, 10), 'f')
f = j.jit(step); f(big, X, Y)
tracemalloc.start(); f(big, X, Y); RESULT = tracemalloc.get_traced_memory()[1]
""", """
import numpy as np, tracemalloc
rng = np.random.default_rng(0); sizes = (512, 1024, 1024, 10)
p = [(rng.normal(size=(a, b)).astype('f') * 0.1, np.zeros(b, 'f')) for a, b in zip(sizes[:-1], sizes[1:])]
X = np.ones((1024, 512), 'f'); Y = np.ones((1024, 10), 'f')
def step():
    (w1, b1), (w2, b2), (w3, b3) = p
    h1 = X @ w1; h1 += b1; np.tanh(h1, out=h1)
    h2 = h1 @ w2; h2 += b2; np.tanh(h2, out=h2)
    z = h2 @ w3; z += b3; z -= z.max(-1, keepdims=True)
    e = np.exp(z); s = e.sum(-1, keepdims=True)
    v = -np.mean(np.sum(Y * (z - np.log(s)), -1)); e /= s
    dz = (e * Y.sum(-1, keepdims=True) - Y) / np.float32(len(X))
    out = [None] * 3
    d = dz @ w3.T; out[2] = (w3 - np.float32(.1) * (h2.T @ dz), b3 - np.float32(.1) * dz.sum(0))
    d *= 1 - h2 * h2
    out[1] = (w2 - np.float32(.1) * (h1.T @ d), b2 - np.float32(.1) * d.sum(0))
    d = d @ w2.T; d *= 1 - h1 * h1
    out[0] = (w1 - np.float32(.1) * (X.T @ d), b1 - np.float32(.1) * d.sum(0))
    return out, v
step()
tracemalloc.start(); step(); RESULT = tracemalloc.get_traced_memory()[1]
""", "MB", 1e-6),
]  # fmt: skip

ROWS += [_warm_call(name) for name in _WARM_CALLS]
ROWS += [_text(name) for name in _TEXTS]
ROWS += [_verification(name, body) for name, body in _IREE_PROGRAMS.items()]
ROWS += [_compilation("one layer", 1), _compilation("two layers", 2)]
ROWS += [_kernel(name, body) for name, body in kernels.KERNELS.items()]
ROWS += [
    Row(
        "IREE: a step of while with four scalars, against 2 us",
        1.0,
        kernels.SETUP + ours("iree") + kernels.LOOP,
        "RESULT = 2e-6",
    ),
    Row(
        "IREE: sort of 1000000, against NumPy",
        2.0,
        kernels.SETUP
        + ours("iree")
        + kernels.DRAW
        + kernels.SORT
        + "f = j.jit(jnp.sort); a = jnp.asarray(x)\nRESULT = wall(lambda: j.block_until_ready(f(a)))",
        kernels.SETUP
        + "import numpy as np\n"
        + kernels.DRAW
        + kernels.SORT
        + "RESULT = wall(lambda: np.sort(x))",
        "ms",
        1e3,
    ),
]
