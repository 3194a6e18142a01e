"""What writes programs for runtimes without Python: see the hook ``plugjax_exporters``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from plugjax.core import registry
from plugjax.core.errors import UnknownBackendError


class Exporter(Protocol):
    """Compiles modules for a runtime."""

    def compile(self, stablehlo: str, target: Any) -> bytes:
        """The bytes of a compiled module.

        Args:
            stablehlo: the text of the module.
            target: a name, an object of the exporter's own, or ``None`` for this machine.
        """

    def write_parameters(self, path: Path, values: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Write the values of parameters into a file that is loaded beside the module."""


def exporter(name: str) -> Exporter:
    """The exporter for a runtime.

    Raises:
        UnknownBackendError: no plugin has one, or it cannot be loaded.
    """
    for found in registry.active().hook.plugjax_exporters():
        if name in found:
            try:
                loaded: Exporter = found[name]()
            except ImportError as error:
                raise UnknownBackendError(
                    f"export to {name} is not possible here: {error}. `plugjax doctor` says what is missing."
                ) from error
            return loaded
    raise UnknownBackendError(
        f"export to {name} needs a plugin with an exporter of this name. Install it: pip install plugjax-{name}."
    )
