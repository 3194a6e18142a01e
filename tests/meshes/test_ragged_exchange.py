"""Slices of different lengths between the devices of a mesh: compared with a loop."""

from tests.meshes.scripts import run

PROGRAM = """
rng = np.random.default_rng(3)
size, per, rows, n = 4, 2, 9, 12
mesh = jax.make_mesh((size, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
sizes = rng.integers(0, 3, (size, size * per)).astype("i4")
starts = rng.integers(0, rows - 2, sizes.shape).astype("i4")
operand = rng.normal(size=(size, rows, 2)).astype("f4")
output = rng.normal(size=(size, n, 2)).astype("f4")
received = sizes.reshape(size, size, per).transpose(1, 0, 2).reshape(size, -1)
places = (np.cumsum(received, 1) - received).astype("i4")
sent_to = places.reshape(size, size, per).transpose(1, 0, 2).reshape(size, -1)
received = received.astype("i4")
def of_one(*xs):
    return lax.ragged_all_to_all(*(x[0] for x in xs), axis_name="x")[None]
f = jax.jit(jax.shard_map(of_one, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))
slots = (starts, sizes, sent_to, received)
expected = output.copy()
for i in range(size):
    for k in range(size * per):
        a, m, b = starts[i, k], sizes[i, k], sent_to[i, k]
        expected[k // per, b : b + m] = operand[i, a : a + m]
print(bool(np.array_equal(f(operand, output, *slots), expected)))
weights = rng.normal(size=output.shape).astype("f4")
bars = jax.jit(jax.grad(lambda o, y: (f(o, y, *slots) * weights).sum(), argnums=(0, 1)))(operand, output)
o_bar, y_bar = np.zeros_like(operand), weights.copy()
for i in range(size):
    for k in range(size * per):
        a, m, b = starts[i, k], sizes[i, k], sent_to[i, k]
        o_bar[i, a : a + m] += weights[k // per, b : b + m]
        y_bar[k // per, b : b + m] = 0
print(np.allclose(bars[0], o_bar, atol=1e-6), np.allclose(bars[1], y_bar))
batched = jax.jit(jax.vmap(f, in_axes=(0, None, *[None] * 4)))(np.stack([operand, 2 * operand]), output, *slots)
print(bool(np.array_equal(batched[0], expected)))
"""


def test_slices_of_different_lengths(backend):
    assert run(backend, PROGRAM) == "True\nTrue True\nTrue\n"
