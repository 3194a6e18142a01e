"""How JAX assembles the options of XLA's compiler: a name of the plugin of XLA, looked up when it is asked for."""

from typing import Any

from plugjax.extend import extensions


def __getattr__(name: str) -> Any:
    if name != "create_compile_options":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return extensions.attribute("compile options", "options of XLA's compiler", name)


def __dir__() -> list[str]:
    return ["create_compile_options"]
