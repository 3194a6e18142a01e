"""Modules that run in this process are linked with its libraries; those for elsewhere need none."""

import os
import subprocess
import sys

import numpy as np
import pytest

import plugjax
from plugjax_iree.compile import CompileTarget, compile_stablehlo, linking
from plugjax_iree.compile.written import read_module, write_module
from plugjax_iree.runtime import open_device
from plugjax_iree.runtime.reservations import remove_reservations

LIBRARY, EMBEDDED = b"system-elf", b"embedded-elf"
# The second operation becomes a call of the C library.
REMAINDERS = """module @m {
  func.func public @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.add %x, %y : tensor<8xf32>
    %1 = stablehlo.remainder %0, %y : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}"""
X, Y = np.arange(8, dtype="float32"), np.full(8, 1.75, "float32")

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the linker of the compiler's package is used on Linux"
)


@pytest.fixture(autouse=True)
def found_again():
    """What is found is kept for the process; tests change what there is."""
    forget()
    yield
    forget()


def forget():
    linking.flags.cache_clear()
    linking.surroundings.cache_clear()


def results(vmfb):
    device = open_device("local-sync://")
    call = device.load(vmfb).function("main")
    (result,) = call([device.put(X), device.put(Y)])
    return device.get(result, np.dtype("float32"), (8,))


def test_compiled_functions_are_linked_and_exported_modules_are_not():
    with plugjax.default_device("iree"):
        compiled = plugjax.jit(lambda x, y: (x + y) % y).lower(X, Y).compile()
        np.testing.assert_array_equal(compiled(X, Y), np.fmod(X + Y, Y))
    module = compiled.runtime_executable().vmfb
    assert LIBRARY in module
    assert EMBEDDED not in module
    exported = compile_stablehlo(REMAINDERS, CompileTarget())
    assert EMBEDDED in exported
    assert LIBRARY not in exported
    np.testing.assert_array_equal(results(exported), np.fmod(X + Y, Y))


def test_flags_of_the_user_decide():
    options = {"iree-llvmcpu-link-embedded": True}
    with plugjax.default_device("iree"):
        compiled = plugjax.jit(lambda x: x + 1, compiler_options=options).lower(X).compile()
    assert EMBEDDED in compiled.runtime_executable().vmfb


def test_a_linker_in_a_folder_with_a_space(tmp_path, monkeypatch):
    folder = tmp_path / "a folder"
    folder.mkdir()
    linker = folder / "iree-lld"
    linker.symlink_to(linking._linker())
    monkeypatch.setattr(linking, "_linker", lambda: linker)
    module = compile_stablehlo(REMAINDERS, CompileTarget(), here=True)
    assert LIBRARY in module
    np.testing.assert_array_equal(results(module), np.fmod(X + Y, Y))


def test_a_function_that_no_library_has_is_compiled_with_the_module(monkeypatch):
    libraries = linking._libraries()
    monkeypatch.setattr(linking, "_libraries", lambda: [libraries[-1]] * 2)
    module = compile_stablehlo(REMAINDERS, CompileTarget(), here=True)
    assert EMBEDDED in module
    np.testing.assert_array_equal(results(module), np.fmod(X + Y, Y))


@pytest.mark.parametrize(
    ("name", "found"),
    [("_linker", None), ("_libraries", []), ("_runs_temporary_files", False)],
)
def test_without_what_it_takes_modules_are_embedded(name, found, monkeypatch):
    monkeypatch.setattr(linking, name, lambda: found)
    assert linking.flags() == ()
    assert EMBEDDED in compile_stablehlo(REMAINDERS, CompileTarget(), here=True)


def test_elsewhere_than_on_linux_nothing_is_looked_for(monkeypatch):
    monkeypatch.setattr(linking.sys, "platform", "darwin")
    for name in ("_linker", "_libraries", "_runs_temporary_files"):
        monkeypatch.setattr(linking, name, pytest.fail)
    assert linking.flags() == ()


def test_a_temporary_folder_that_does_not_exist(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    assert linking.flags() == ()


def test_only_names_that_nothing_is_written_to_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    reserved, library = tmp_path / "iree_dylib_a1B2c3", tmp_path / "iree_dylib_d4E5f6_mem_.so"
    reserved.touch()
    # What another process has opened and not yet written.
    library.touch()
    remove_reservations()
    assert not reserved.exists()
    assert library.exists()


def test_a_linked_module_is_read_where_it_can_be_loaded_and_with_the_same_c_library(monkeypatch):
    target = CompileTarget()
    linked = write_module(compile_stablehlo(REMAINDERS, target, here=True), target)
    embedded = write_module(compile_stablehlo(REMAINDERS, target), target)
    assert LIBRARY in read_module(linked, target)
    for change in (
        lambda: monkeypatch.setattr(os, "confstr", lambda _: "glibc 1.0"),
        lambda: monkeypatch.setattr(linking, "_runs_temporary_files", lambda: False),
    ):
        change()
        forget()
        with pytest.raises(ValueError, match="C library"):
            read_module(linked, target)
        assert EMBEDDED in read_module(embedded, target)
        monkeypatch.undo()
        forget()


def test_a_linked_module_has_other_surroundings_with_another_c_library(monkeypatch):
    here = linking.surroundings()
    monkeypatch.setattr(os, "confstr", lambda _: "glibc 1.0")
    forget()
    assert linking.surroundings() == ("glibc 1.0", *here[1:])
    assert here[0] != "glibc 1.0"


def test_no_files_are_left(tmp_path):
    script = """if True:
        import numpy as np, plugjax
        f = plugjax.jit(lambda x: x % 1.5)
        assert b"system-elf" in f.lower(np.ones(3, "float32")).compile().runtime_executable().vmfb
        f(np.ones(3, "float32"))
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PLUGJAX_BACKEND": "iree"}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []
