"""Several processes on this machine, on XLA's runtime."""

import os
import signal
import subprocess
import sys

import pytest

from plugjax.clusters import Cluster, detect_cluster
from tests.meshes.launching import apart, launch, script


def test_four_processes(tmp_path):
    path = script(tmp_path, """
        print(jax.process_count(), jax.device_count(), jax.local_device_count(), jax.devices()[0].process_index)
        print(float(jax.jit(lambda x: (x * 2).sum())(x)), x.is_fully_addressable, len(x.addressable_shards), len(x.global_shards))
        ring = [(i, (i + 1) % 4) for i in range(4)]
        f = jax.shard_map(lambda v: lax.ppermute(v, "x", ring) + lax.psum(v, "x"), mesh=mesh, in_specs=P("x"), out_specs=P("x"))
        print(hosts.process_allgather(f(x), tiled=True).tolist())
        local = jax.make_array_from_process_local_data(rows, np.full(2, me, "f4"))
        print(local.shape, hosts.process_allgather(local, tiled=True).tolist())
        print(hosts.broadcast_one_to_all(np.float32(7 + me)), hosts.process_allgather(np.int32(me)).tolist())
        hosts.sync_global_devices("end")
        try:
            np.asarray(x)
        except RuntimeError as error:
            print(str(error)[:60])
        try:
            hosts.assert_equal(np.int32(me))
        except AssertionError as error:
            print("differs")
        w = jax.device_put(np.ones((2, 2), "f4"), jax.NamedSharding(mesh, P()))
        g = jax.jit(jax.grad(lambda w, x: ((x.reshape(4, 2) @ w) ** 2).mean()))(w, x)
        print(np.asarray(g).tolist(), (jnp.ones(2) + me).tolist())
    """)  # fmt: skip
    lines, done = launch(path, "-n", "4")
    assert done.returncode == 0, done.stdout
    for index in range(4):
        assert lines[index] == [
            "4 4 1 0",
            "56.0 False 1 4",
            "[18.0, 23.0, 12.0, 17.0, 14.0, 19.0, 16.0, 21.0]",
            "(8,) [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]",
            "7.0 [0, 1, 2, 3]",
            "Fetching value for an array that spans non-addressable (non ",
            *(["differs"] if index else []),
            f"[[31.0, 31.0], [38.0, 38.0]] {[1.0 + index] * 2}",
        ]


def test_a_process_that_dies_is_named(tmp_path):
    path = script(tmp_path, """
        total = jax.jit(lambda x: x.sum())
        total(x).block_until_ready()
        if me == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            for _ in range(1000):
                total(x).block_until_ready()
        except RuntimeError as error:
            print(type(error).__name__, str(error))
    """)  # fmt: skip
    (code, _, said), (died, pid, _) = apart(path, 2)
    assert f"JaxRuntimeError process 1 (pid {pid} on this machine) has ended" in "\n".join(said)
    assert (code, died) == (0, -signal.SIGKILL)


def test_launch_ends_the_others_when_one_fails(tmp_path):
    path = script(tmp_path, """
        import time
        if me == 1:
            raise SystemExit(7)
        time.sleep(100)
    """)  # fmt: skip
    _, done = launch(path, "-n", "2")
    assert done.returncode == 7
    assert "process 1 ended with exit status 7: ending the others" in done.stdout


def test_the_first_process_ends_last(tmp_path):
    path = script(tmp_path, """
        group = jax.distributed.group()
        if me == 1:
            for _ in range(2):
                try:
                    group.get("nothing", 1.0)
                except RuntimeError as error:
                    print(str(error).split(":")[0])
            print(group.get("plugjax/places/0", 1.0).decode().split(" ")[1].isdigit())
    """)  # fmt: skip
    lines, done = launch(path, "-n", "2")
    assert done.returncode == 0, done.stdout
    assert lines == {1: ["DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", "True"]}


@pytest.fixture
def heeds_interrupts():
    """What is started here heeds interrupts, though jobs in the background of a shell ignore them."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.usefixtures("heeds_interrupts")
def test_one_interrupt_ends_all(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "import os, time\n"
        "try:\n    print('ready', os.getpid())\n    time.sleep(100)\nexcept KeyboardInterrupt:\n    print('interrupted')\n    raise SystemExit(3)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "plugjax", "launch", "-n", "3", str(path)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 128 + signal.SIGINT
    assert sorted(rest.splitlines()) == [
        *(f"[{i}] interrupted" for i in range(3)), "interrupted: ending all processes",
    ]  # fmt: skip
    for line in said:
        with pytest.raises(ProcessLookupError):
            os.kill(int(line.split()[-1]), 0)


def test_programs_that_differ_are_named(tmp_path):
    path = script(tmp_path, """
        big = np.full(100, me, "f4")
        for name, f in (("scaled", lambda x: x.sum() * (me + 2.0)), ("shifted", lambda x: x.sum() + jnp.asarray(big).sum())):
            f.__name__ = name
            try:
                jax.jit(f)(x)
            except RuntimeError as error:
                print(str(error))
        hosts.sync_global_devices("end")
    """)  # fmt: skip
    lines, done = launch(path, "-n", "2")
    assert done.returncode == 0, done.stdout
    for index in range(2):
        scaled, shifted = lines[index]
        assert scaled.startswith(
            f"process {index} compiles another program than process {1 - index} for 'scaled'"
        )
        assert "the program differs" in scaled
        assert "'shifted'" in shifted
        assert "the constants differs" in shifted


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Cluster()),
        ({"JAX_COORDINATOR_ADDRESS": "a:1"}, Cluster("a:1")),
        (
            {"PLUGJAX_COORDINATOR_ADDRESS": "a:1", "PLUGJAX_NUM_PROCESSES": "3", "PLUGJAX_PROCESS_ID": "2"},
            Cluster("a:1", 3, 2),
        ),
        (
            {"SLURM_JOB_ID": "4101", "SLURM_STEP_NODELIST": "node[007-012],other", "SLURM_NTASKS": "8", "SLURM_PROCID": "5"},
            Cluster("node007:61445", 8, 5),
        ),
        (
            {"SLURM_JOB_ID": "1", "SLURM_STEP_NODELIST": "host1,host2", "SLURM_NTASKS": "2", "SLURM_PROCID": "0"},
            Cluster("host1:61441", 2, 0),
        ),
        (
            {
                "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911",
                "OMPI_COMM_WORLD_SIZE": "4",
                "OMPI_COMM_WORLD_RANK": "1",
            },
            Cluster("10.96.0.1:61440", 4, 1),
        ),
    ],
)  # fmt: skip
def test_the_environment_says_it(environment, expected):
    assert detect_cluster(environment=environment) == expected


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="is unknown"):
        detect_cluster("pigeons")
