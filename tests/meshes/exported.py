"""Functions over a mesh of eight devices that are exported by one framework and called by another.

``python -m tests.meshes.exported FRAMEWORK FOLDER OWN OTHERS...`` writes the artifacts of FRAMEWORK to FOLDER/OWN, and writes as
JSON to standard output what the artifacts of each folder in OTHERS give. FRAMEWORK is ``jax`` or a backend of plugjax; OWN is ``-`` to write none.
"""

import contextlib
import importlib
import json
import os
import sys
from pathlib import Path

import numpy as np

X = np.linspace(-1, 2, 32, dtype="f4").reshape(8, 4)
Y = np.linspace(0, 1, 32, dtype="f4").reshape(8, 4)


class Case:
    """A function, what it is exported for, and the values that it is called with."""

    def __init__(self, function, structs, values, mesh, order=1, **options):
        self.function, self.structs, self.values = function, structs, values
        self.mesh, self.order, self.options = mesh, order, options


def load(framework):
    if framework == "jax":
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
        return importlib.import_module("jax")
    os.environ["PLUGJAX_BACKEND"] = framework
    jax = importlib.import_module("plugjax")
    jax.config.update("jax_num_cpu_devices", 8)
    return jax


def part(jax, name):
    return importlib.import_module(f"{jax.__name__}.{name}")


def cases(jax):
    jnp, lax = part(jax, "numpy"), part(jax, "lax")
    kinds, spec = jax.sharding.AxisType, jax.P
    mesh = jax.make_mesh((4, 2), ("x", "y"), (kinds.Auto,) * 2)
    typed = jax.make_mesh((4, 2), ("x", "y"), (kinds.Explicit,) * 2)
    abstract = jax.sharding.AbstractMesh((4, 2), ("x", "y"), (kinds.Auto,) * 2)
    rows, columns = jax.NamedSharding(mesh, spec("x")), jax.NamedSharding(mesh, spec(None, "y"))
    typed_rows = jax.NamedSharding(typed, spec("x"))

    def struct(sharding=None, shape=(8, 4)):
        return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)

    def product(a, b):
        return jnp.sin(a) @ b.T, a.sum()

    def joined(a):
        return lax.psum(jnp.cos(a), "y") * (1 + lax.axis_index("x"))

    def constrained(a):
        return lax.with_sharding_constraint(jnp.exp(a), rows) + 1

    spread = jax.jit(product, in_shardings=(rows, columns), out_shardings=(columns, None))
    mapped = jax.shard_map(joined, mesh=mesh, in_specs=spec("x", "y"), out_specs=spec("x"))
    of_abstract = struct(jax.NamedSharding(abstract, spec("x")))
    (size,) = part(jax, "export").symbolic_shape("b")
    two, sharded = (struct(), struct()), (struct(rows), struct())
    return {
        "shardings": Case(spread, two, (X, Y), mesh),
        "platforms": Case(spread, two, (X, Y), mesh, platforms=("cpu", "tpu")),
        "structs": Case(jax.jit(lambda a, b: a * 2), sharded, (X, Y), mesh),
        "abstract": Case(jax.jit(lambda a: a * 2), (of_abstract,), (X,), mesh),
        "constraint": Case(jax.jit(constrained), (struct(),), (X,), mesh),
        "shard_map": Case(jax.jit(mapped), (struct(),), (X,), mesh),
        "types": Case(
            jax.jit(lambda a, b: a * b), (struct(typed_rows), struct(typed_rows)), (X, Y), typed
        ),
        "sizes": Case(
            jax.jit(lambda a: a * a, in_shardings=rows, out_shardings=rows),
            (struct(shape=(4 * size, 4)),),
            (X,),
            mesh,
            order=0,
        ),
    }


def write(jax, folder):
    folder.mkdir()
    with_program = {} if jax.__name__ == "jax" else {"jaxpr": True}
    for name, case in cases(jax).items():
        exported = part(jax, "export").export(case.function, **case.options)(*case.structs)
        blob = exported.serialize(vjp_order=case.order, **with_program)
        (folder / name).write_bytes(blob)


def read(jax, folder):
    """What the artifacts are, and give when they are called over the devices in reversed order."""
    return {name: called(jax, folder / name, case) for name, case in cases(jax).items()}


def called(jax, path, case):
    exported = part(jax, "export").deserialize(bytearray(path.read_bytes()))
    devices = np.array(jax.devices()[:8][::-1]).reshape(4, 2)
    mesh = jax.sharding.Mesh(devices, ("x", "y"), axis_types=case.mesh.axis_types)
    whole = jax.NamedSharding(mesh, jax.P())
    arguments = [
        jax.device_put(x, s or whole)
        for x, s in zip(case.values, exported.in_shardings_jax(mesh), strict=True)
    ]
    stated = exported.out_shardings_jax(mesh)
    found = {
        "devices": exported.nr_devices,
        "kept": list(exported.module_kept_var_idx),
        "avals": [str(a) for a in (*exported.in_avals, *exported.out_avals)],
        "arguments": [described(s) for s in exported.in_shardings_jax(mesh)],
        "results": [described(s) for s in stated],
    }
    around = (
        jax.set_mesh(mesh)
        if case.mesh.axis_types[0].name == "Explicit"
        else contextlib.nullcontext()
    )
    with around:
        results = {
            "called": exported.call(*arguments),
            "jitted": jax.jit(exported.call)(*arguments),
        }
        for way, given in results.items():
            flat = jax.tree.leaves(given)
            found[way] = [np.asarray(y).tolist() for y in flat]
            found[f"{way} at"] = [
                blocks(y) if s is not None else None for y, s in zip(flat, stated, strict=True)
            ]
        if case.order:
            loss = lambda *xs: jax.tree.leaves(exported.call(*xs))[0].sum()  # noqa: E731
            gradient = jax.jit(jax.grad(loss))(*arguments)
            found["gradient"] = np.asarray(gradient).tolist()
    return found


def described(sharding):
    if sharding is None:
        return None
    return [str(entry) for entry in sharding.spec], [str(kind) for kind in sharding.mesh.axis_types]


def blocks(array):
    return sorted(
        (
            shard.device.id,
            [list(s.indices(n)) for s, n in zip(shard.index, array.shape, strict=True)],
        )
        for shard in array.addressable_shards
    )


def main(framework, folder, own, *others):
    jax = load(framework)
    if own != "-":
        write(jax, Path(folder) / own)
    json.dump({other: read(jax, Path(folder) / other) for other in others}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
