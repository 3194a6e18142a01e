"""Expressions of scalar literals, which IREE compiles and runs one by one while it compiles the module.

With IREE 3.13 the density of Student's t compiles in 6 to 10 s, instead of 0.7 s. The flag turns this off. It stays on for modules with large
constants (embedded weights), whose expressions are worth computing once.
"""

FLAG = "--iree-opt-const-expr-hoisting=false"
_LARGE_CONSTANT = 'dense<"0x'


def apply(text: str) -> tuple[str, ...]:
    """The flag, for a module without large constants."""
    return () if _LARGE_CONSTANT in text else (FLAG,)
