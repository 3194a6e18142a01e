"""Processes that die, and processes that are told to end, while others go on; beside JAX where that goes on too."""

import signal

import pytest

import plugjax
from plugjax.experimental import multihost_utils
from tests.meshes.launching import HEAD, JAX_HEAD, apart, launch, script

both = pytest.mark.parametrize("head", [JAX_HEAD, HEAD], ids=["jax", "plugjax"])

TOTAL = """
programs = {}
def total(devices):
    spread = jax.NamedSharding(jax.sharding.Mesh(np.array(devices), ("x",)), P("x"))
    if len(devices) not in programs:
        programs[len(devices)] = jax.jit(lambda x: x.sum())
    x = jax.make_array_from_callback((len(devices),), spread, lambda i: np.ones(len(devices), "f4")[i])
    return float(programs[len(devices)](x))
"""

DEATH = """
with hosts.live_devices(jax.devices()) as live:
    print([d.process_index for d in live], total(live))
try:
    with hosts.live_devices(jax.devices()):
        raise LookupError("mine")
except LookupError as error:
    print(error)
try:
    with hosts.live_devices(jax.devices()) as live:
        if me == len(live) - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        total(live)
except hosts.ProcessFailureError as error:
    print({d.process_index for d in error.failed_devices}, isinstance(error.__cause__, Exception))
with hosts.live_devices(jax.devices()) as live:
    print([d.process_index for d in live], total(live))
"""


@both
def test_the_other_process_goes_on(tmp_path, head):
    path = script(tmp_path, TOTAL, DEATH, head=head)
    option = {"JAX_ENABLE_RECOVERABILITY": "1", "PLUGJAX_ENABLE_RECOVERABILITY": "1"}
    (code, _, said), (died, *_) = apart(path, 2, HEARTBEAT="4", **option)
    lines = [line for line in said if "coordination_service" not in line]
    assert lines == ["[0, 1] 2.0", "mine", "{1} True", "[0] 1.0"]
    assert (code, died) == (0, -signal.SIGKILL)


def test_all_others_go_on(tmp_path):
    # Two of them are no neighbours of the one that dies, and hear nothing of its end. Under JAX they wait on.
    path = script(tmp_path, TOTAL, DEATH)
    *others, (died, *_) = apart(path, 4, HEARTBEAT="4", PLUGJAX_ENABLE_RECOVERABILITY="1")
    for code, _, said in others:
        assert code == 0
        lines = [line for line in said if "coordination_service" not in line]
        assert lines == ["[0, 1, 2, 3] 4.0", "mine", "{3} True", "[0, 1, 2] 3.0"]
    assert died == -signal.SIGKILL


def test_a_process_that_dies_before_it_compiles(tmp_path):
    path = script(tmp_path, TOTAL, """
        try:
            with hosts.live_devices(jax.devices()) as live:
                if me == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                total(live)
        except hosts.ProcessFailureError as error:
            print(error)
            print(error.__cause__)
    """)  # fmt: skip
    (code, _, said), _ = apart(path, 2, HEARTBEAT="4", PLUGJAX_ENABLE_RECOVERABILITY="1")
    failed, cause = said[-2:]
    assert failed.startswith("live_devices: Devices failed: xla:cpu:2048. Their processes died")
    assert "and process 1 ended before. All processes whose devices run a program" in cause
    assert code == 0


def test_a_process_that_is_started_again(tmp_path):
    path = script(tmp_path, """
        if me == 1:
            os.execv(sys.executable, [sys.executable, __file__])
    """, head="import sys\n" + HEAD)  # fmt: skip
    (code, *_), (other_code, _, said) = apart(path, 2, PLUGJAX_ENABLE_RECOVERABILITY="1")
    assert (code, other_code) == (0, 1)
    assert "process 1 was started again, and the others go on without it" in "\n".join(said)


@both
def test_a_notice_reaches_all_processes(tmp_path, head):
    path = script(tmp_path, """
        import time
        for step in range(1000):
            if hosts.reached_preemption_sync_point(step):
                break
            if me == 1 and step == 3:
                os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.02)
        print("at", step)
        print("after", hosts.reached_preemption_sync_point(step + 1))
    """, head=head)  # fmt: skip
    (code, _, one), (other_code, _, other) = apart(path, 2)
    notes = [[line for line in said if line.startswith(("at", "after"))] for said in (one, other)]
    assert notes[0] == notes[1]
    at, after = notes[0]
    assert 3 < int(at.split()[1]) < 999
    assert after == "after False"
    assert (code, other_code) == (0, 0)


@both
def test_notices_may_be_turned_off(tmp_path, head):
    path = script(tmp_path, """
        try:
            hosts.reached_preemption_sync_point(0)
        except RuntimeError as error:
            print(error)
    """, head=head)  # fmt: skip
    option = {
        "JAX_ENABLE_PREEMPTION_SERVICE": "0", "PLUGJAX_ENABLE_PREEMPTION_SERVICE": "0",
    }  # fmt: skip
    for code, _, said in apart(path, 2, **option):
        assert code == 0
        assert "Preemption sync manager has not been initialized." in said[-1]


def test_sigterm_ends_programs_that_ask_for_no_notice(tmp_path):
    path = script(tmp_path, """
        hosts.sync_global_devices("begun")
        if me == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        hosts.sync_global_devices("ended")
    """)  # fmt: skip
    _, done = launch(path, "-n", "2")
    assert "process 1 ended with signal SIGTERM: ending the others" in done.stdout


def test_programs_of_some_processes(tmp_path):
    # Each process compiles programs for its own devices alone, and the two together others.
    path = script(tmp_path, TOTAL, """
        own = jax.local_devices()
        alone = jax.NamedSharding(jax.sharding.Mesh(np.array(own), ("x",)), P("x"))
        for scale in range(1 + me):
            print(float(jax.jit(lambda x: (x * (scale + 2.0)).sum())(jax.device_put(np.ones(2, "f4"), alone))))
        print(total(jax.devices()))
    """)  # fmt: skip
    lines, done = launch(path, "-n", "2")
    assert done.returncode == 0, done.stdout
    assert lines == {0: ["4.0", "2.0"], 1: ["4.0", "6.0", "2.0"]}


def test_one_process_alone(backend):
    devices = plugjax.devices(backend)
    with multihost_utils.live_devices(devices[::-1]) as live:
        assert (set(live), [d.id for d in live]) == (set(devices), sorted(d.id for d in devices))
    with pytest.raises(LookupError), multihost_utils.live_devices(devices):
        raise LookupError
    with (
        pytest.raises(ValueError, match="No devices provided"),
        multihost_utils.live_devices([]),
    ):
        pass
    assert multihost_utils.reached_preemption_sync_point(3) is False
