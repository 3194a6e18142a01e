"""The NumPy backend: host memory is device memory, and every primitive is a host kernel."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plugjax.extend.backend import Backend, Executable, virtual_cpu_devices
from plugjax.extend.core import ClosedJaxpr, Device, ShapedArray
from plugjax.extend.errors import JaxRuntimeError
from plugjax.extend.execution import QUIET, enter, leave, out_of_memory
from plugjax_numpy.codegen import generate


class HostProgram(Executable):
    """A generated Python function."""

    host = True

    def __init__(self, jaxpr: ClosedJaxpr) -> None:
        generated = generate(jaxpr)
        self._function = generated.function
        self._source = generated.source

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        """Run on NumPy values."""
        token = enter(QUIET)
        try:
            return self._function(*values)
        except MemoryError as error:
            raise out_of_memory(error) from None
        finally:
            leave(token)

    def as_text(self) -> str:
        """The generated source."""
        return self._source


class NumpyBackend(Backend):
    """Runs every primitive on NumPy, one call each; the oracle for the other backends."""

    name = "numpy"
    dialects = ("python",)

    def __init__(self) -> None:
        self._devices: list[Device] = []
        self._growth = threading.Lock()

    def devices(self) -> Sequence[Device]:
        """The host, as often as ``num_cpu_devices`` says; all have its memory."""
        count = virtual_cpu_devices()
        if len(self._devices) < count:
            with self._growth:
                for index in range(len(self._devices), count):
                    self._devices.append(Device(self, "", index, "NumPy on the host"))
        return self._devices[:count]

    def put(self, value: np.ndarray[Any, Any], device: Device) -> Any:
        """The array itself."""
        return value

    def get(self, buffer: Any, aval: ShapedArray, device: Device) -> np.ndarray[Any, Any]:
        """The array itself."""
        return buffer

    def compile(self, jaxpr: ClosedJaxpr, device: Device, options: Mapping[str, Any]) -> Executable:
        """Generate a Python function.

        Raises:
            JaxRuntimeError: an option of a compiler was given.
        """
        unknown = set(options) - {"name", "donated", "partition"}
        if unknown:
            raise JaxRuntimeError(
                f"INVALID_ARGUMENT: No such compile option: {', '.join(map(repr, sorted(unknown)))}. NumPy has none."
            )
        return HostProgram(jaxpr)

    def lower(self, jaxpr: ClosedJaxpr, options: Mapping[str, Any], dialect: str) -> str:
        """The source of the generated function."""
        return generate(jaxpr).source
