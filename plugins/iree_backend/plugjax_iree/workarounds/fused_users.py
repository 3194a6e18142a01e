"""IREE's own fusion of operations with several users, which is turned off.

IREE 3.13 fuses them right before it divides the program into kernels. If two results of a fused operation are equal, one is removed from the
kernel, and users of the results behind it keep their old positions. `early_fusion` runs the same fusion before, and removes what becomes equal
while the operation is in no kernel yet.
"""

FLAG = "--iree-dispatch-creation-fuse-multi-use=false"


def apply(text: str) -> tuple[str, ...]:
    """The flag, for every module."""
    return (FLAG,)
