"""MLIR's passes."""

from jaxlib.mlir.passmanager import *  # noqa: F403  # all of it, by the names of the bindings
