"""Copies between the host and memory that the host does not see, by way of memory that both see.

What fits into a slot is copied at once. Larger arrays go in pieces through two slots: while the device copies one piece, the host copies
another. The slots are made for the first large array and stay.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from plugjax_iree import native

if TYPE_CHECKING:
    from iree.runtime import HalBuffer, HalDevice

SLOT = 8 << 20
"""Bytes of a slot."""
_SLOTS = 2


class Staging:
    """The way between the host and one device.

    Args:
        hal: the device.
    """

    def __init__(self, hal: HalDevice) -> None:
        self._hal = hal
        self._lock = threading.Lock()
        self._slots: list[tuple[HalBuffer, np.ndarray[Any, Any]]] = []

    def get(self, source: HalBuffer) -> Any:
        """The bytes of a buffer, in memory of their own."""
        size = source.byte_length()
        if size == 0:
            return b""
        if size <= SLOT:
            return self._get_whole(source, size)
        found = np.empty(size, np.uint8)
        with self._lock:
            copies = _Copies(self._hal)
            slots = self._two()
            pieces = _pieces(size)
            for k, (start, length) in enumerate(pieces[:_SLOTS]):
                copies.begin(source, slots[k][0], start, 0, length)
            for k, (start, length) in enumerate(pieces):
                copies.wait(k)
                buffer, seen = slots[k % _SLOTS]
                found[start : start + length] = seen[:length]
                if k + _SLOTS < len(pieces):
                    following, count = pieces[k + _SLOTS]
                    copies.begin(source, buffer, following, 0, count)
        return found

    def put(self, data: np.ndarray[Any, Any], target: HalBuffer) -> None:
        """Fill a buffer with the bytes of an array.

        Args:
            data: of bytes, contiguous.
            target: as long.
        """
        with self._lock:
            copies = _Copies(self._hal)
            slots = self._two()
            pieces = _pieces(data.nbytes)
            for k, (start, length) in enumerate(pieces):
                if k >= _SLOTS:
                    copies.wait(k - _SLOTS)
                buffer, seen = slots[k % _SLOTS]
                seen[:length] = data[start : start + length]
                copies.begin(buffer, target, 0, start, length)
            copies.wait(len(pieces) - 1)

    def _get_whole(self, source: HalBuffer, size: int) -> Any:
        staged = self._allocate(size)
        copies = _Copies(self._hal)
        copies.begin(source, staged, 0, 0, size)
        copies.wait(0)
        return staged.map()

    def _two(self) -> list[tuple[HalBuffer, np.ndarray[Any, Any]]]:
        while len(self._slots) < _SLOTS:
            buffer = self._allocate(SLOT)
            self._slots.append((buffer, np.ndarray((SLOT,), np.uint8, buffer.map())))
        return self._slots

    def _allocate(self, size: int) -> HalBuffer:
        library = native.runtime()
        memory, usage = library.MemoryType, library.BufferUsage
        buffer: HalBuffer = self._hal.allocator.allocate_buffer(
            int(memory.HOST_LOCAL) | int(memory.DEVICE_VISIBLE),
            int(usage.TRANSFER) | int(usage.MAPPING),
            size,
        )
        return buffer


class _Copies:
    """Copies of a device, one after the other."""

    def __init__(self, hal: HalDevice) -> None:
        self._hal = hal
        self._semaphore = hal.create_semaphore(0)
        self._begun = 0

    def begin(
        self, source: HalBuffer, target: HalBuffer, start: int, target_start: int, length: int
    ) -> None:
        """Begin the next copy."""
        library = native.runtime()
        at = library.HalFence.create_at
        commands = library.HalCommandBuffer(self._hal)
        commands.copy(source, target, start, target_start, length, end=True)
        # Not in a list, though the binding documents one: IREE 3.13 then fails with a bad cast.
        self._hal.queue_execute(
            commands, at(self._semaphore, self._begun), at(self._semaphore, self._begun + 1)
        )
        self._begun += 1

    def wait(self, number: int) -> None:
        """Wait until a copy is done."""
        self._semaphore.wait(number + 1)


def _pieces(size: int) -> list[tuple[int, int]]:
    return [(start, min(SLOT, size - start)) for start in range(0, size, SLOT)]
