"""Programs over a mesh of eight devices on every backend, compared with JAX; each framework runs in a process of its own."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.meshes.programs import OF_PARTITIONER, PROGRAMS

# Where JAX fails inside: plugjax gives the result, or an error that describes the fault.
JAX_STUMBLES = {
    # Operations inside of JAX's own functions get types that do not go together.
    "explicit cholesky": None,
    "explicit qr": None,
    "explicit gradient of maximum": None,
    "explicit_without_mesh_in_force": None,
    "map_batched_inside": None,
    "pairs_without_jit": None,
    "pairs_as_residuals": None,
    "error_map psum over an unknown axis": "NameError",
}
BUILTINS = {
    "ValueError", "TypeError", "NameError", "RuntimeError", "AttributeError", "NotImplementedError",
}  # fmt: skip
# Without --wide half of the programs run, and one in six of those on IREE, which compiles each for seconds.
IREE_EVERY = 6
# Each has a process of its own, so that no test takes long.
PARTS = 3


def _run(framework, path, names):
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    subprocess.run(
        [sys.executable, "-m", "tests.meshes.programs", framework, path, *names],
        check=True,
        env=environment,
        timeout=280,
    )


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """What JAX gives for a part of the programs; once for all workers."""
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent

    def of_part(part, names):
        path = folder / f"meshes_jax_{part}.json"
        try:
            path.with_suffix(".lock").touch(exist_ok=False)
        except FileExistsError:
            while not path.exists():
                time.sleep(0.2)
        else:
            _run("jax", path.with_suffix(".part"), names)
            path.with_suffix(".part").rename(path)
        return json.loads(path.read_text())

    return of_part


@pytest.mark.parametrize("part", range(PARTS))
def test_programs_agree_with_jax(part, backend, recorded, tmp_path, wide):
    path = tmp_path / "found.json"
    chosen = list(PROGRAMS)[part :: PARTS if wide else 2 * PARTS]
    names = chosen
    if backend != "xla":
        names = [n for n in names if n not in OF_PARTITIONER]
    if backend == "iree" and not wide:
        names = [n for n in names if not n.startswith("error")][::IREE_EVERY]
    expected = recorded(part, chosen)
    _run(backend, path, names)
    found = json.loads(path.read_text())
    assert len(found) == len(names)
    differences = [
        f"{name}: {words}"
        for name in names
        if (words := _difference(name, expected[name], found[name]))
    ]
    assert not differences, "\n".join(differences)


def _difference(name, expected, found):
    if name in JAX_STUMBLES:
        wanted = JAX_STUMBLES[name]
        kinds = found["error"] if isinstance(found, dict) else []
        return None if (wanted in kinds if wanted else not kinds) else f"gives {found}"
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return f"no error, JAX raises {expected}"
        kind = next((k for k in expected["error"] if k in BUILTINS), "Exception")
        return None if kind in found["error"] else f"JAX raises {expected}, not {found}"
    if isinstance(found, dict):
        return f"raises {found}"
    if len(expected) != len(found):
        return f"{len(found)} results, not {len(expected)}"
    for i, (a, b) in enumerate(zip(expected, found, strict=True)):
        if a["dtype"] != b["dtype"] or np.shape(a["value"]) != np.shape(b["value"]):
            return f"result {i} is {b}, not {a}"
        if not np.allclose(a["value"], b["value"], rtol=2e-5, atol=1e-5):
            return f"values of result {i} are {b}, not {a}"
        if a["spec"] is not None and a["spec"] != b["spec"]:
            return f"result {i} is spread by {b['spec']}, not {a['spec']}"
    return None
