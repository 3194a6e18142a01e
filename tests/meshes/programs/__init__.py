"""Programs over a mesh of eight devices, for plugjax and for JAX, by topic.

Each gets a namespace with the framework's names and a mesh of 4 x 2 devices with axes ``x`` and ``y``, and returns a tree of
arrays. What is written to the file: for each leaf its values, dtype and partition spec; or the type of the error.
"""

import importlib

from tests.meshes.programs.table import OF_PARTITIONER as OF_PARTITIONER, PROGRAMS as PROGRAMS

# In this order their names are counted off.
for _topic in (
    "values",
    "computing",
    "explicit",
    "in_force",
    "mapping",
    "deriving",
    "parallel_maps",
    "calling",
    "memories",
    "refusals",
    "showing",
    "partitioning",
    "own_types",
    "summands",
):
    importlib.import_module(f"{__name__}.{_topic}")
