"""Modules for IREE's runtimes: what ``plugjax.export.to_iree`` asks for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from plugjax_iree.compile import CompileTarget, compile_stablehlo
from plugjax_iree.runtime.parameters import write_archive


class IreeExporter:
    """Compiles to ``.vmfb`` modules and writes ``.irpa`` archives."""

    def compile(self, stablehlo: str, target: Any) -> bytes:
        """The bytes of a module.

        Args:
            stablehlo: the text of the module.
            target: a CPU name such as ``"host"`` (the default) or ``"generic"``, or a ``CompileTarget``.
        """
        if target is None or isinstance(target, str):
            target = CompileTarget("local", target or "host")
        return compile_stablehlo(stablehlo, target)

    def write_parameters(self, path: Path, values: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Write an archive of parameters."""
        write_archive(path, dict(values))
