"""Functions compiled for several devices, as bytes and back, in this process and in another."""

from tests.meshes.scripts import run

PROGRAM = """
import pickle
from plugjax.experimental.serialize_executable import deserialize_and_load, serialize
x = jax.device_put(np.arange(32.0, dtype="f4").reshape(8, 4), jax.NamedSharding(mesh, P("x", "y")))
big = np.linspace(0, 1, 1000, dtype="f4")
def f(x, k):
    return {"a": x @ x.T, "s": x.sum() + jnp.asarray(big).sum(), "k": x * k}
sums = jax.shard_map(lambda a: lax.psum(a, "x"), mesh=mesh, in_specs=P("x"), out_specs=P())
"""


def test_there_and_back(backend, tmp_path):
    path = str(tmp_path / "f.bin")
    said = run(backend, PROGRAM + f"path = {path!r}" + """
compiled = jax.jit(f).lower(x, 2.0).compile()
data, *trees = serialize(compiled)
open(path, "wb").write(data)
again = deserialize_and_load(data, *trees)
for a, b in zip(jax.tree.leaves(compiled(x, 2.0)), jax.tree.leaves(again(x, 2.0))):
    print(bool(np.array_equal(a, b)), a.sharding == b.sharding, a.dtype == b.dtype)
print(again.output_shardings == compiled.output_shardings, again.input_shardings == compiled.input_shardings)
twice = deserialize_and_load(*serialize(again))
print(bool(np.array_equal(twice(x, 2.0)["a"], compiled(x, 2.0)["a"])))
mapped = jax.jit(sums).lower(x).compile()
print(bool(np.array_equal(deserialize_and_load(*serialize(mapped))(x), mapped(x))))
turned = deserialize_and_load(data, *trees, execution_devices=jax.devices()[:8][::-1])(x, 2.0)["k"]
print([s.device.id for s in turned.addressable_shards], bool(np.array_equal(np.asarray(turned), np.asarray(2 * x))))
try:
    deserialize_and_load(data, *trees, execution_devices=jax.devices()[:2])
except ValueError as error:
    print(error)
donating = jax.jit(lambda x: x + 1, donate_argnums=0).lower(x).compile()
spent = jax.device_put(np.ones((8, 4), "f4"), x.sharding)
print(float(deserialize_and_load(*serialize(donating))(spent).sum()), spent.is_deleted())
""")  # fmt: skip
    assert said.splitlines() == [
        *["True True True"] * 3,
        "True True",
        "True",
        "True",
        "[7, 6, 5, 4, 3, 2, 1, 0] True",
        "deserialize_and_load: the program runs on 8 devices, got 2 devices.",
        "64.0 True",
    ]
    elsewhere = run(backend, PROGRAM + f"path = {path!r}" + """
trees = [jax.tree.structure(t) for t in (((x, 2.0), {}), f(x, 2.0))]
again = deserialize_and_load(open(path, "rb").read(), *trees)
print(bool(np.array_equal(again(x, 2.0)["a"], x @ x.T)), again(x, 3.0)["k"].sharding.spec)
""")  # fmt: skip
    assert elsewhere == "True P('x', 'y')\n"
