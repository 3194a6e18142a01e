"""XLA's descriptions of shardings as bytes: names of the plugin of XLA, looked up when they are asked for."""

from typing import Any

from plugjax.extend import extensions


def __getattr__(name: str) -> Any:
    return extensions.attribute("sharding", "XLA's descriptions of shardings", name)


def __dir__() -> list[str]:
    return extensions.names("sharding")
