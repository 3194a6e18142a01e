"""What an artifact holds: the signature of a function, its module, and how to derive it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from plugjax.export.safety import DisabledSafetyCheck
from plugjax.export.spreading import Shardings
from plugjax.extend import pytree
from plugjax.extend.core import ClosedJaxpr, ShapedArray

minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10


@dataclass(frozen=True, eq=False)
class Artifact:
    """The fields of an exported function, which its class `Exported` describes."""

    fun_name: str
    in_tree: pytree.PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_tree: pytree.PyTreeDef
    out_avals: tuple[ShapedArray, ...]
    in_shardings_hlo: tuple[None, ...]
    out_shardings_hlo: tuple[None, ...]
    nr_devices: int
    platforms: tuple[str, ...]
    ordered_effects: tuple[Any, ...]
    unordered_effects: tuple[Any, ...]
    disabled_safety_checks: Sequence[DisabledSafetyCheck]
    mlir_module_serialized: bytes = field(repr=False)
    calling_convention_version: int
    module_kept_var_idx: tuple[int, ...]
    uses_global_constants: bool
    # How arguments and results are spread; ``None`` where nothing is said of it.
    _in_named_shardings: Shardings
    _out_named_shardings: Shardings
    _get_vjp: Callable[[Artifact], Any] | None = field(repr=False)
    # The program, if it is known.
    _program: ClosedJaxpr | None = field(default=None, repr=False)

    def has_vjp(self) -> bool:
        """Whether :meth:`vjp` gives something."""
        return self._get_vjp is not None

    def vjp(self) -> Any:
        """The derivative as an exported function.

        It takes the leaves of the arguments and then a cotangent for each result, and gives a cotangent for each argument.

        Raises:
            ValueError: the artifact holds none.
        """
        if self._get_vjp is None:
            raise ValueError(
                f"export: No VJP is available for '{self.fun_name}'. Serialise it with a higher vjp_order."
            )
        return self._get_vjp(self)
