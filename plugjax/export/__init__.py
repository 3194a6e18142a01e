"""Export of programs: artifacts that plugjax and JAX load, and IREE modules for places without Python."""

from typing import TYPE_CHECKING

from plugjax.extend.transforms import late, show_only

if TYPE_CHECKING:
    from plugjax.export.artifact import (
        maximum_supported_calling_convention_version,
        minimum_supported_calling_convention_version,
    )
    from plugjax.export.entry import Entry
    from plugjax.export.exported import Exported
    from plugjax.export.exporting import default_export_platform, export
    from plugjax.export.files import read_iree
    from plugjax.export.iree import IreeModule, to_iree, to_stablehlo
    from plugjax.export.reading import deserialize
    from plugjax.export.safety import DisabledSafetyCheck
    from plugjax.export.symbolic.dimension import (
        SymbolicScope,
        is_symbolic_dim,
        symbolic_shape,
    )
    from plugjax.export.symbolic.specs import symbolic_args_specs
    from plugjax.export.trees import (
        register_namedtuple_serialization,
        register_pytree_node_serialization,
    )

# The package is imported with its plugin, so that its names are loaded on first use.
_LATE = {
    name: f".{module}"
    for module, names in {
        "entry": ("Entry",),
        "exported": ("Exported",),
        "artifact": (
            "maximum_supported_calling_convention_version",
            "minimum_supported_calling_convention_version",
        ),
        "exporting": ("default_export_platform", "export"),
        "files": ("read_iree",),
        "iree": ("IreeModule", "to_iree", "to_stablehlo"),
        "safety": ("DisabledSafetyCheck",),
        "reading": ("deserialize",),
        "symbolic.dimension": ("SymbolicScope", "is_symbolic_dim", "symbolic_shape"),
        "symbolic.specs": ("symbolic_args_specs",),
        "trees": ("register_namedtuple_serialization", "register_pytree_node_serialization"),
    }.items()
    for name in names
}

__all__ = [
    "DisabledSafetyCheck",
    "Entry",
    "Exported",
    "IreeModule",
    "SymbolicScope",
    "default_export_platform",
    "deserialize",
    "export",
    "is_symbolic_dim",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "read_iree",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "symbolic_args_specs",
    "symbolic_shape",
    "to_iree",
    "to_stablehlo",
]


if not TYPE_CHECKING:
    # Type checkers report names that do not exist.
    __getattr__ = late(globals(), _LATE)


show_only(globals(), __all__)
