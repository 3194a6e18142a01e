"""Names of ``plugjax.extend.backend`` that are of XLA's runtime."""

from types import ModuleType
from typing import Any

from plugjax_xla.client_factories import register_backend_factory
from plugjax_xla.compile_options import get_compile_options
from plugjax_xla.jaxlib_shim import proxy_module

ifrt_proxy: ModuleType


def __getattr__(name: str) -> Any:
    # Late, so that the other names can be asked for without jaxlib.
    if name == "ifrt_proxy":
        return proxy_module()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["get_compile_options", "ifrt_proxy", "register_backend_factory"]
