"""Programs as files, under ``jax_dump_ir_to``: one for each compilation, as JAX names them."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plugjax.extend.core import ClosedJaxpr, config

_number = itertools.count()


def dump(jaxpr: ClosedJaxpr, device: Any, options: Mapping[str, Any]) -> None:
    """Write a program that is about to be compiled, in the forms that ``jax_dump_ir_modes`` names.

    ``stablehlo`` is what the backend's compiler takes: generated Python for NumPy. Other forms than this and ``jaxpr`` are not written.
    """
    folder, modes = Path(_folder()), config.read("dump_ir_modes").split(",")
    name = re.sub(r"[^\w.)( -]", "", str(options.get("name", "program")))
    number = next(_number)
    folder.mkdir(parents=True, exist_ok=True)
    if "jaxpr" in modes:
        (folder / f"jax_{number:06d}_{name}.jaxpr.txt").write_text(str(jaxpr))
    if "stablehlo" in modes and (dialects := device.backend.dialects):
        described = {**options, "debug_info": config.read("include_debug_info_in_dumps")}
        text = device.backend.lower(jaxpr, described, dialects[0])
        suffix = "mlir" if dialects[0] == "stablehlo" else "py"
        (folder / f"jax_ir{number:04d}_jit_{name}_compile.{suffix}").write_text(text)


def _folder() -> str:
    named: str = config.read("dump_ir_to")
    if named != "sponge":
        return named
    return os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", "sponge")
