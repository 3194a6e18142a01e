"""Exported functions over a mesh of eight devices: their artifacts, their calls, and their exchange with JAX."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.meshes.scripts import run

VALUES = ("called", "jitted", "gradient")


def exchange(framework, folder, own, *others):
    """What the artifacts of others give in a process of a framework that writes its own: see ``tests/meshes/exported.py``."""
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    command = [sys.executable, "-m", "tests.meshes.exported", framework, folder, own, *others]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_agree(found, wanted):
    assert found.keys() == wanted.keys()
    for name, case in wanted.items():
        assert found[name].keys() == case.keys()
        for field, value in case.items():
            if field in VALUES:
                for a, b in zip(found[name][field], value, strict=True):
                    np.testing.assert_allclose(
                        a, b, rtol=1e-5, atol=1e-5, err_msg=f"{name}: {field}"
                    )
            else:
                assert found[name][field] == value, (name, field)


def test_artifacts_pass_between_plugjax_and_jax(tmp_path):
    ours = exchange("xla", tmp_path, "plugjax", "plugjax")["plugjax"]
    by_jax = exchange("jax", tmp_path, "jax", "jax", "plugjax")
    theirs = exchange("xla", tmp_path, "-", "jax")["jax"]
    for found in (ours, by_jax["plugjax"], theirs):
        assert_agree(found, by_jax["jax"])


@pytest.mark.parametrize("shared", ["numpy", "iree"])
def test_artifacts_with_programs_run_on_devices_that_share_memory(shared, tmp_path):
    found = exchange(shared, tmp_path, "written", "written")["written"]
    assert_agree(found, exchange("xla", tmp_path, "-", "written")["written"])


SETUP = """
from plugjax import export
def say(call):
    try:
        print(call())
    except (ValueError, NotImplementedError, TypeError) as error:
        print(type(error).__name__, str(error).replace(chr(10), " "))
