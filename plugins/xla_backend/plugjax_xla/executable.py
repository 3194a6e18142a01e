"""Compiled functions of XLA."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from plugjax_xla.host_callbacks import ArraySpec, raise_original
from plugjax_xla.jaxlib_shim import collect_garbage, fork_error, garbage_due

Buffer = Any


class _Device(Protocol):
    """What an executable asks of its device."""

    client: Any

    def adopt(self, buffer: Buffer) -> Buffer: ...

    def deserialize(self, blob: bytes, out_specs: Sequence[ArraySpec]) -> "PjrtExecutable": ...

    def result_handler(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any: ...


class PjrtExecutable:
    """A compiled function. A call is the hot path and checks nothing.

    XLA compares the sizes of the arguments with the parameters, not their shapes or dtypes; the caller must check
    those. Without host callbacks, a call is ``executable.execute(buffers).consume_with_handlers(executable.handlers)``,
    with an occasional `collect_garbage`.
    """

    __slots__ = (
        "__weakref__", "_blob", "_links", "device", "execute", "handlers", "has_host_callbacks", "out_specs", "raw",
    )  # fmt: skip

    def __init__(
        self,
        device: _Device,
        raw: Any,
        out_specs: Sequence[tuple[Sequence[int], Any]],
        *,
        has_host_callbacks: bool,
        blob: bytes | None = None,
    ) -> None:
        self.device: Any = device
        self.raw = raw
        self.out_specs: tuple[ArraySpec, ...] = tuple(
            (tuple(shape), np.dtype(dtype)) for shape, dtype in out_specs
        )
        self.has_host_callbacks = has_host_callbacks
        self._blob = blob
        self._links: list[Callable[[Any], None]] = []
        self.execute = self._adopting(raw) if device.client.forked else raw.execute_sharded
        self.handlers = [device.result_handler(*spec) for spec in self.out_specs]
        device.client.executables.add(self)

    def link(self, set_execute: Callable[[Any], None]) -> None:
        """Register the holder of `execute`, which changes after a fork; `handlers` stays the same list."""
        self._links.append(set_execute)

    def orphan(self) -> None:
        """Called in a forked process."""
        self._relink(self._execute_after_fork)

    def _relink(self, execute: Callable[..., Any]) -> None:
        self.execute = execute
        for set_execute in self._links:
            set_execute(execute)

    def _execute_after_fork(self, buffers: Sequence[Buffer], **options: Any) -> Any:
        if self.has_host_callbacks:
            raise fork_error("a program that calls Python cannot be run in a forked process")
        fresh = self.device.deserialize(self.serialize(), self.out_specs)
        self.raw, self._blob = fresh.raw, fresh._blob
        self.handlers[:] = fresh.handlers
        self._relink(fresh.execute)
        return fresh.execute(buffers, **options)

    def _adopting(self, raw: Any) -> Callable[..., Any]:
        execute, adopt = raw.execute_sharded, self.device.adopt

        def run(buffers: Sequence[Buffer], **options: Any) -> Any:
            return execute([adopt(buffer) for buffer in buffers], **options)

        return run

    def __call__(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        """Start the function and return buffers of its results, which may not be ready yet.

        Raises:
            Exception: the exception of a host callback that has run already; otherwise `get` and `block_until_ready` of
                the results raise it.
        """
        if next(garbage_due):
            collect_garbage()
        try:
            return self.execute(buffers).consume_with_handlers(self.handlers)
        except RuntimeError as error:
            raise_original(error)

    def call_with_token(self, buffers: Sequence[Buffer]) -> tuple[list[Buffer], Any]:
        """Like a call; the token is ready when the effects are done, even without results.

        `block_until_ready` accepts the token.
        """
        if next(garbage_due):
            collect_garbage()
        try:
            results = self.execute(buffers, with_tokens=True)
            token = results.consume_token()
            return results.consume_with_handlers(self.handlers), token
        except RuntimeError as error:
            raise_original(error)

    def serialize(self) -> bytes:
        """The machine code, for `PjrtDevice.deserialize` in this or another process.

        Raises:
            ValueError: it calls Python objects of this process.
        """
        if self.has_host_callbacks:
            raise ValueError("an executable with host callbacks cannot be serialized.")
        if self._blob is not None:
            # XLA does not serialize completely what it has deserialized.
            return self._blob
        blob: bytes = self.raw.serialize()
        return blob

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate: "flops", "bytes accessed", "transcendentals" and their parts."""
        costs = self.raw.cost_analysis()
        return dict(costs[0] if isinstance(costs, list) else costs)

    def memory_analysis(self) -> dict[str, int]:
        """Sizes in bytes of code, arguments, results, aliases and temporaries."""
        stats = self.raw.get_compiled_memory_stats()
        fields = {name: getattr(stats, name) for name in dir(stats) if name.endswith("_in_bytes")}
        return {name: value for name, value in fields.items() if isinstance(value, int)}

    def hlo_text(self) -> str:
        """The optimised program, as HLO text."""
        return "\n\n".join(module.to_string() for module in self.raw.hlo_modules())
