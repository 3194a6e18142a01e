"""What lowering rules are written with: names of the package of StableHLO, looked up when they are asked for."""

from typing import Any

from plugjax.extend import extensions


def __getattr__(name: str) -> Any:
    return extensions.attribute("lowering", "lowerings to StableHLO", name)


def __dir__() -> list[str]:
    return extensions.names("lowering")
