"""Functions that differ between platforms.

The platform of a program is known when it is compiled, so the choice is made then: all branches are staged and
transformed like those of ``cond``, and only the branch for the platform is compiled. The others need not be possible
there.

A platform has two names: that of its backend (``numpy``, ``xla``, ``iree``) and, if no branch has that one, that of the
hardware (``cpu``, ``cuda``, ``vulkan`` ...), which is JAX's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax.extend import pytree
from plugjax.extend.core import (
    Array,
    ClosedJaxpr,
    Tracer,
    common_placement,
    default_placement,
    state,
)
from plugjax.extend.execution import EvalTrace
from plugjax.extend.transforms import inlined
from plugjax.lax.control_flow.cond import bind_branches, cond_p

Platforms = tuple[tuple[str, ...] | None, ...]


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Apply the function for the program's platform.

    Args:
        *args: pytrees.
        default: for platforms that are not named.
        **per_platform: functions of ``args``, by the name of the hardware (``cpu``, ``cuda``, ``vulkan`` ...), as in
            JAX, or of the backend (``numpy``, ``xla``, ``iree``), which comes first. Unless they are applied at once,
            their results have one structure, and equal shapes and dtypes.

    Raises:
        NotImplementedError: no function for the platform; raised when the program is compiled for it.
        TypeError: a function is not callable, or results differ in type.
        ValueError: ``gpu`` is not a platform; ``cuda`` and ``rocm`` are.

    Differs from JAX:
        Backends have names too.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> def scaled(x):
        ...     return lax.platform_dependent(x, cpu=lambda x: 2 * x, cuda=lambda x: 3 * x)
        >>> plugjax.jit(scaled)(jnp.arange(3))
        Array([0, 2, 4], dtype=int32)
    """
    functions: dict[Any, list[str]] = {}
    for name, function in per_platform.items():
        if not callable(function):
            raise TypeError(f"lax.platform_dependent: the function for '{name}' is not callable.")
        if name == "gpu":
            raise ValueError(
                "lax.platform_dependent: 'gpu' is no single platform. Name 'cuda' or 'rocm'."
            )
        functions.setdefault(function, []).append(name)
    branches, platforms = list(functions), [tuple(names) for names in functions.values()]
    names = [f"the branch for {', '.join(p)}" for p in platforms]
    known: list[tuple[str, ...] | None] = list(platforms)
    if default is not None:
        if not callable(default):
            raise TypeError("lax.platform_dependent: default is not callable.")
        branches.append(default)
        known.append(None)
        names.append("the default branch")
    leaves = pytree.leaves(args)
    if type(state.trace) is EvalTrace and not any(isinstance(x, Tracer) for x in leaves):
        return branches[platform_branch(tuple(known), *platform_of(leaves))](*args)
    if not branches:
        raise NotImplementedError("lax.platform_dependent: there is no function at all.")
    return bind_branches(
        np.int32(0), tuple(branches), args, tuple(names), "platform_dependent", branches_platforms=tuple(known)
    )  # fmt: skip


def platform_branch(platforms: Platforms, backend: str, hardware: str) -> int:
    """The index of the branch for a platform.

    Args:
        platforms: for each branch its platforms, ``None`` for the default.
        backend: name of the platform's backend.
        hardware: name of its hardware.

    Raises:
        NotImplementedError: no branch is for the platform.
    """
    for name in (backend, hardware):
        for i, names in enumerate(platforms):
            if names is not None and name in names:
                return i
    if None in platforms:
        return platforms.index(None)
    described = ", ".join(name for names in platforms if names is not None for name in names)
    raise NotImplementedError(
        f"lax.platform_dependent: no branch for platform '{backend}' on '{hardware}': there are branches for "
        f"{described or 'no platform'}. Give a default."
    )


@dataclass(frozen=True)
class _Chosen:
    """Which branch is for a platform."""

    backend: str
    hardware: str

    def __call__(self, params: Mapping[str, Any]) -> ClosedJaxpr | None:
        """The branch, of the parameters of a ``cond``; ``None`` if it chooses by a value, or there is none for the platform."""
        platforms = params.get("branches_platforms")
        if platforms is None:
            return None
        try:
            chosen = platform_branch(platforms, self.backend, self.hardware)
        except NotImplementedError:
            return None
        branch: ClosedJaxpr = params["branches"][chosen]
        return branch


def for_platform(backend: str, hardware: str, program: ClosedJaxpr) -> ClosedJaxpr:
    """A program with the branches for a platform in place of choices between platforms. One without a branch stays."""
    return inlined(program, {cond_p: _Chosen(backend, hardware)})


def platform_of(values: Sequence[Any]) -> tuple[str, str]:
    """The names of the platform on which an operation on values runs."""
    given = [x._placement for x in values if type(x) is Array]
    chosen = common_placement(given, "platform_dependent") or default_placement()
    return chosen.device.backend.name, chosen.device.hardware
