"""MLIR's intermediate representation: contexts, types, attributes, operations."""

from jaxlib.mlir.ir import *  # noqa: F403  # all of it, by the names of the bindings
