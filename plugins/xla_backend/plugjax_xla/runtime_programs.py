"""jaxlib's module of programs for XLA's runtime interface: the name of ``plugjax.extend.ifrt_programs``."""

from plugjax_xla.jaxlib_shim import jaxlib

ifrt_programs = jaxlib().extension.ifrt_programs

__all__ = ["ifrt_programs"]