rows, columns = jax.NamedSharding(mesh, P("x")), jax.NamedSharding(mesh, P(None, "y"))
x = np.arange(32, dtype="f4").reshape(8, 4)
exported = export.export(jax.jit(lambda a: 2 * a, in_shardings=rows, out_shardings=columns))(x)
"""


def script(text):
    return SETUP + "\n".join(line[8:] for line in text.splitlines())


def test_the_module_says_how_values_are_spread():
    said = run(
        "xla",
        script("""
        print(exported.nr_devices, exported.in_shardings_hlo, exported.out_shardings_hlo)
        print(exported.mlir_module())
        """),
    )
    assert said.startswith("8 (None,) (None,)")
    for words in (
        "mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32",
        'sdy.mesh @mesh = <["x"=4, "y"=2]>',
        '%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}',
        '-> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>})',
    ):
        assert words in said


@pytest.mark.parametrize("where", ["xla", "numpy"])
def test_calls_in_contexts(where):
    said = run(
        where,
        script("""
        devices = np.array(jax.devices()[:8])
        other = jax.sharding.Mesh(devices[::-1].reshape(2, 4), ("p", "q"))
        few = jax.sharding.Mesh(devices[:4], ("p",))
        put = lambda mesh, *axes: jax.device_put(x, jax.NamedSharding(mesh, P(*axes)))
        # Over other axes of as many devices, in another order.
        y = exported.call(put(other, "p"))
        print(np.array_equal(y, 2 * x), y.sharding.spec, [d.id for d in y.sharding.mesh.devices[0]])
        # Beside an argument that lies on one device, and in the mesh in force.
        both = export.export(jax.jit(lambda a, b: a - b, in_shardings=rows))(x, x)
        print(np.array_equal(both.call(put(mesh, "x"), x), 0 * x))
        with jax.set_mesh(mesh):
            for call in (exported.call, jax.jit(exported.call)):
                print(call(x).sharding.spec)
        # Within a function that is jitted, and one that is exported.
        outer = jax.jit(lambda a: exported.call(a) + 1)
        print(np.array_equal(outer(put(mesh, "x", "y")), 2 * x + 1))
        nested = export.export(outer)(jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=rows))
        print(nested.nr_devices, np.array_equal(nested.call(put(mesh, "x")), 2 * x + 1))
        # A function of one device may be called on several.
        one = export.export(jax.jit(lambda a: 3 * a))(x)
        print(one.nr_devices, np.array_equal(one.call(put(mesh, "x")), 3 * x))
        for call in (exported.call, jax.jit(exported.call)):
            say(lambda: call(x))
            say(lambda: call(put(few, "p")))
        """),
    )  # fmt: skip
    refused = (
        "ValueError Exported.call: Function <lambda> was exported for 8 devices and is called in a context with {} devices, which is "
        "not allowed. "
    )
    lines = said.splitlines()
    assert lines[:7] == [
        "True P(None, 'y') [7, 6]",
        "True",
        *["P(None, 'y')"] * 2,
        "True",
        "8 True",
        "1 True",
    ]
    assert [line.partition("Spread")[0] for line in lines[7:]] == [
        refused.format(count) for count in (1, 4, 1, 4)
    ]


def test_calls_that_are_refused():
    said = run(
        "xla",
        script("""
        spread = jax.device_put(x, rows)
        say(lambda: jax.shard_map(exported.call, mesh=mesh, in_specs=P(), out_specs=P())(x))
        say(lambda: jax.vmap(exported.call)(np.stack([x, x])))
        say(lambda: jax.jvp(exported.call, (spread,), (spread,)))
        loaded = export.deserialize(exported.serialize())
        say(lambda: loaded.vjp())
        numpy = jax.sharding.Mesh(np.array(jax.devices("numpy")[:8]).reshape(4, 2), ("x", "y"))
        say(lambda: loaded.call(jax.device_put(x, jax.NamedSharding(numpy, P("x")))))
        """),
    )
    wanted = (
        "ValueError Exported.call: Function <lambda> was exported for 8 devices and is called in the program of one device",
        "NotImplementedError vmap: Batching rule for 'call_exported' not implemented",
        "TypeError can't apply forward-mode autodiff (jvp) to custom_vjp functions",
        "ValueError export: No VJP is available for '<lambda>'",
        "NotImplementedError Exported.call: the artifact of '<lambda>' for 8 devices holds a module only",
    )
    for line, words in zip(said.splitlines(), wanted, strict=True):
        assert line.startswith(words)


def test_derivatives():
    said = run(
        "xla",
        script("""
        product = export.export(jax.jit(lambda a, b: a * a * b, in_shardings=(rows, columns)))(x, x)
        derivative = product.vjp()
        print(derivative.nr_devices, *(s.spec for s in derivative.out_shardings_jax(mesh)))
        spread = jax.device_put(x, rows)
        for each in (product, export.deserialize(product.serialize(vjp_order=2))):
            first = lambda a: jax.grad(lambda a: each.call(a, x).sum())(a)
            print(np.array_equal(first(spread), 2 * x * x), first(spread).sharding.spec)
            print(np.array_equal(jax.grad(lambda a: first(a).sum())(spread), 2 * x))
        """),
    )
    assert said.splitlines() == ["8 P('x',) P(None, 'y')", *["True P('x',)", "True"] * 2]


def test_keys_and_unread_arguments():
    said = run(
        "xla",
        script("""
        keys = jax.random.split(jax.random.key(0), 8)
        draw = jax.jit(lambda k, unread: jax.vmap(jax.random.bits)(k), in_shardings=(rows, columns))
        drawn = export.export(draw)(keys, x)
        print(drawn.module_kept_var_idx, drawn.in_shardings_jax(None)[1])
        loaded = export.deserialize(drawn.serialize())
        for each in (drawn, loaded):
            found = each.call(jax.device_put(keys, rows), x)
            print(np.array_equal(found, jax.vmap(jax.random.bits)(keys)))
        """),
    )
    assert said.splitlines() == ["(0,) None", "True", "True"]


def test_lowering_for_platforms():
    said = run(
        "xla",
        """
        abstract = jax.sharding.AbstractMesh((64, 64), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
        struct = jax.ShapeDtypeStruct((128, 64), "float32", sharding=jax.NamedSharding(abstract, P("a", "b")))
        lowered = jax.jit(lambda x: x @ x.T).trace(struct).lower(lowering_platforms=("cpu",))
        print('sdy.mesh @mesh = <["a"=64, "b"=64]>' in lowered.as_text())
        for platforms in [("tpu",), ("cpu", "tpu")]:
            lowered = jax.jit(lambda x: x @ x.T).trace(struct).lower(lowering_platforms=platforms)
            print('sdy.mesh @mesh = <["a"=64, "b"=64]>' in lowered.as_text())
        """,
    )
    assert said.splitlines() == ["True"] * 3
