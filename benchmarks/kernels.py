"""Programs whose time on IREE is compared with XLA's, on one core: a function ``F`` and its arguments ``ARGS``.

``n`` draws normal float32 numbers of a shape.
"""

from __future__ import annotations

SETUP = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
DRAW = "r = np.random.default_rng(0)\nn = lambda *s: r.normal(size=s).astype('f')\n"

_LAYER_NORM = """
def F(x, g, b):
    d = x - x.mean(-1, keepdims=True)
    return d * lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * g + b
ARGS = [n(2048, 512), n(512), n(512)]
"""
_RNN = """
def rnn(w, u, x, h):
    def step(h, a):
        h = jnp.tanh(a @ w + h @ u)
        return h, h
    return lax.scan(step, h, x)[1]
ARGS = [n(64, 128) / 8, n(128, 128) / 11, n(200, 32, 64), n(32, 128)]
"""
_CONVOLVE = "convolve = lambda x, k, s=1: lax.conv_general_dilated(x, k, (s, s), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))\n"
_GRADIENT = "F = lambda x, k: j.grad(lambda x, k: jnp.sum(convolve(x, k) ** 2), (0, 1))(x, k)\n"

KERNELS = {
    "matmul 512": "F = lambda a, b: a @ b\nARGS = [n(512, 512), n(512, 512)]",
    "matmul 2048": "F = lambda a, b: a @ b\nARGS = [n(2048, 2048), n(2048, 2048)]",
    "matrix by vector": "F = lambda a, b: a @ b\nARGS = [n(2048, 2048), n(2048)]",
    "vector by matrix": "F = lambda a, b: b @ a\nARGS = [n(2048, 2048), n(2048)]",
    "batched matmul": "F = lambda a, b: a @ b\nARGS = [n(32, 128, 128), n(32, 128, 128)]",
    "RNN of 200 steps": _RNN + "F = rnn",
    "RNN of 200 steps, gradient": _RNN
    + "F = lambda w, u, x, h: j.grad(lambda w, u: jnp.sum(rnn(w, u, x, h) ** 2), (0, 1))(w, u)",
    "solve 128": "F = jnp.linalg.solve\nARGS = [n(128, 128) + 128 * np.eye(128, dtype='f'), n(128)]",
    "cholesky 128": "F = jnp.linalg.cholesky\na = n(128, 128)\nARGS = [a @ a.T + 128 * np.eye(128, dtype='f')]",
    "logsumexp": "F = lambda x: j.scipy.special.logsumexp(x, -1)\nARGS = [n(1024, 1024)]",
    "layer norm": _LAYER_NORM,
    "scatter-add": "F = lambda x, i, u: x.at[i].add(u)\nARGS = [n(10000, 32), r.integers(0, 10000, 5000).astype('i'), n(5000, 32)]",
    "gather": "F = lambda x, i: x[i]\nARGS = [n(10000, 64), r.integers(0, 10000, 20000).astype('i')]",
    "sum of rows": "F = lambda x: x.sum(0)\nARGS = [n(2048, 1024)]",
    "cumulative sum": "F = lambda x: jnp.cumsum(x, 1)\nARGS = [n(256, 4096)]",
    "normal numbers": "F = lambda k: j.random.normal(j.random.wrap_key_data(k), (1 << 18,))\nARGS = [np.array([1, 2], np.uint32)]",
    "convolution 8x28x28x64": _CONVOLVE
    + "F = convolve\nARGS = [n(8, 28, 28, 64), n(3, 3, 64, 64)]",
    "convolution 8x56x56x64": _CONVOLVE
    + "F = convolve\nARGS = [n(8, 56, 56, 64), n(3, 3, 64, 64)]",
    "convolution 8x14x14x128": _CONVOLVE
    + "F = convolve\nARGS = [n(8, 14, 14, 128), n(3, 3, 128, 128)]",
    "convolution 8x7x7x256": _CONVOLVE
    + "F = convolve\nARGS = [n(8, 7, 7, 256), n(3, 3, 256, 256)]",
    "convolution 8x14x14x128, gradient": _CONVOLVE
    + _GRADIENT
    + "ARGS = [n(8, 14, 14, 128), n(3, 3, 128, 128)]",
    "convolution 4x112x112x3, 7x7": _CONVOLVE
    + "F = lambda x, k: convolve(x, k, 2)\nARGS = [n(4, 112, 112, 3), n(7, 7, 3, 64)]",
}

# Steps of a loop, whose time is compared with a bound in microseconds.
LOOP = """
F = j.jit(lambda x: lax.while_loop(lambda s: s[0] < 100000, lambda s: (s[0] + 1, s[1] * 0.999 + s[2], s[2] * 0.5 + 0.1, s[3] + s[1]), (0, x, x * 2, x * 3)))
x = jnp.asarray(np.float32(1))
RESULT = wall(lambda: j.block_until_ready(F(x))) / 100000
"""
SORT = "x = r.normal(size=1000000).astype('f')\n"

# A training step of a transformer of `LAYERS` layers, with Adam.
TRANSFORMER = """
B, T, D, H, V = 4, 64, 128, 4, 256
w = lambda *s: n(*s) / 20
one, zero = np.ones(D, 'f'), np.zeros(D, 'f')
layers = [(w(D, 3 * D), w(D, D), w(D, 4 * D), w(4 * D, D), one, zero, one, zero) for _ in range(LAYERS)]
P = (w(V, D), w(T, D), w(D, V), layers)
def norm(x, g, b):
    d = x - x.mean(-1, keepdims=True)
    return d * lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * g + b
def heads(x): return x.reshape(B, T, H, D // H).transpose(0, 2, 1, 3)
def layer(p, x):
    qkv, out, up, down, g, b, h, c = p
    q, k, v = map(heads, jnp.split(norm(x, g, b) @ qkv, 3, -1))
    s = jnp.where(np.tril(np.ones((T, T), bool)), q @ k.transpose(0, 1, 3, 2) / np.float32((D // H) ** 0.5), -1e9)
    x = x + (j.nn.softmax(s) @ v).transpose(0, 2, 1, 3).reshape(B, T, D) @ out
    return x + j.nn.gelu(norm(x, h, c) @ up) @ down
def loss(p, t):
    embed, places, out, layers = p
    x = embed[t] + places
    for each in layers:
        x = layer(each, x)
    return -jnp.mean(jnp.take_along_axis(j.nn.log_softmax(x @ out)[:, :-1], t[:, 1:, None], -1))
def step(p, m, v, i, t):
    l, g = j.value_and_grad(loss)(p, t)
    m = j.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = j.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    d = j.tree.map(lambda m, v: m / (1 - 0.9**i) / (jnp.sqrt(v / (1 - 0.999**i)) + 1e-8), m, v)
    return j.tree.map(lambda p, d: p - 1e-3 * d, p, d), m, v, i + 1, l
zeros = j.tree.map(np.zeros_like, P)
low = j.jit(step).lower(P, zeros, zeros, np.float32(1), r.integers(0, V, (B, T)).astype('i'))
t = time.perf_counter(); low.compile(); RESULT = time.perf_counter() - t
"""
