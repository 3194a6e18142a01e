"""Checks of what is exported, which the user may disable, and the custom calls that artifacts may hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class DisabledSafetyCheck:
    """A check that is not made; the constructors are :meth:`platform` and :meth:`custom_call`.

    Example:
        >>> from plugjax import export
        >>> export.DisabledSafetyCheck.custom_call("my_kernel")
        custom_call:my_kernel
    """

    _impl: str

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """An exported function may run on platforms that it was not exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """An exported function may hold calls of ``target_name``, though nothing guarantees that these stay as they are."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The target that is allowed, or ``None`` if this is another check."""
        found = re.match(r"custom_call:(.+)$", self._impl)
        return found.group(1) if found else None

    def __str__(self) -> str:
        return self._impl

    __repr__ = __str__


_LAPACK = tuple(
    f"lapack_{kind}{name}_ffi"
    for name in ("potrf", "geqrf", "orgqr", "ungqr", "syevd", "heevd", "geev", "gesdd", "getrf", "sytrd", "hetrd", "gehrd",
                 "gees", "trsm", "gtsv")
    for kind in "sdcz"
)  # fmt: skip

# Targets whose meaning JAX's developers keep; backends of XLA know them.
STABLE_TARGETS = frozenset((
    *_LAPACK, "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "cu_threefry2x32_ffi", "Eigh", "Qr", "LuDecomposition",
    "ApproxTopK", "shape_assertion", "stablehlo.dynamic_top_k", "stablehlo.dynamic_reduce_window",
    "stablehlo.dynamic_rng_bit_generator", "cusolver_getrf_ffi", "cusolver_geqrf_ffi", "cusolver_orgqr_ffi",
    "cusolver_potrf_ffi", "cusolver_syevd_ffi", "cusolver_gesvd_ffi", "cusolver_gesvdj_ffi", "cusolver_sytrd_ffi",
    "cusparse_gtsv2_ffi", "cu_lu_pivots_to_permutation",
))  # fmt: skip


def check_targets(targets: Iterable[str], disabled: Iterable[DisabledSafetyCheck]) -> None:
    """Refuse custom calls that may not be there, or mean another thing, where the artifact runs.

    Raises:
        ValueError: a target is neither stable nor allowed.
    """
    allowed = STABLE_TARGETS | {check.is_custom_call() for check in disabled}
    unstable = sorted(set(targets) - allowed)
    if unstable and "ALL" not in allowed:
        raise ValueError(
            f"export: Cannot serialize code with custom calls whose targets have no compatibility guarantees: {unstable}. "
            f"Allow them: disabled_checks=[DisabledSafetyCheck.custom_call({unstable[0]!r})]."
        )
