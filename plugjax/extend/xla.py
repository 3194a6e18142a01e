"""Passes of the user's own in XLA's compiler: names of the plugin of XLA, looked up when they are asked for."""

from typing import Any

from plugjax.extend import extensions


def __getattr__(name: str) -> Any:
    return extensions.attribute("xla", "XLA's compiler", name)


def __dir__() -> list[str]:
    return extensions.names("xla")
