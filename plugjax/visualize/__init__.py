"""Pictures of programs, of arrays over devices, of runs and of memory, for notebooks and for files."""

from typing import TYPE_CHECKING

from plugjax.extend.transforms import late

# Loaded on first use, each by itself.
_LATE = {
    "Picture": "plugjax.visualize.picture",
    "Run": "plugjax.visualize.timelines",
    "array": "plugjax.visualize.spreading",
    "explain": "plugjax.visualize.fusion",
    "jaxpr": "plugjax.visualize.programs",
    "live_arrays": "plugjax.visualize.held",
    "memory": "plugjax.visualize.liveness",
    "mesh": "plugjax.visualize.spreading",
    "record": "plugjax.visualize.timelines",
    "record_memory": "plugjax.visualize.memory_runs",
    "sharding": "plugjax.visualize.spreading",
    "timeline": "plugjax.visualize.timelines",
}
if TYPE_CHECKING:
    from plugjax.visualize.fusion import explain
    from plugjax.visualize.held import live_arrays
    from plugjax.visualize.liveness import memory
    from plugjax.visualize.memory_runs import record_memory
    from plugjax.visualize.picture import Picture
    from plugjax.visualize.programs import jaxpr
    from plugjax.visualize.spreading import array, mesh, sharding
    from plugjax.visualize.timelines import Run, record, timeline

if not TYPE_CHECKING:
    # Type checkers report names that do not exist.
    __getattr__ = late(globals(), _LATE)


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATE})


__all__ = [
    "Picture", "Run", "array", "explain", "jaxpr", "live_arrays", "memory", "mesh", "record", "record_memory", "sharding", "timeline",
]  # fmt: skip
