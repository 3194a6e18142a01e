"""Python functions in place of foreign ones, on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.errors import JaxRuntimeError
from plugjax.extend.rules import RuleSet, impl
from plugjax.ffi.attributes import Attributes, plain
from plugjax.ffi.call import ffi_call_p
from plugjax.ffi.targets import HOST, host_functions

rules = RuleSet(__name__)

HostArray = np.ndarray[Any, Any]


def no_function(target_name: str, platform: str) -> str:
    """What is said of a target without a function for a backend."""
    return (
        f"UNIMPLEMENTED: No registered implementation for custom call to {target_name} for platform {platform}: foreign functions "
        f"are XLA's. Run it there, jit(..., backend='xla'), or give a Python function of NumPy arrays: "
        f"ffi.register_ffi_target({target_name!r}, function, platform={HOST!r})."
    )


@rules.define(impl, ffi_call_p)
def _call(
    *arrays: Any,
    target_name: str,
    result_avals: Sequence[ShapedArray],
    attributes: Attributes,
    **_: Any,
) -> Sequence[Any]:
    function = host_functions.get(target_name)
    if function is None:
        raise JaxRuntimeError(no_function(target_name, HOST))
    found = function(*[np.array(x) for x in arrays], **plain(attributes))
    results = found if isinstance(found, (list, tuple)) else [found]
    if len(results) != len(result_avals):
        raise JaxRuntimeError(
            f"ffi_call to {target_name}: the function gave {len(results)} arrays, result_shape_dtypes declares {len(result_avals)}."
        )
    return [
        _checked(target_name, i, y, a)[()]
        for i, (y, a) in enumerate(zip(results, result_avals, strict=True))
    ]


def _checked(target_name: str, index: int, result: Any, aval: ShapedArray) -> HostArray:
    value = np.array(result)
    if (value.shape, value.dtype) != (aval.shape, aval.dtype):
        raise JaxRuntimeError(
            f"ffi_call to {target_name}: result {index} is {value.dtype}[{','.join(map(str, value.shape))}], "
            f"{aval.str_short()} is declared."
        )
    return value


def host_function(**params: Any) -> Callable[..., tuple[HostArray, ...]]:
    """The call of an equation with these parameters as a function of arrays."""
    call = partial(_call, **params)
    return lambda *arrays: tuple(np.asarray(y) for y in call(*arrays))
