"""Operations that IREE merges although several others use them.

IREE 3.13 merges operations with several users wrongly: of a value that a gather reads at one place, only that place is computed for the other
users too; and of two results that become equal one is left, and the numbers of the others are not changed. The flag makes it merge none; the
benchmarks are as fast with it.
"""

FLAG = "--iree-dispatch-creation-fuse-multi-use=false"


def apply(text: str) -> tuple[str, ...]:
    """The flag, for every module."""
    return (FLAG,)
