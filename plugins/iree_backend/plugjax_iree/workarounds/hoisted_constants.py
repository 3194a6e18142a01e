"""Expressions of constants, which IREE compiles and runs one by one while it compiles the module.

With IREE 3.13 the density of Student's t compiles in 6 to 10 s, instead of 0.7 s. The flag turns this off. It stays on for modules with large
constants (embedded weights), whose expressions are worth computing once; a mask of 64 x 64 bools is none.
"""

import re

FLAG = "--iree-opt-const-expr-hoisting=false"
# 64 KiB, two digits a byte.
_LARGE_CONSTANT = re.compile(r'dense<"0x[0-9A-F]{131072}')


def apply(text: str) -> tuple[str, ...]:
    """The flag, for a module without large constants."""
    return () if _LARGE_CONSTANT.search(text) else (FLAG,)
