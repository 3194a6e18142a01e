"""``python -m tests.meshes.programs jax|numpy|xla|iree FILE [NAME ...]``."""

import importlib
import json
import os
import sys
from types import SimpleNamespace

import numpy as np

from tests.meshes.programs import PROGRAMS


def environment(framework):
    """The namespace of the programs."""
    if framework == "jax":
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
        jax = importlib.import_module("jax")
    else:
        os.environ["PLUGJAX_BACKEND"] = framework
        jax = importlib.import_module("plugjax")
        jax.config.update("jax_num_cpu_devices", 8)
    name = jax.__name__
    kind = importlib.import_module(f"{name}.sharding").AxisType
    devices = np.array(jax.devices()[:8], dtype=object)
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(kind.Auto, kind.Auto))
    importlib.import_module(f"{name}.experimental.custom_partitioning")
    tree_map = importlib.import_module(f"{name}.tree_util").tree_map
    return SimpleNamespace(
        jax=jax,
        jnp=importlib.import_module(f"{name}.numpy"),
        lax=importlib.import_module(f"{name}.lax"),
        P=jax.P,
        AxisType=kind,
        mesh=mesh,
        devices=devices,
        named=lambda *spec: jax.NamedSharding(mesh, jax.P(*spec)),
        # Values without their shardings, where these are the compiler's choice.
        np=lambda tree: tree_map(np.asarray, tree),
        leaves=importlib.import_module(f"{name}.tree_util").tree_leaves,
    )


def described(e, leaf):
    spec = getattr(getattr(leaf, "sharding", None), "spec", None)
    value = np.asarray(leaf)
    plain = value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
    parts = (
        [plain.real.tolist(), plain.imag.tolist()] if value.dtype.kind == "c" else plain.tolist()
    )
    trimmed = list(spec) if spec is not None else []
    while trimmed and trimmed[-1] is None:
        trimmed.pop()
    return {
        "dtype": str(value.dtype),
        "value": parts,
        "spec": None if spec is None else str(trimmed),
    }


def outcome(e, function):
    try:
        return [described(e, leaf) for leaf in e.leaves(function(e))]
    except Exception as error:
        kinds = [k.__name__ for k in type(error).__mro__]
        return {"error": kinds, "message": str(error)[:500]}


def main(framework, path, names=()):
    e = environment(framework)
    chosen = {n: f for n, f in PROGRAMS.items() if not names or n in names}
    found = {name: outcome(e, function) for name, function in chosen.items()}
    with open(path, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:3], names=sys.argv[3:])
