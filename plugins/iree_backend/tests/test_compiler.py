import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
import plugjax_iree
from plugjax_iree.compile import (
    CompileError,
    CompileTarget,
    compile_stablehlo,
    compiler_fingerprint,
    pipeline,
    process,
)
from plugjax_iree.compile.pipeline import compile_here
from plugjax_iree.runtime import open_device

FLAGS = ["--iree-input-type=stablehlo", *CompileTarget().flags()]
UNKNOWN_OP = """module @m {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.ad %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}"""
NO_LOWERING = """module @m {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @foo(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}"""
CRASHES = """module @m {
  func.func public @main(%x: tensor<4x0xf32>, %y: tensor<0x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
      : (tensor<4x0xf32>, tensor<0x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}"""
MATMUL = """module @m {
  func.func public @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}"""
NEGATE = """module @m {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.negate"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}"""
SINE_F64 = """module @m {
  func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
    %0 = stablehlo.sine %x : tensor<3xf64>
    return %0 : tensor<3xf64>
  }
}"""


def attempt(text: str, target: CompileTarget | None = None, **options: bool) -> bytes:
    return compile_stablehlo(text, target or CompileTarget(), **options)


def run(vmfb: bytes, *arrays: np.ndarray) -> np.ndarray:
    device = open_device("local-sync")
    (result,) = device.load(vmfb).function("main")([device.put(a) for a in arrays])
    return device.get(result, arrays[0].dtype, arrays[0].shape)


def test_compiles_and_runs_a_contraction(compiled):
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    np.testing.assert_array_equal(run(compiled(MATMUL), x), x @ x)


def test_f64_transcendental_stays_f64(compiled):
    x = np.array([0.5, 1.0, 1e3])
    np.testing.assert_allclose(run(compiled(SINE_F64), x), np.sin(x), rtol=1e-14)


@pytest.mark.parametrize("subprocess_mode", [False, True])
def test_parse_error_shows_the_source_line(subprocess_mode):
    with pytest.raises(CompileError) as caught:
        attempt(UNKNOWN_OP, subprocess=subprocess_mode)
    assert caught.value.stage == "parse"
    assert "stablehlo.ad' is unknown" in str(caught.value)
    assert "3 | %0 = stablehlo.ad %x, %x" in str(caught.value)
    assert caught.value.diagnostics[0].severity == "error"


def test_every_set_of_flags_is_tried_and_the_first_error_raised():
    with pytest.raises(CompileError) as caught:
        attempt(NO_LOWERING)
    assert caught.value.stage == "compile"
    assert "custom_call" in str(caught.value)
    assert caught.value.__notes__ == [
        "Nor with line 3 compiled alone.",
        "Nor with default flags.",
        "Nor with --iree-opt-level=O0.",
        "Nor with one operation at a time.",
    ]


def test_compile_error_survives_pickling():
    with pytest.raises(CompileError) as caught:
        attempt(UNKNOWN_OP)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert copy.diagnostics == caught.value.diagnostics


def test_a_crash_of_the_compiler_is_a_compile_error():
    with pytest.raises(CompileError) as caught:
        attempt(CRASHES, CompileTarget("local", "vmvx"))
    assert caught.value.stage == "crash"
    assert "SIGFPE" in str(caught.value)
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(run(attempt(NEGATE), x), -x)


def test_a_malformed_program_is_found_where_not_each_pass_is_verified(monkeypatch):
    seen = []

    def malformed(invocation):
        seen.append(invocation)
        return len(seen) < 2

    assert compile_here(NEGATE, FLAGS, each_pass=False) == compile_here(NEGATE, FLAGS)
    monkeypatch.setattr(pipeline, "_is_well_formed", malformed)
    with pytest.raises(CompileError, match="stage: compile"):
        compile_here(NEGATE, FLAGS, each_pass=False)
    assert len(seen) == 2


@pytest.mark.parametrize("subprocess_mode", [False, True])
def test_a_module_compiled_in_either_process_runs(subprocess_mode):
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(run(attempt(NEGATE, subprocess=subprocess_mode), x), -x)


def test_a_helper_that_was_killed_is_replaced():
    attempt(NEGATE)
    for helper in process._pool._idle:
        os.kill(helper._process.pid, signal.SIGKILL)
        helper._process.wait()
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(run(attempt(NEGATE), x), -x)


