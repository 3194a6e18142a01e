"""``jax._src.compiler``: the function that every compilation calls first, for programs that put another one in its place."""

from typing import Any


def backend_compile_and_load(backend: Any, *args: Any, **options: Any) -> None:
    """Nothing: the backend of plugjax compiles after it. ``backend.platform`` is the hardware's name."""
