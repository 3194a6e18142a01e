"""How many devices a backend makes of the processor."""

from __future__ import annotations

import os
import re

from plugjax.core.config import config


def virtual_cpu_devices() -> int:
    """The option ``num_cpu_devices``, else what ``XLA_FLAGS`` says (``--xla_force_host_platform_device_count``), else 1."""
    chosen = config.read("num_cpu_devices")
    if chosen is not None and chosen > 0:
        return int(chosen)
    found = re.findall(
        r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", "")
    )
    return max(int(found[-1]), 1) if found else 1