@pytest.mark.skipif(
    not Path("/proc/self/limits").exists(),
    reason="reads the limits of a process as Linux shows them",
)
def test_a_helper_takes_no_more_than_half_of_the_memory():
    helper = process.Helper()
    try:
        helper.ask({"flags": ["--iree-input-type=stablehlo"], "options": {}}, b"no module")
        limits = Path(f"/proc/{helper._process.pid}/limits").read_text()
    finally:
        helper.stop()
    limit = next(line.split()[3] for line in limits.splitlines() if "address space" in line)
    assert int(limit) <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def test_interruption_ends_a_compilation_at_once():
    many = "\n".join(
        f"    %{i + 1} = stablehlo.dot_general %{i}, %x, contracting_dims = [1] x [0] "
        ": (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"
        for i in range(800)
    )
    module = f"""module @m {{
      func.func public @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {{
        %0 = stablehlo.negate %x : tensor<4x4xf32>
        {many}
        return %800 : tensor<4x4xf32>
      }}
    }}"""
    done = in_new_process(f"""
        import os, signal, threading, time
        from plugjax_iree.compile import process
        from plugjax_iree.compile import CompileTarget, compile_stablehlo
        compile_stablehlo({NEGATE!r}, CompileTarget())
        helper = process._pool._idle[0]._process
        interrupted = []
        def interrupt():
            interrupted.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.3, interrupt).start()
        try:
            compile_stablehlo({module!r}, CompileTarget())
        except KeyboardInterrupt:
            print(time.monotonic() - interrupted[0] < 1, helper.poll() is not None)
    """)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_the_helper_ends_with_its_parent():
    done = in_new_process(f"""
        import os
        from plugjax_iree.compile import process
        from plugjax_iree.compile import CompileTarget, compile_stablehlo
        compile_stablehlo({NEGATE!r}, CompileTarget())
        print(process._pool._idle[0]._process.pid, flush=True)
        os._exit(0)
    """)
    status = Path(f"/proc/{int(done.stdout)}/stat")
    deadline = time.monotonic() + 20
    # A zombie has ended too: its parent may not have waited for it.
    while status.exists() and status.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_several_threads_compile_at_once():
    x = np.arange(4, dtype=np.float32)
    with ThreadPoolExecutor(4) as pool:
        for vmfb in pool.map(lambda _: attempt(NEGATE), range(6)):
            np.testing.assert_array_equal(run(vmfb, x), -x)


def test_the_compiler_is_not_loaded_in_the_process_that_asks():
    done = in_new_process(f"""
        import sys
        from plugjax_iree.compile import CompileTarget, compile_stablehlo
        compile_stablehlo({NEGATE!r}, CompileTarget())
        print("iree.compiler" in sys.modules, "libIREECompiler" in open("/proc/self/maps").read())
    """)
    assert done.stdout.split() == ["False", "False"], done.stderr


