"""The queues of a Vulkan device: a program uses one of them.

IREE 3.13 makes two queues of each device, and gives the second one what only copies: a condition that is read back. A thread waits for each, and both threads wake a
queue whose work waits for the other's. They take a number, one after the other, and signal it, in any order (``signal_wakeup`` in
``runtime/src/iree/hal/drivers/vulkan/queue.c``). Where the later number comes first, Mesa 22.3 gives up the device: the values of a
semaphore must increase.
"""

from plugjax_iree.mlir import Mlir, is_for_vulkan, operations, printed, set_parsed_attribute

_AFFINITY = b"stream.affinity.default"
_ALL, _FIRST = ">", ", [0]>"


def apply(mlir: Mlir, module: int) -> int:
    """Give all work to the first queue; returns the number of changes."""
    if not is_for_vulkan(mlir, module):
        return 0
    changes = 0
    # Constants that IREE keeps beside the program say where they are, too.
    for operation in (module, *operations(mlir, module)):
        if device := printed(mlir, operation, _AFFINITY):
            first = device.removesuffix(_ALL) + _FIRST
            set_parsed_attribute(mlir, operation, _AFFINITY, first)
            changes += 1
    return changes
