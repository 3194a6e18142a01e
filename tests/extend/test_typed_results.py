"""``lower_with_sharding_in_types`` writes what JAX writes."""

import json
import os
import subprocess
import sys

import numpy as np

import plugjax
from plugjax.extend import core, mlir
from plugjax.interpreters import mlir as lowerings

SCRIPT = """
import importlib, json, sys
import numpy as np
j = importlib.import_module(sys.argv[1])
core, mlir, lowerings, random = (
    importlib.import_module(f"{j.__name__}.{m}") for m in ("core", "extend.mlir", "interpreters.mlir", "random")
)
Primitive = importlib.import_module(f"{j.__name__}.extend.core").Primitive
j.config.update("jax_num_cpu_devices", 8)
devices = np.array(j.devices("cpu" if j.__name__ == "jax" else "xla")[:8]).reshape(2, 2, 2)
S, P, Axis = j.sharding.NamedSharding, j.sharding.PartitionSpec, j.sharding.AxisType
real = j.sharding.Mesh(devices, ("x", "y", "z"), axis_types=(Axis.Auto,) * 3)
E, A, M = Axis.Explicit, Axis.Auto, Axis.Manual
ROWS = [
    ((E, E, E), P("x", "y")), ((E, E, E), P(("x", "y"), None)), ((E, E, E), P(None, "z")),
    ((E, E, A), P("x", None)), ((E, A, A), P(None, "x")), ((E, E, A), P("x", "y")),
    ((E, E, E), P("x", None, unreduced={"y"})), ((E, E, A), P("x", None, unreduced={"y"})),
    ((E, E, E), P("x", None, reduced={"y"})), ((E, E, A), P("x", None, reduced={"y"})),
    ((E, E, M), P("x", "y")), ((E, A, M), P("x", None)),
    ((A, A, A), P("x", None)), ((M, M, M), P(None, None)),
]
found = []
for dtype in (np.dtype(np.float32), j.random.key(0).dtype):
    for types, spec in ROWS:
        if dtype != np.float32 and (spec.unreduced or spec.reduced):
            continue  # JAX has no such keys
        mesh = j.sharding.AbstractMesh((2, 2, 2), ("x", "y", "z"), axis_types=types)
        aval = core.ShapedArray((8, 4), dtype, sharding=S(mesh, spec))
        p = Primitive("spread")
        p.def_abstract_eval(lambda x: x)
        lowerings.register_lowering(p, lambda ctx, x: [mlir.lower_with_sharding_in_types(ctx, x, aval)])
        stored = np.ones((8, 4), np.float32) if dtype == np.float32 else np.ones((8, 4, 2), np.uint32)
        x = j.device_put(stored, S(real, P("x")))
        lines = j.jit(p.bind).lower(x).as_text("stablehlo").splitlines()
        found.append([line.strip() for line in lines if "sharding_constraint" in line])
print(json.dumps(found))
"""

# A primitive whose result has another type than its operand; JAX's abstract evaluation says it, here a rule does.
FLIPPED = """
stablehlo = importlib.import_module(f"{j.__name__}.extend.mlir.dialects.stablehlo" if j.__name__ == "jax" else "jaxlib.mlir.dialects.stablehlo")
mesh = j.sharding.Mesh(devices, ("x", "y", "z"), axis_types=(E,) * 3)
x = j.device_put(np.ones((8, 4), np.float32), S(mesh, P("x", "y")))
p = Primitive("flip")
p.def_abstract_eval(lambda x: core.ShapedArray(x.shape[::-1], x.dtype, sharding=x.sharding.update(spec=P(*[*x.sharding.spec][::-1]))))
seen = []

def lower(ctx, x):
    y = stablehlo.transpose(x, np.array([1, 0]))
    out = mlir.lower_with_sharding_in_types(ctx, y, ctx.avals_out[0])
    seen.append(out is y)
    return [out]

lowerings.register_lowering(p, lower)
if j.__name__ == "plugjax":
    from plugjax.extend import meshes, registry, rules
    own = rules.RuleSet("flip")
    own.define(meshes.sharding_rule, p)(lambda avals, *_: P(*[*meshes.spec_of(avals[0])][::-1]))
    class Plugin:
        plugjax_rules = staticmethod(rules.hookimpl(lambda: [own]))
    registry.active().load(Plugin())
lines = j.jit(p.bind).lower(x).as_text("stablehlo").splitlines()
print(json.dumps([seen[-1], [line.strip() for line in lines if "%0 =" in line or "%1 =" in line]]))
"""


def written(framework):
    chosen = {"JAX_PLATFORMS": "cpu", "PLUGJAX_BACKEND": "xla"}
    environment = {**os.environ, **chosen, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("XLA_FLAGS", None)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + FLIPPED, framework],
        capture_output=True,
        text=True,
        env=environment,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_requests_are_those_of_jax():
    found, (unchanged, flipped) = written("plugjax")
    wanted, (unchanged_by_jax, flipped_by_jax) = written("jax")
    assert found == wanted
    assert sum(map(len, found)) == 20
    # Types of programs have become requests before a rule is asked: the request follows it, and the text is the same.
    assert flipped == flipped_by_jax
    assert [unchanged, unchanged_by_jax] == [True, False]


def test_a_program_of_one_device_has_no_requests():
    mesh = plugjax.sharding.AbstractMesh((2,), ("x",), (plugjax.sharding.AxisType.Explicit,))
    aval = core.ShapedArray((4,), np.float32, sharding=plugjax.NamedSharding(mesh, plugjax.P("x")))
    p = core.Primitive("whole")
    p.def_abstract_eval(lambda x: x)
    lowerings.register_lowering(p, lambda ctx, x: [mlir.lower_with_sharding_in_types(ctx, x, aval)])
    for backend in ("xla", "iree"):
        found = plugjax.jit(p.bind, device=backend)(np.ones(4, np.float32))
        np.testing.assert_array_equal(found, np.ones(4))
