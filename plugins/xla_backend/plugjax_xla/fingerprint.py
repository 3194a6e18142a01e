"""Identity of the processor, for keys of compiled code.

XLA's CPU compiler uses every instruction set of the machine it runs on and calls the result "cpu". Code in a shared
home folder must not run on another machine.
"""

import functools
import hashlib
import platform
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")

# x86 and Arm have different names for the same fields.
_MODEL_FIELDS = {
    "vendor_id", "cpu family", "model", "model name", "stepping", "flags",
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features",
}  # fmt: skip


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
