"""Export of programs to places without Python: IREE modules with named entry points and parameters."""

from plugjax.export.entry import Entry
from plugjax.export.files import read_iree
from plugjax.export.iree import Exported, to_iree, to_stablehlo

__all__ = ["Entry", "Exported", "read_iree", "to_iree", "to_stablehlo"]
