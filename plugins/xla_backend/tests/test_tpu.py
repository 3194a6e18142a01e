"""TPUs of this machine: found on the PCI bus, and what an absent or broken runtime costs."""

import subprocess
import sys

import pytest

from plugjax_xla import own_clients, pjrt, tpu_plugin
from plugjax_xla.own_clients import XlaBackend

CHIP, NETWORK_CARD = ("0x1ae0", "0x0063"), ("0x1ae0", "0x0042")


@pytest.fixture
def bus(tmp_path, monkeypatch):
    """Put devices on a bus of vendors and numbers."""
    monkeypatch.setattr(tpu_plugin, "_PCI", tmp_path)

    def put(*devices):
        for i, (vendor, number) in enumerate(devices):
            folder = tmp_path / f"0000:00:{i:02}.0"
            folder.mkdir()
            (folder / "vendor").write_text(f"{vendor}\n")
            (folder / "device").write_text(f"{number}\n")

    return put


def test_chips_are_counted(bus):
    assert tpu_plugin.tpu_chips() == 0
    bus(CHIP, NETWORK_CARD, ("0x10de", "0x0063"), CHIP)
    assert tpu_plugin.tpu_chips() == 2


def test_a_device_that_cannot_be_read_is_no_chip(bus, tmp_path):
    bus(CHIP)
    (tmp_path / "0000:00:00.0" / "device").unlink()
    assert tpu_plugin.tpu_chips() == 0


def test_without_chips_no_client_is_asked_for(bus, monkeypatch):
    monkeypatch.setattr(tpu_plugin, "load_tpu_plugin", lambda: pytest.fail("libtpu is loaded"))
    with pytest.raises(pjrt.ClientUnavailable, match="no TPU chip"):
        tpu_plugin.make_tpu_client()
    assert {d.kind for d in XlaBackend().devices()} <= {"cpu", "cuda"}


def test_devices_of_chips(bus, monkeypatch, tmp_path):
    bus(CHIP)
    monkeypatch.setattr(own_clients, "tpu_library", lambda: tmp_path)
    # A runtime of the processor in the place of libtpu's.
    monkeypatch.setattr(pjrt, "tpu_client", lambda: pjrt.cpu_client(2))
    backend = XlaBackend()
    assert list(map(str, backend.devices()))[:2] == ["xla:tpu:0", "xla:tpu:1"]
    first = backend.devices()[0]
    assert first.platform == "tpu"
    assert not first.host_visible


def test_a_runtime_that_does_not_start_gives_no_devices(bus, monkeypatch, tmp_path):
    bus(CHIP)
    monkeypatch.setattr(own_clients, "tpu_library", lambda: tmp_path)

    def taken():
        raise pjrt.ClientUnavailable("the TPU is in use by another process")

    monkeypatch.setattr(pjrt, "tpu_client", taken)
    assert {d.kind for d in XlaBackend().devices()} <= {"cpu", "cuda"}


def test_the_library_is_named_by_a_variable(monkeypatch, tmp_path):
    library = tmp_path / "libtpu.so"
    monkeypatch.setenv("TPU_LIBRARY_PATH", str(library))
    assert tpu_plugin.tpu_library() is None
    library.touch()
    assert tpu_plugin.tpu_library() == library


def test_the_library_is_found_in_its_package(monkeypatch, tmp_path):
    monkeypatch.delenv("TPU_LIBRARY_PATH", raising=False)
    package = tmp_path / "libtpu"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "libtpu.so").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "libtpu", raising=False)
    assert tpu_plugin.tpu_library() == package / "libtpu.so"


@pytest.mark.skipif(tpu_plugin.tpu_library() is None, reason="libtpu is not installed")
def test_loading_the_library_leaves_no_variables_and_writes_nothing():
    code = (
        "import os, plugjax_xla.tpu_plugin as t; from plugjax_xla.jaxlib_shim import jaxlib; jaxlib();"
        "before = dict(os.environ); t.load_tpu_plugin(); t.load_tpu_plugin(); assert dict(os.environ) == before; input()"
    )
    command = [sys.executable, "-c", code]
    pipe = subprocess.PIPE
    first, second = (
        subprocess.Popen(command, stdin=pipe, stderr=pipe, stdout=pipe) for _ in range(2)
    )
    # Both have it loaded at one time.
    for process in (first, second):
        _, said = process.communicate(b"\n", timeout=120)
        assert (process.returncode, said) == (0, b"")
