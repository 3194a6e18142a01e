"""Checkpoints of trees of arrays: what is saved on one mesh is loaded on another one, whole or not at all."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import P, export
from plugjax.experimental.array_serialization import (
    folders,
    npy_parts,
    pytree_serialization as checkpoints,
    serialization,
    tensorstore_impl,
)
from plugjax.sharding import SingleDeviceSharding
from tests.meshes.scripts import run

MESHES = """
from plugjax.experimental.array_serialization.pytree_serialization import load, save
other = jax.make_mesh((2, 4), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
named = jax.NamedSharding
"""


@pytest.fixture
def npy(monkeypatch):
    """Files of NumPy, also where tensorstore is installed."""
    monkeypatch.setattr(checkpoints, "is_installed", lambda: False)
    monkeypatch.setattr(tensorstore_impl, "is_installed", lambda: False)


def here():
    return SingleDeviceSharding(plugjax.devices()[0])


def tree():
    return {"w": jnp.arange(12.0).reshape(3, 4), "b": [jnp.ones(2, "bfloat16"), None]}


def test_another_mesh(backend, tmp_path):
    said = run(backend, MESHES + f"folder = {str(tmp_path / 'c')!r}" + textwrap.dedent("""
        whole = np.arange(32.0, dtype="f4").reshape(8, 4)
        keys = jax.random.split(jax.random.key(3), 8)
        put = lambda x, *spec: jax.device_put(x, named(mesh, P(*spec)))
        tree = {
            "w": put(whole, "x", "y"), "h": put(jnp.arange(8, dtype="bfloat16"), "x"), "n": None, "s": np.array(3, "int8"),
            "q": put(jnp.arange(4, dtype="int4"), "y"), "k": put(keys, ("x", "y")), "z": jnp.zeros((0, 3)), "c": (put(whole * 1j, None, "x"),),
        }
        save(tree, folder)
        spread = {**dict.fromkeys("sqzn", one), "w": named(other, P("b", "a")), "h": named(other, P(("a", "b"))), "k": named(other, P("a")), "c": one}
        back = load(folder, spread)
        print(back["w"].sharding.spec, back["w"].addressable_shards[3].index, back["k"].sharding.spec, back["z"].shape, back["n"])
        plain = lambda a: np.asarray(jax.random.key_data(a) if a.dtype == keys.dtype else a)
        same = jax.tree.map(lambda a, b: np.array_equal(plain(a), plain(b)) and a.dtype == b.dtype, tree, back)
        print(all(jax.tree.leaves(same)), len(jax.tree.leaves(same)))
        again = load(folder, one, mask={**dict.fromkeys("hsqkzcn", False), "w": True})
        print(again["w"].devices() == one.device_set, again["c"], np.array_equal(again["w"], whole))
        half = load(folder, {**spread, "w": jax.ShapeDtypeStruct((8, 4), "float16", sharding=named(other, P("a")))})
        print(half["w"].dtype, half["w"].sharding.spec, np.array_equal(half["w"], whole))
    """))  # fmt: skip
    assert said.splitlines() == [
        "P('b', 'a') (slice(6, 8, None), slice(0, 2, None)) P('a',) (0, 3) None",
        "True 7",
        "True (None,) True",
        "float16 P('a',) True",
    ]


class Pair(NamedTuple):
    left: object
    right: object


def test_classes_of_containers(tmp_path, npy):
    saved = {"p": Pair(jnp.ones(2), 2 * jnp.ones(3))}
    with pytest.raises(ValueError, match="unregistered type"):
        checkpoints.save(saved, tmp_path / "c")
    assert not (tmp_path / "c").exists()
    export.register_namedtuple_serialization(Pair, serialized_name="tests.checkpoints.Pair")
    checkpoints.save(saved, tmp_path / "c")
    assert checkpoints.load_pytreedef(tmp_path / "c")["p"].right.shape == (3,)
    assert checkpoints.load(tmp_path / "c", here())["p"].right.tolist() == [2, 2, 2]
    back = checkpoints.load(tmp_path / "c", {"p": Pair(here(), here())})
    assert type(back["p"]) is Pair


def test_futures(tmp_path):
    future = checkpoints.nonblocking_save(tree(), tmp_path / "c")
    assert future.pytree["w"] == plugjax.ShapeDtypeStruct((3, 4), "float32")
    assert future.result(timeout=60) is None
    assert future.done()

    async def read():
        return await checkpoints.nonblocking_load(tmp_path / "c", here())

    assert asyncio.run(read())["w"].tolist() == tree()["w"].tolist()
    with pytest.raises(ValueError, match="you specified `overwrite=False`"):
        checkpoints.nonblocking_save(tree(), tmp_path / "c", overwrite=False).result()


def test_the_manager(tmp_path):
    manager = serialization.GlobalAsyncCheckpointManager()
    paths = [str(tmp_path / name) for name in "ab"]
    done = []
    arrays = [jnp.arange(4.0), np.arange(6).reshape(2, 3)]
    manager.serialize_with_paths(arrays, paths, on_commit_callback=lambda: done.append(1))
    manager.wait_until_finished()
    assert done == [1]
    back = manager.deserialize_with_paths([here()] * 2, paths, dtypes=[None, "float32"])
    assert [x.tolist() for x in back] == [[0, 1, 2, 3], [[0, 1, 2], [3, 4, 5]]]
    assert [x.dtype for x in back] == [np.float32, np.float32]
    with pytest.raises(TypeError, match="should be specified"):
        manager.deserialize_with_paths([P("x")], paths[:1])


@pytest.mark.parametrize("renames", ["exchanged", "one by one"])
def test_the_old_checkpoint_goes_when_the_new_one_is_whole(tmp_path, monkeypatch, renames):
    if renames == "one by one":
        monkeypatch.setattr(folders, "_exchange", lambda a, b: False)
    checkpoints.save(tree(), tmp_path / "c")
    checkpoints.save({"v": jnp.zeros(2)}, tmp_path / "c")
    assert checkpoints.load(tmp_path / "c", here())["v"].tolist() == [0, 0]
    assert os.listdir(tmp_path) == ["c"]


SAVE = """
import os, signal, sys
import numpy as np
from pathlib import Path
from plugjax.experimental.array_serialization import folders
from plugjax.experimental.array_serialization.pytree_serialization import save
folder = sys.argv[1]
"""


def _child(tmp_path, body, **options):
    script = tmp_path / "save.py"
    script.write_text(SAVE + textwrap.dedent(body))
    environment = {**os.environ, "PLUGJAX_BACKEND": "numpy"}
    command = [sys.executable, str(script), str(tmp_path / "c")]
    return subprocess.Popen(command, env=environment, text=True, **options)


def test_a_process_that_is_killed_while_it_writes(tmp_path):
    checkpoints.save(tree(), tmp_path / "c")
    tall = """
        tree = {str(i): np.full((256, 1024), i, "f4") for i in range(64)}
        while True:
            save(tree, folder)
    """
    for files in (1, 20):
        child = _child(tmp_path, tall)
        written = tmp_path / ".c.writing"
        try:
            deadline = time.monotonic() + 60
            while sum(len(names) for _, _, names in os.walk(written)) < files:
                assert child.poll() is None
                assert time.monotonic() < deadline
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
        # Either of the two is there, whole.
        found = checkpoints.load(tmp_path / "c", here())
        if "w" in found:
            assert found["w"].tolist() == tree()["w"].tolist()
        else:
            assert all((np.asarray(x) == int(name)).all() for name, x in found.items())
            assert len(found) == 64
    checkpoints.save(tree(), tmp_path / "c")
    assert {p.name for p in tmp_path.iterdir()} == {"c", "save.py"}


def test_a_process_that_is_killed_between_two_renames(tmp_path):
    checkpoints.save(tree(), tmp_path / "c")
    child = _child(tmp_path, """
        folders._exchange = lambda a, b: False
        rename = Path.rename
        def killed(self, target):
            if target.name == "c":
                os.kill(os.getpid(), signal.SIGKILL)
            return rename(self, target)
        Path.rename = killed
        save({"v": np.zeros(2)}, folder)
    """)  # fmt: skip
    assert child.wait(timeout=60) == -signal.SIGKILL
    assert not (tmp_path / "c").exists()
    assert checkpoints.load(tmp_path / "c", here())["w"].tolist() == tree()["w"].tolist()
    checkpoints.save({"v": jnp.zeros(2)}, tmp_path / "c")
    assert checkpoints.load(tmp_path / "c", here())["v"].tolist() == [0, 0]
    assert {p.name for p in tmp_path.iterdir()} == {"c", "save.py"}


def _truncated(file):
    file.write_bytes(file.read_bytes()[:-1])


def _flipped(file):
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


def _of_objects(file):
    np.save(file, np.array([print], object), allow_pickle=True)


DAMAGE = {
    "missing": (Path.unlink, "FileNotFoundError"),
    "truncated": (_truncated, "it has 175 bytes, not 176"),
    "flipped": (_flipped, "its checksum differs"),
    "another dtype": (lambda f: np.save(f, np.ones((3, 4))), r"it holds float64\[3, 4\], not float32"),
    "another shape": (lambda f: np.save(f, np.ones((4, 3), "f4")), r"it holds float32\[4, 3\], not"),
    "objects": (_of_objects, "it holds object"),
    "no array": (lambda f: f.write_bytes(b"pigeons"), "ValueError"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_files_are_named(tmp_path, npy, monkeypatch, kind):
    damage, words = DAMAGE[kind]
    checkpoints.save(tree(), tmp_path / "c")
    file = tmp_path / "c" / "arrays" / "2" / "0_0.npy"
    damage(file)
    made = []
    monkeypatch.setattr(checkpoints, "array_of_stored_values", lambda *a: made.append(a))
    with pytest.raises(ValueError, match=words) as error:
        checkpoints.load(tmp_path / "c", here())
    assert "leaf ['w']" in str(error.value)
    assert str(file) in str(error.value)
    assert made == []
    # What is not asked for is not read.
    monkeypatch.undo()
    part = checkpoints.load(tmp_path / "c", here(), mask={"w": False, "b": True})
    assert part["b"][0].tolist() == [1, 1]


MANIFESTS = {
    "another format": lambda m: m | {"format": 7},
    "no leaves": lambda m: {k: v for k, v in m.items() if k != "leaves"},
    "a file elsewhere": lambda m: _leaf(m, file="../../secret.npy"),
    "an absolute file": lambda m: _leaf(m, file="/etc/arrays/0/0.npy"),
    "a part beyond": lambda m: _leaf(m, shape=[5, 4]),
    "a hole": lambda m: _leaf(m, shape=[2, 4]),
    "negative sizes": lambda m: _leaf(m, start=[-1, 0]),
    "too few leaves": lambda m: m | {"leaves": m["leaves"][:2]},
    "too many leaves": lambda m: m | {"leaves": [*m["leaves"], None]},
    "an unknown class": lambda m: m | {"tree": {"kind": 5, "custom_name": "os.system"}},
    "an unknown dtype": lambda m: m | {"leaves": [*m["leaves"][:2], m["leaves"][2] | {"dtype": "object"}]},
    "a list": lambda m: [m],
}  # fmt: skip


def _leaf(manifest, **changes):
    *others, last = manifest["leaves"]
    part = last["parts"][0] | changes
    return manifest | {"leaves": [*others, last | {"parts": [part]}]}


@pytest.mark.parametrize("kind", MANIFESTS)
def test_damaged_manifests(tmp_path, npy, kind):
    checkpoints.save(tree(), tmp_path / "c")
    path = tmp_path / "c" / "manifest.json"
    path.write_text(json.dumps(MANIFESTS[kind](json.loads(path.read_text()))))
    with pytest.raises(ValueError, match=r"damaged|unregistered|structure has"):
        checkpoints.load(tmp_path / "c", here())


def test_a_manifest_that_is_cut_off(tmp_path, npy):
    checkpoints.save(tree(), tmp_path / "c")
    path = tmp_path / "c" / "manifest.json"
    path.write_text(path.read_text()[:-5])
    with pytest.raises(ValueError, match=r"manifest\.json is damaged"):
        checkpoints.load_pytreedef(tmp_path / "c")


def test_what_does_not_fit(tmp_path):
    checkpoints.save(tree(), tmp_path / "c")
    where = tmp_path / "c"
    with pytest.raises(ValueError, match=r"shardings must be a tree prefix .* keys"):
        checkpoints.load(where, {"w": here(), "b": here(), "v": here()})
    with pytest.raises(ValueError, match="mask must be a tree prefix"):
        checkpoints.load(where, here(), mask={"w": True})
    with pytest.raises(TypeError, match=r"Got None for leaf \['w'\]"):
        checkpoints.load(where, {"w": None, "b": here()})
    wide = plugjax.ShapeDtypeStruct((4, 3), "float32", sharding=here())
    with pytest.raises(ValueError, match=r"leaf \['w'\] has shape \(3, 4\) in the checkpoint"):
        checkpoints.load(where, {"w": wide, "b": here()})
    key = plugjax.ShapeDtypeStruct((3, 4), plugjax.random.key(0).dtype, sharding=here())
    with pytest.raises(ValueError, match="keys are no numbers"):
        checkpoints.load(where, {"w": key, "b": here()})
    with pytest.raises(FileNotFoundError, match="does not exist"):
        checkpoints.load(tmp_path / "nowhere", here())
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="is no checkpoint"):
        checkpoints.load(tmp_path / "empty", here())


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match=r"the leaf data\['a'\]\[0\] is 3 of type int"):
        checkpoints.save({"a": [3]}, tmp_path / "c")
    with pytest.raises(TypeError, match="string keys"):
        checkpoints.save({3: jnp.ones(2)}, tmp_path / "c")
    with pytest.raises(FileNotFoundError, match="Make it first"):
        checkpoints.save(tree(), tmp_path / "a" / "b" / "c")
    with pytest.raises(ValueError, match="is remote"):
        checkpoints.save(tree(), "gs://bucket/a")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(RuntimeError, match=r"Refusing to work .* \['thesis.tex'\]"):
        checkpoints.save(tree(), tmp_path / "mine")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        checkpoints.save(tree(), tmp_path / "file")
    assert {p.name for p in tmp_path.iterdir()} == {"mine", "file"}


def test_an_uneven_sharding_is_refused_by_name(tmp_path):
    said = run("numpy", MESHES + f"folder = {str(tmp_path / 'c')!r}" + textwrap.dedent("""
        save({"w": jnp.ones((3, 4)), "v": jnp.ones(8)}, folder)
        try:
            load(folder, named(mesh, P("x")))
        except ValueError as error:
            print(error)
    """))  # fmt: skip
    assert said.startswith("load: leaf ['w']: Sharding NamedSharding(")


def test_blocks_are_read_alone(tmp_path, npy):
    """A part of an array is read without the rest of it."""
    checkpoints.save({"w": np.arange(12).reshape(3, 4)}, tmp_path / "c")
    ((leaf,), folder) = npy_leaves(tmp_path / "c")
    read = npy_parts.reader(folder, leaf)
    assert read((slice(1, 3), slice(2, 3))).tolist() == [[6], [10]]
    assert read((slice(1, 1), slice(None))).shape == (0, 4)


def npy_leaves(folder):
    from plugjax.experimental.array_serialization import manifest

    return manifest.read(folder)[1], folder


JAX = """
import sys
import numpy as np
import {name} as jax
from {name} import numpy as jnp
from {name}.experimental.array_serialization.pytree_serialization import load, save
one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
tree = {{"w": jnp.arange(12.0).reshape(3, 4), "b": [jnp.ones(2, "bfloat16"), None], "n": (jnp.arange(3), jnp.ones((), "int4"))}}
if sys.argv[1] == "save":
    save(tree, sys.argv[2])
else:
    back = load(sys.argv[2], one)
    assert jax.tree.structure(back) == jax.tree.structure(tree)
    for a, b in zip(jax.tree.leaves(tree), jax.tree.leaves(back)):
        assert a.dtype == b.dtype and np.array_equal(np.asarray(a), np.asarray(b)), (a, b)
"""


@pytest.mark.parametrize(("writer", "reader"), [("jax", "plugjax"), ("plugjax", "jax")])
def test_checkpoints_of_tensorstore_are_those_of_jax(tmp_path, writer, reader):
    pytest.importorskip("tensorstore")
    for name, action in ((writer, "save"), (reader, "load")):
        program = tmp_path / f"{name}_program.py"
        program.write_text(JAX.format(name=name))
        subprocess.run([sys.executable, program, action, tmp_path / "c"], check=True, timeout=100)
    assert sorted(os.listdir(tmp_path / "c")) == ["array_store", "pytreedef.json"]
