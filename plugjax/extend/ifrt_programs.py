"""Programs of XLA's runtime interface: jaxlib's module, which the plugin of XLA gives when it is asked for."""

from typing import Any

from plugjax.extend import extensions


def __getattr__(name: str) -> Any:
    return extensions.attribute("ifrt_programs", "programs of XLA's runtime", name)


def __dir__() -> list[str]:
    return extensions.names("ifrt_programs")
