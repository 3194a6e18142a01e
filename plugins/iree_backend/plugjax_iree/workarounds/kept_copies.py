"""Commands that only copy, on Vulkan devices: they are written for each call.

A program keeps the commands of a step that it may take again, and says at each call which memory they are for. The runtime of IREE 3.13 writes them
for the device at the first call, and again at later ones only if they start a kernel or fill memory. So what only copied, did so with
the memory of the first call. Commands that are for one use are not kept.
"""

from plugjax_iree.mlir import Mlir, in_all, is_for_vulkan, name_of, named, set_parsed_attribute

_COMMANDS = b"stream.cmd.execute"
_KERNEL = b"stream.cmd.dispatch"


def apply(mlir: Mlir, module: int) -> int:
    """Keep no commands that start no kernel; returns the number of changes."""
    if not is_for_vulkan(mlir, module):
        return 0
    changes = 0
    for commands in named(mlir, module, _COMMANDS):
        if not any(name_of(mlir, o) == _KERNEL for o in in_all(mlir, commands)):
            set_parsed_attribute(mlir, commands, b"once", "unit")
            changes += 1
    return changes
