"""The TPU runtime of XLA: libtpu, found and started without jax.

The wheel ``libtpu`` holds one shared object, which is both the runtime of TPUs and their compiler. It compiles without a chip. Its client is
asked for only where the PCI bus has a chip: without one libtpu searches the network for a description of the machine.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plugjax_xla.jaxlib_shim import ClientUnavailable, jaxlib

_PCI = Path("/sys/bus/pci/devices")
_VENDOR = "0x1ae0"
# v2 and v3, v4, v5p, v5e, v6e, 7x. The vendor has other devices too, such as network cards.
_CHIPS = ("0x0027", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076")

# What libtpu would ask the machine's metadata server for, write files about, and lock for one process. It is read while the library starts;
# topologies have their own descriptions.
_WITHOUT_CHIPS = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "TPU_LOG_DIR": "disabled",
}


def tpu_library() -> Path | None:
    """Where libtpu is: at ``TPU_LIBRARY_PATH``, or in the installed wheel; ``None`` if there is none."""
    named = os.environ.get("TPU_LIBRARY_PATH")
    if named:
        return Path(named) if Path(named).is_file() else None
    spec = importlib.util.find_spec("libtpu")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        library = Path(folder, "libtpu.so")
        if library.is_file():
            return library
    return None


def tpu_chips() -> int:
    """The number of TPU chips on the PCI bus; opens no device."""
    return sum(
        _read(device / "vendor") == _VENDOR and _read(device / "device") in _CHIPS
        for device in _PCI.glob("*")
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def load_tpu_plugin() -> None:
    """Load libtpu into the process, unless it is there already.

    Raises:
        ClientUnavailable: it is not installed, or does not start.
    """
    client = jaxlib().xla_client
    try:
        # jax may have loaded it in the same process; loading it twice is an error.
        if not client.pjrt_plugin_loaded("tpu"):
            library = tpu_library()
            if library is None:
                raise ClientUnavailable(
                    "TPU needs libtpu, which is not installed. pip install libtpu"
                )
            with _environment({} if tpu_chips() else _WITHOUT_CHIPS):
                client.load_pjrt_plugin_dynamically("tpu", str(library))
                client.initialize_pjrt_plugin("tpu")
        elif not client.pjrt_plugin_initialized("tpu"):
            client.initialize_pjrt_plugin("tpu")
    except ClientUnavailable:
        raise
    except RuntimeError as error:
        raise ClientUnavailable(f"libtpu did not start: {error}") from error


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Have environment variables, unless the user has set them, while the block runs."""
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def make_tpu_client() -> Any:
    """A new client for the TPUs of this machine.

    Raises:
        ClientUnavailable: there is no chip, libtpu is not installed, or another process uses the chips.
    """
    if not tpu_chips():
        raise ClientUnavailable("there is no TPU chip on this machine's PCI bus")
    load_tpu_plugin()
    try:
        return jaxlib().xla_client.make_c_api_client("tpu", {})
    except RuntimeError as error:
        raise ClientUnavailable(f"the TPU runtime did not start: {error}") from error
