"""Compiled functions as bytes and back, in this process and in another; topologies; what compiled functions say of themselves."""

import importlib.util
import subprocess
import sys

import jax
import jax.experimental.serialize_executable
import jax.experimental.topologies
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.experimental import topologies
from plugjax.experimental.serialize_executable import deserialize_and_load, serialize

X = np.arange(6, dtype=np.float32).reshape(2, 3)
BIG = np.linspace(0, 1, 1000, dtype=np.float32)


def program(x, y=1.0, *, k):
    total = plugjax.lax.fori_loop(0, 3, lambda _, z: jnp.sin(z) + y, x["a"])
    return {"a": total @ x["b"], "n": k + 1}, total.sum()


ARGUMENTS = ({"a": X, "b": X.T}, 2.0), {"k": jnp.arange(3)}


def loaded(f, *args, **kwargs):
    compiled = f.lower(*args, **kwargs).compile()
    return compiled, deserialize_and_load(*serialize(compiled))


def test_a_loaded_function_computes_the_same(on_backend):
    args, kwargs = ARGUMENTS
    compiled, again = loaded(plugjax.jit(program), *args, **kwargs)
    for y, z in zip(
        *(plugjax.tree.leaves(f(*args, **kwargs)) for f in (again, compiled)), strict=True
    ):
        assert (y.shape, y.dtype, y.weak_type, y.device) == (
            z.shape,
            z.dtype,
            z.weak_type,
            z.device,
        )
        np.testing.assert_array_equal(y, z)


def test_what_a_loaded_function_says(on_backend):
    args, kwargs = ARGUMENTS
    compiled, again = loaded(plugjax.jit(program), *args, **kwargs)
    assert type(again) is type(compiled)
    for name in (
        "in_tree",
        "out_tree",
        "in_avals",
        "input_shardings",
        "output_shardings",
        "input_formats",
        "output_formats",
    ):
        assert getattr(again, name) == getattr(compiled, name)
    assert again.cost_analysis() == compiled.cost_analysis()
    assert (
        again.memory_analysis()["output_size_in_bytes"]
        == compiled.memory_analysis()["output_size_in_bytes"]
    )
    assert again.as_text().split()[:2] == compiled.as_text().split()[:2] != []
    with pytest.raises(TypeError, match="argument"):
        again({"a": X[0], "b": X.T}, 2.0, **kwargs)
    with pytest.raises(TypeError, match="structure"):
        again(X)


def test_large_constants_and_arguments_that_nothing_reads(on_backend):
    big = jnp.asarray(BIG)
    compiled, again = loaded(plugjax.jit(lambda x, unread: (x + big, big[3])), BIG, X)
    for y, z in zip(again(BIG, X), compiled(BIG, X), strict=True):
        np.testing.assert_array_equal(y, z)
    assert again.input_shardings[0][1] is None


def test_donated_arguments(on_backend):
    f = plugjax.jit(lambda x, y: x + y, donate_argnums=0)
    _, again = loaded(f, BIG, BIG)
    x, y = jnp.asarray(BIG), jnp.asarray(BIG)
    np.testing.assert_array_equal(again(x, y), 2 * BIG)
    assert x.is_deleted()
    assert not y.is_deleted()


def test_keys(on_backend):
    f = plugjax.jit(lambda key: plugjax.random.split(key))
    key = plugjax.random.key(3)
    compiled, again = loaded(f, key)
    found, expected = again(key), compiled(key)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(*map(plugjax.random.key_data, (found, expected)))


def test_the_bytes_are_data(on_backend):
    args, kwargs = ARGUMENTS
    data, in_tree, out_tree = serialize(plugjax.jit(program).lower(*args, **kwargs).compile())
    assert b"pickle" not in data
    for i in (0, 30, 200, len(data) - 1):
        damaged = data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :]
        with pytest.raises(ValueError, match="no compiled function"):
            deserialize_and_load(damaged, in_tree, out_tree)
    with pytest.raises(ValueError, match="no compiled function"):
        deserialize_and_load(data[:-1], in_tree, out_tree)


