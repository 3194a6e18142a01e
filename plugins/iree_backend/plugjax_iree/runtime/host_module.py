"""Python functions that compiled modules call.

A compiled module imports ``host.NAME``; a VM module written in Python supplies it. Calls run on the
thread that runs the compiled function, in program order, also inside loops and branches (about 14
us each on ``local-sync``).

The convention that a lowering follows:

* Declare ``func.func private @host.NAME(tensor<...>, ...) -> (tensor<...>, ...)`` in the StableHLO
  module, with the static types of `HostFunction.in_specs` and `out_specs`, and ``func.call`` it.
  Nothing marks it as having effects, and nothing needs to: calls of declared functions are neither
  dropped, merged nor reordered.
* Scalars are tensors of rank 0, every operand and result is one VM reference.
  `HostFunction.calling_convention` says it in the VM's letters: version ``0``, operands, ``_``,
  results; an empty side is ``v`` (``"0rr_r"``, ``"0v_r"``, ``"0r_v"``).
"""

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from plugjax_iree import native

if TYPE_CHECKING:
    from iree.runtime import HalBufferView, VmModule, VmRef


class ArraySpec(NamedTuple):
    """Shape and dtype of one operand or result."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


class HostMemory(Protocol):
    """How arrays reach and leave a device; `RuntimeDevice` is one."""

    def put(self, array: np.ndarray, *, owned: bool = False) -> "HalBufferView":
        """A buffer on the device with the contents of `array`."""

    def get(
        self, view: "HalBufferView", dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> np.ndarray:
        """The contents of a buffer."""


class HostResultError(TypeError):
    """A host function returned something other than it declared."""


@dataclass(frozen=True)
class HostFunction:
    """A Python function with the types under which compiled code calls it.

    Attributes:
        name: an identifier, unique in its module; compiled code says ``host.NAME``.
        in_specs: types of the operands.
        out_specs: types of the results; empty for a function called for its effect.
        callable: takes one read-only array per operand, valid during the call (copy what you keep),
            and returns a tuple or list of arrays, or None if there are no results.
    """

    name: str
    in_specs: tuple[ArraySpec, ...]
    out_specs: tuple[ArraySpec, ...]
    callable: Callable[..., Sequence[Any] | None]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_]\w*", self.name):
            raise ValueError(f"HostFunction: {self.name!r} is not an identifier.")
        for field in ("in_specs", "out_specs"):
            specs = tuple(ArraySpec(tuple(s), np.dtype(d)) for s, d in getattr(self, field))
            object.__setattr__(self, field, specs)

    @property
    def symbol(self) -> str:
        """The name of the declaration in the compiled module."""
        return f"host.{self.name}"

    @property
    def calling_convention(self) -> str:
        """Operands and results in the VM's letters."""
        operands, results = "r" * len(self.in_specs), "r" * len(self.out_specs)
        return f"0{operands or 'v'}_{results or 'v'}"

    def call(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """Call the function and check its results.

        Raises:
            HostResultError: results that differ from `out_specs` in number, shape or dtype.
        """
        results = self.callable(*arrays)
        if results is None and not self.out_specs:
            return []
        if not isinstance(results, tuple | list):
            raise HostResultError(
                f"host function {self.name!r} returned {type(results).__name__}; "
                f"needed a tuple of {len(self.out_specs)} arrays."
            )
        if len(results) != len(self.out_specs):
            raise HostResultError(
                f"host function {self.name!r} returned {len(results)} results; "
                f"declared {len(self.out_specs)}."
            )
        # `ascontiguousarray` would make a scalar an array of rank 1.
        checked = [np.asarray(result) for result in results]
        for index, (array, spec) in enumerate(zip(checked, self.out_specs, strict=True)):
            if array.shape != spec.shape or array.dtype != spec.dtype:
                raise HostResultError(
                    f"host function {self.name!r} returned {ArraySpec(array.shape, array.dtype)} "
                    f"as result {index}; declared {spec}."
                )
        return checked


_raised = threading.local()


def take_exception() -> BaseException | None:
    """The exception that a host function raised last on this thread, once.

    The VM carries no Python objects through its errors. The exception is kept here until the call of the VM
    returns.
    """
    exception: BaseException | None = getattr(_raised, "exception", None)
    _raised.exception = None
    return exception


def create_host_module(functions: Sequence[HostFunction], memory: HostMemory) -> "VmModule":
    """A VM module named ``host`` with one export per function.

    It must precede the compiled module in its context.

    Args:
        functions: with distinct names.
        memory: the device that runs the compiled module.
    """
    names = [function.name for function in functions]
    if len(set(names)) != len(names):
        raise ValueError(f"create_host_module: names are not distinct: {', '.join(names)}.")
    interface = native.runtime().PyModuleInterface("host", _no_state)
    for function in functions:
        method = _as_method(function, memory)
        interface.export(function.name, function.calling_convention, method)
    return interface.create()


def _no_state(_interface: object) -> object:
    """What the VM keeps per context: nothing."""
    return object()


def _as_method(function: HostFunction, memory: HostMemory) -> Callable[..., Any]:
    view_type = native.runtime().HalBufferView

    def method(_state: object, *operands: "VmRef") -> "VmRef | tuple[VmRef, ...] | None":
        try:
            arrays = [
                memory.get(operand.deref(view_type), spec.dtype, spec.shape)
                for operand, spec in zip(operands, function.in_specs, strict=True)
            ]
            refs = tuple(memory.put(result).ref for result in function.call(*arrays))
        except BaseException as exception:
            _raised.exception = exception
            # The VM would format a whole traceback into its message; the exception itself arrives
            # by `take_exception`.
            raise RuntimeError(
                f"host function {function.name!r} raised {type(exception).__name__}"
            ) from None
        if not refs:
            return None
        return refs[0] if len(refs) == 1 else refs

    return method
