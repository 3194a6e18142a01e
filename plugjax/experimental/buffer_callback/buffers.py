"""What a callback on buffers is given: memory, and the place where it runs."""

from __future__ import annotations

import enum
from typing import Any

from plugjax.extend.errors import JaxRuntimeError


class ExecutionStage(enum.Enum):
    """A stage of a program's life.

    Example:
        >>> from plugjax.experimental.buffer_callback import ExecutionStage
        >>> [stage.name for stage in ExecutionStage]
        ['INSTANTIATE', 'PREPARE', 'INITIALIZE', 'EXECUTE']
    """

    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3


class ExecutionContext:
    """Where a callback runs.

    Args:
        native: the backend's own context, if it has one.
    """

    __slots__ = ("_native",)

    def __init__(self, native: Any = None) -> None:
        self._native = native

    @property
    def stage(self) -> ExecutionStage:
        """The stage of the program: its execution."""
        if self._native is None:
            return ExecutionStage.EXECUTE
        return ExecutionStage[self._native.stage.name]

    @property
    def stream(self) -> int:
        """The stream of a GPU.

        Raises:
            JaxRuntimeError: the program runs elsewhere.
        """
        if self._native is None:
            raise JaxRuntimeError(
                "UNIMPLEMENTED: a stream is of a GPU, and the callback runs elsewhere."
            )
        return int(self._native.stream)


class Buffer:
    """Memory of an operand or a result, for the time of the call.

    NumPy reads it on a processor (``numpy.asarray``), libraries for GPUs by ``__cuda_array_interface__``, others by ``__dlpack__``.
    Memory of results is written in place; that of operands must not be written.

    Args:
        memory: a NumPy array, or the backend's own buffer.
        writeable: whether it is of a result.

    Differs from JAX:
        NumPy arrays of operands are read-only, as other programs may read their memory.
    """

    __slots__ = ("_memory", "writeable")

    def __init__(self, memory: Any, writeable: bool) -> None:
        self._memory = memory
        self.writeable = writeable

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return tuple(self._memory.shape)

    @property
    def dtype(self) -> Any:
        """Element type."""
        return self._memory.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._memory.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._memory.__array__(dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._memory.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self._memory.__dlpack_device__()
        return device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface: dict[str, Any] = self._memory.__cuda_array_interface__
        return interface
