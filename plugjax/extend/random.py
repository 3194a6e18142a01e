"""Generators of random numbers: names of the plugin that brings random keys, looked up when they are asked for."""

from typing import Any

from plugjax.extend import extensions


def __getattr__(name: str) -> Any:
    return extensions.attribute("random", "generators of random numbers", name)


def __dir__() -> list[str]:
    return extensions.names("random")
