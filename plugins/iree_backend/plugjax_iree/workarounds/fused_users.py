"""Fusion of operations with several users.

IREE 3.13 fuses operations with several users wrongly. If one user is a gather of one element, only that element is computed, for the other
users too. If two results of a fused operation become equal, one is removed, and users of the results behind it keep their old positions.
The flag turns such fusions off; a layer norm is slower by it, other benchmarks are not.
"""

FLAG = "--iree-dispatch-creation-fuse-multi-use=false"


def apply(text: str) -> tuple[str, ...]:
    """The flag, for every module."""
    return (FLAG,)