def test_fingerprint_changes_with_the_sources(tmp_path):
    """A workaround that is corrected must not be served the code of the old one."""
    package = Path(plugjax_iree.__file__).parent
    copy = tmp_path / "plugjax_iree"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    program = "import sys; sys.path.insert(0, sys.argv[1]); import plugjax_iree.compile as c; print(c.compiler_fingerprint())"

    def fingerprint():
        command = [sys.executable, "-c", program, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    before = fingerprint()
    assert before == f"{compiler_fingerprint()}\n"
    with open(copy / "workarounds" / "late_users.py", "a") as file:
        file.write("# Corrected.\n")
    assert fingerprint() != before


def test_unknown_cpu_does_not_end_the_process():
    with pytest.raises(CompileError) as caught:
        attempt(NEGATE, CompileTarget("local", "pentium-99"))
    assert caught.value.stage == "crash"


def test_unknown_flag():
    with pytest.raises(CompileError, match="option not found: no-such-flag") as caught:
        attempt(NEGATE, CompileTarget(extra=("--no-such-flag=1",)))
    assert caught.value.stage == "flags"


@pytest.mark.parametrize(
    ("driver", "arch", "extra", "message"),
    [
        ("metal", "", (), "unknown driver 'metal'"),
        ("hip", "", (), "hip needs an arch"),
        ("cuda", "sm 80", (), "not the name of an architecture"),
        ("local", "", ("--iree-hal-local-target-device-backends=bogus",), "local backend 'bogus'"),
        ("local", "", ("-O3",), "not a flag"),
    ],
)
def test_impossible_targets_are_refused_at_once(driver, arch, extra, message):
    with pytest.raises(ValueError, match=message):
        CompileTarget(driver, arch, extra)


def test_targets_are_hashable_and_say_their_flags():
    assert hash(CompileTarget()) == hash(CompileTarget("local", "host"))
    assert "--iree-llvmcpu-target-cpu=host" in CompileTarget().flags()
    assert "--iree-cuda-target=sm_89" in CompileTarget("cuda", "sm_90").flags()
    assert CompileTarget("vulkan").flags() == ("--iree-hal-target-device=vulkan",)


@pytest.mark.parametrize(
    "target",
    [
        CompileTarget("cuda", "sm_90"),
        CompileTarget("vulkan", "ampere"),
        CompileTarget("hip", "gfx942"),
        CompileTarget("local", "vmvx"),
    ],
    ids=str,
)
def test_other_targets_compile(target):
    assert len(attempt(NEGATE, target)) > 1000


def test_requests_do_not_wait_for_those_in_the_background(monkeypatch):
    """Those leave a place free, however many they are."""

    class Helper:
        flags = ()
        is_alive = True

        def ask(self, header, body):
            if body:
                begun.append(body)
                assert release.wait(60)
            return header, body

        def stop(self):
            pass

    def ask_in_background():
        with process.background(True):
            pool.ask({}, b"long", ())

    begun, release = [], threading.Event()
    monkeypatch.setattr(process, "Helper", lambda flags: Helper())
    pool = process._Pool()
    most = max(1, (os.cpu_count() or 1) - 1)
    threads = [threading.Thread(target=ask_in_background) for _ in range(most + 2)]
    try:
        for thread in threads:
            thread.start()
        assert pool.ask({"an": "answer"}, b"", ()) == ({"an": "answer"}, b"")
        assert len(begun) <= most
    finally:
        release.set()
        for thread in threads:
            thread.join()
    assert len(begun) == len(threads)


def in_new_process(program: str) -> subprocess.CompletedProcess[str]:
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": folder},
        check=False,
    )


def test_compiling_in_a_forked_child_does_not_hang():
    done = in_new_process(f"""
        import os, signal
        from plugjax_iree.compile import CompileTarget, compile_stablehlo
        def compile():
            return compile_stablehlo({NEGATE!r}, CompileTarget())
        compile()
        child = os.fork()
        if child == 0:
            signal.alarm(40)
            os._exit(len(compile()) < 1000)
        print(os.waitpid(child, 0)[1])
    """)
    assert done.stdout.split() == ["0"], done.stderr


def test_importing_and_fingerprinting_loads_no_native_library():
    done = in_new_process("""
        import sys
        import plugjax_iree.compile, plugjax_iree.runtime, plugjax_iree.runtime.parameters
        print(plugjax_iree.compile.compiler_fingerprint())
        print([m for m in sys.modules if m.startswith("iree")])
    """)
    assert done.stdout.splitlines() == [str(compiler_fingerprint()), "[]"], done.stderr


def test_fingerprint_names_both_libraries():
    compiler, runtime, *_ = compiler_fingerprint()
    assert compiler.startswith("iree-base-compiler==3.")
    assert runtime.startswith("iree-base-runtime==3.")


PHASES = {
    "input": "linalg.",
    "global-optimization": "hal.tensor.import",
    "dispatch-creation": "flow.dispatch.workgroups",
    "flow": "flow.executable ",
    "stream": "stream.executable ",
    "executable-sources": "hal.executable.variant ",
    "executable-targets": "llvm.func ",
    "vm": "vm.module ",
}


@pytest.mark.parametrize("phase", PHASES)
def test_the_program_after_a_phase(phase):
    text = compile_stablehlo(MATMUL, CompileTarget(), phase=phase).decode()
    assert PHASES[phase] in text
    later = list(PHASES.values())[list(PHASES).index(phase) + 1 :]
    assert not any(name in text for name in later)


@pytest.mark.parametrize("options", [{}, {"iree-opt-level": "O2"}, {"subprocess": False}])
def test_numbers_are_rounded_to_bfloat16_with_any_flags(options):
    x = np.linspace(0.1, 3, 64, dtype="float32")

    def rounded(x):
        return x.astype(jnp.bfloat16).sum(dtype="float32")

    with plugjax.default_device("iree"):
        found = plugjax.jit(rounded, compiler_options=options)(x)
    np.testing.assert_allclose(found, x.astype(jnp.bfloat16).astype("float32").sum(), rtol=1e-6)
    assert abs(found - x.sum()) > 1e-3
