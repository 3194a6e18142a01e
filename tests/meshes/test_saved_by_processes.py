"""Checkpoints that several processes write and read together."""

import numpy as np

import plugjax
from plugjax.experimental.array_serialization.pytree_serialization import load, save
from plugjax.sharding import SingleDeviceSharding
from tests.meshes.launching import launch, script
from tests.meshes.scripts import run

HEAD = """
from plugjax.experimental.array_serialization import npy_parts, pytree_serialization as checkpoints
folder = {folder!r}
whole = jax.NamedSharding(mesh, P())
w = jax.make_array_from_callback((2, 2), whole, lambda i: np.eye(2, dtype="f4"))
"""


def _program(tmp_path, body):
    return script(tmp_path, HEAD.format(folder=str(tmp_path / "c")), body)


def test_other_numbers_of_processes(tmp_path):
    path = _program(tmp_path, """
        keys = jax.make_array_from_callback((4,), rows, lambda i: jax.random.split(jax.random.key(1), 4)[i])
        tree = {"x": x, "w": w, "k": keys, "n": np.int32(7) * np.ones(1, "i4"), "none": None}
        checkpoints.save(tree, folder)
        try:
            checkpoints.save({"own": jnp.ones(2)}, folder)
        except ValueError as error:
            print(str(error).split(":")[0] + ":" + str(error).split(":")[1])
        try:
            checkpoints.save(tree, folder + str(me))
        except ValueError as error:
            print(str(error).split(";")[0])
    """)  # fmt: skip
    lines, done = launch(path, "-n", "2")
    assert done.returncode == 0, done.stdout
    for index in range(2):
        assert lines[index] == [
            "save: Passing fully addressable arrays to a multiprocess serialization is not allowed",
            "save: Saving to different locations on different hosts is not supported",
        ]
    # One process.
    found = load(tmp_path / "c", SingleDeviceSharding(plugjax.devices()[0]))
    assert found["x"].tolist() == list(range(8))
    assert found["w"].tolist() == [[1, 0], [0, 1]]
    keys = plugjax.random.split(plugjax.random.key(1), 4)
    assert np.array_equal(plugjax.random.key_data(found["k"]), plugjax.random.key_data(keys))
    assert found["n"].tolist() == [7]
    # Eight devices of another backend.
    said = run("numpy", f"""
        from plugjax.experimental.array_serialization.pytree_serialization import load
        x = load({str(tmp_path / "c")!r}, jax.NamedSharding(mesh, P()), mask={{"x": True, "w": False, "k": False, "n": False, "none": False}})["x"]
        print(x.tolist(), len(x.addressable_shards))
    """)  # fmt: skip
    assert said == "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0] 8\n"
    # Four processes.
    path = _program(tmp_path, """
        back = checkpoints.load(folder, {"x": rows, "w": whole, "k": rows, "n": whole, "none": None})
        print(back["x"].addressable_data(0).tolist(), back["w"].addressable_data(0).tolist(), float(jax.jit(jnp.sum)(back["x"])))
        print(np.asarray(jax.random.key_data(back["k"].addressable_data(0))).tolist())
    """)  # fmt: skip
    lines, done = launch(path, "-n", "4")
    assert done.returncode == 0, done.stdout
    words = np.asarray(plugjax.random.key_data(keys)).tolist()
    for index in range(4):
        assert lines[index] == [
            f"[{2.0 * index}, {2.0 * index + 1}] [[1.0, 0.0], [0.0, 1.0]] 28.0",
            f"[{words[index]}]",
        ]


def test_a_process_that_is_killed_while_all_write(tmp_path):
    save({"old": np.arange(3)}, tmp_path / "c")
    path = _program(tmp_path, """
        second, own_blocks = 2 * x, npy_parts.own_blocks
        def killed(array):
            if me == 1 and array is second:
                os.kill(os.getpid(), signal.SIGKILL)
            return own_blocks(array)
        npy_parts.own_blocks = killed
        checkpoints.save([x, second, 3 * x], folder)
    """)  # fmt: skip
    _, done = launch(path, "-n", "2")
    assert done.returncode != 0
    found = load(tmp_path / "c", SingleDeviceSharding(plugjax.devices()[0]))
    assert found["old"].tolist() == [0, 1, 2]


def test_an_error_in_one_process_is_heard_by_all(tmp_path):
    path = _program(tmp_path, """
        own_blocks = npy_parts.own_blocks
        def full(array):
            if me == 1:
                raise OSError(28, "No space left on device")
            return own_blocks(array)
        npy_parts.own_blocks = full
        try:
            checkpoints.save([x], folder)
        except (OSError, RuntimeError) as error:
            print(type(error).__name__, error)
        hosts.sync_global_devices("end")
    """)  # fmt: skip
    lines, done = launch(path, "-n", "2")
    assert done.returncode == 0, done.stdout
    assert lines[1] == ["OSError [Errno 28] No space left on device"]
    assert lines[0] == [
        f"RuntimeError save: process 1 failed on {tmp_path / 'c'}: OSError: [Errno 28] No space left on device"
    ]
    assert not list(tmp_path.glob("*c*/"))