def test_another_process_loads_it(on_backend, tmp_path):
    f = plugjax.jit(lambda x: plugjax.lax.fori_loop(0, 3, lambda _, y: jnp.sin(y) * 2, x))
    compiled = f.lower(X).compile()
    data, _, _ = serialize(compiled)
    (tmp_path / "f").write_bytes(data)
    code = (
        "import sys, pathlib, numpy as np, plugjax\n"
        "from plugjax.experimental.serialize_executable import deserialize_and_load\n"
        "tree = plugjax.tree.structure\n"
        f"f = deserialize_and_load(pathlib.Path({str(tmp_path / 'f')!r}).read_bytes(), tree(((1,), {{}})), tree(1))\n"
        "x = np.arange(6, dtype=np.float32).reshape(2, 3)\n"
        "print(np.asarray(f(x)).tobytes().hex(), 'jax' in sys.modules)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert out == [np.asarray(compiled(X)).tobytes().hex(), "False"]


@pytest.mark.parametrize("name", ["numpy", "xla", "iree"])
def test_what_calls_python_is_refused(name):
    f = plugjax.jit(
        lambda x: plugjax.pure_callback(np.sin, plugjax.ShapeDtypeStruct((2, 3), X.dtype), x)
    )
    with plugjax.default_device(name), pytest.raises(ValueError):
        serialize(f.lower(X).compile())


def test_where_it_is_loaded():
    compiled = plugjax.jit(lambda x: x + 1, device="xla").lower(X).compile()
    written = serialize(compiled)
    cpu = plugjax.devices("xla")[0]
    for options in ({}, {"backend": "xla"}, {"execution_devices": [cpu]}):
        found = deserialize_and_load(*written, **options)
        assert found(X).device is cpu
    for options, said in (
        ({"backend": "numpy"}, "'numpy' is wanted"),
        ({"execution_devices": plugjax.devices("numpy")}, "Execution devices"),
        ({"execution_devices": [cpu, cpu]}, "one device"),
    ):
        with pytest.raises(ValueError, match=said):
            deserialize_and_load(*written, **options)


def test_machine_code_of_another_processor_is_refused(monkeypatch):
    from plugjax_xla import fingerprint

    written = serialize(plugjax.jit(lambda x: x + 1, device="xla").lower(X).compile())
    monkeypatch.setattr(fingerprint, "cpu_fingerprint", lambda: "another one")
    with pytest.raises(ValueError, match="another processor"):
        deserialize_and_load(*written)


def test_structures_have_to_fit():
    data, in_tree, out_tree = serialize(plugjax.jit(lambda x: (x, x)).lower(X).compile())
    structure = plugjax.tree.structure
    with pytest.raises(ValueError, match="in_tree has 2 leaves"):
        deserialize_and_load(data, structure(((1, 1), {})), out_tree)
    with pytest.raises(ValueError, match="out_tree has 1 leaves"):
        deserialize_and_load(data, in_tree, structure(1))
    with pytest.raises(TypeError, match="expected a compiled function"):
        serialize(plugjax.jit(abs))


def test_results_of_iree_are_verified_after_loading():
    with plugjax.default_device("iree"), plugjax.config.override("verify", "first"):
        compiled = plugjax.jit(lambda x: jnp.sin(x) @ x.T).lower(X).compile()
        again = deserialize_and_load(*serialize(compiled))
        again(X)
        assert again.verification is not None


# Topologies ---------------------------------------------------------------------------------------


def test_topologies():
    assert topologies.get_attached_topology("xla").devices == plugjax.devices("xla")
    assert topologies.get_attached_topology().devices == plugjax.devices()
    assert topologies.get_attached_topology("cpu").devices[0].platform == "cpu"
    theirs = jax.experimental.topologies
    named = (("", "cpu"), ("", "nowhere"))
    if importlib.util.find_spec("libtpu") is None:
        named += (("v4:2x2x1",), ("v4:2x2x1", "tpu"))
    for args in named:
        kinds = []
        for module in (theirs, topologies):
            with pytest.raises(Exception) as found:
                module.get_topology_desc(*args)
            kinds.append(found.type)
        assert issubclass(kinds[1], kinds[0])
    for module in (theirs, topologies):
        with pytest.raises(RuntimeError):
            module.get_attached_topology("nowhere")


def test_meshes_of_topologies():
    for m, module in ((jax, jax.experimental.topologies), (plugjax, topologies)):
        topology = module.get_attached_topology("cpu")
        count = len(topology.devices)
        mesh = module.make_mesh(topology, (1, count), ("x", "y"))
        assert isinstance(mesh, m.sharding.Mesh)
        assert mesh.devices.shape == (1, count)
        with pytest.raises(ValueError, match="product"):
            module.make_mesh(topology, (count + 1,), ("x",))


# What compiled functions say ----------------------------------------------------------------------


def test_ahead_of_time(on_backend):
    struct = plugjax.ShapeDtypeStruct
    f = plugjax.jit(lambda x, y: {"r": x @ y})
    compiled = f.lower(struct((2, 3), "float32"), struct((3, 4), "float32")).compile()
    sharding = jnp.ones(2).sharding
    assert compiled.input_shardings == ((sharding, sharding), {})
    assert compiled.output_shardings == {"r": sharding}
    assert compiled.output_formats["r"].layout.major_to_minor == (0, 1)
    assert compiled.cost_analysis()["flops"] == pytest.approx(2 * 2 * 3 * 4, rel=0.5)
    assert compiled.memory_analysis().output_size_in_bytes == 32
    assert {"numpy": "dot_general", "xla": "HloModule", "iree": "stablehlo.dot_general"}[
        on_backend
    ] in compiled.as_text()
    np.testing.assert_allclose(
        compiled(X, X.T @ np.ones((2, 4), np.float32))["r"], X @ X.T @ np.ones((2, 4)), rtol=1e-5
    )
