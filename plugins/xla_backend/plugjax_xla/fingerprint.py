"""What compiled code depends on, for keys: the runtime, and the processor.

XLA's CPU compiler uses every instruction set of the machine it runs on and calls the result "cpu". Code in a shared
home folder must not run on another machine.
"""

import functools
import hashlib
import platform
from collections.abc import Sequence
from pathlib import Path

from plugjax_xla.jaxlib_shim import jaxlib

_CPUINFO = Path("/proc/cpuinfo")

# x86 and Arm have different names for the same fields.
_MODEL_FIELDS = {
    "vendor_id", "cpu family", "model", "model name", "stepping", "flags",
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features",
}  # fmt: skip


def compiled_for(
    platform_name: str, platform_version: str, kind: str, xla_flags: str
) -> tuple[str, ...]:
    """What determines the compiler's output for a module and its options.

    Args:
        platform_name: of the client, as ``cpu``.
        platform_version: what the client says of its runtime.
        kind: of the device.
        xla_flags: the environment variable when the runtime started.
    """
    # Code for other devices does not depend on the processor that compiles it.
    processor = (f"cpu {cpu_fingerprint()}",) if platform_name == "cpu" else ()
    return (
        f"jaxlib {jaxlib().version}",
        f"platform {platform_name} {platform_version}",
        f"device {kind}",
        *processor,
        f"XLA_FLAGS {xla_flags}",
    )


def digest(described: Sequence[str]) -> bytes:
    """What stands before the bytes of an executable, of what `compiled_for` gives."""
    return hashlib.sha256("\n".join(described).encode()).digest()


@functools.cache
def cpu_fingerprint() -> str:
    """Hash of the model and the instruction sets of this processor, stable across restarts."""
    described = "\n".join([platform.system(), platform.machine(), *_cpu_description()])
    return hashlib.sha256(described.encode()).hexdigest()[:32]


def _cpu_description() -> list[str]:
    try:
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return [platform.processor()]
    # A set: cores repeat each other, and some machines have two kinds of core.
    return sorted({line for line in text.splitlines() if _field(line) in _MODEL_FIELDS})


def _field(line: str) -> str:
    return line.partition(":")[0].strip()
