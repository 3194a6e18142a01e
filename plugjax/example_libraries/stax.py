"""Layers of neural networks as pairs of functions: the names of ``jax.example_libraries.stax``.

A layer is ``(init_fun, apply_fun)``: ``init_fun(key, input_shape) -> (output_shape, params)`` draws parameters, and
``apply_fun(params, inputs, rng=None) -> outputs`` applies the layer. Combinators make layers of layers and split keys among them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import plugjax.numpy as jnp
from plugjax import lax, random
from plugjax.extend.transforms import publish
from plugjax.nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from plugjax.nn.initializers import glorot_normal, normal, ones, zeros

__all__ = [
    "AvgPool", "BatchNorm", "Conv", "Conv1DTranspose", "ConvTranspose", "Dense", "Dropout", "Elu", "Exp", "FanInConcat", "FanInSum",
    "FanOut", "Flatten", "Gelu", "GeneralConv", "GeneralConvTranspose", "Identity", "LeakyRelu", "LogSoftmax", "MaxPool", "Relu",
    "Selu", "Sigmoid", "Softmax", "Softplus", "SumPool", "Tanh", "elementwise", "elu", "gelu", "glorot", "glorot_normal",
    "leaky_relu", "log_softmax", "logsoftmax", "normal", "ones", "parallel", "randn", "relu", "selu", "serial", "shape_dependent",
    "sigmoid", "softmax", "softplus", "standardize", "zeros",
]  # fmt: skip

Shape: TypeAlias = Any
InitFun = Callable[[Any, Shape], tuple[Shape, Any]]
ApplyFun = Callable[..., Any]
Layer: TypeAlias = tuple[InitFun, ApplyFun]
Initializer = Callable[..., Any]
ConvSpec: TypeAlias = tuple[str, str, str]

glorot = glorot_normal
randn = normal
logsoftmax = log_softmax

_GLOROT, _NORMAL, _SMALL = glorot_normal(), normal(), normal(1e-6)


def Dense(out_dim: int, W_init: Initializer = _GLOROT, b_init: Initializer = _NORMAL) -> Layer:
    """A fully connected layer: ``[..., n] -> [..., out_dim]``.

    Args:
        out_dim: number of outputs.
        W_init: draws the weights, ``[n, out_dim]``.
        b_init: draws the bias, ``[out_dim]``.

    Example:
        >>> from plugjax import random
        >>> from plugjax.example_libraries import stax
        >>> import plugjax.numpy as jnp
        >>> init, apply = stax.Dense(2, W_init=stax.ones, b_init=stax.zeros)
        >>> shape, params = init(random.key(0), (-1, 3))
        >>> shape, apply(params, jnp.ones((1, 3)))
        ((-1, 2), Array([[3., 3.]], dtype=float32))
    """

    def init_fun(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        weight_key, bias_key = random.split(rng)
        params = W_init(weight_key, (input_shape[-1], out_dim)), b_init(bias_key, (out_dim,))
        return (*input_shape[:-1], out_dim), params

    def apply_fun(params: Any, inputs: Any, **_: Any) -> Any:
        weights, bias = params
        return jnp.dot(inputs, weights) + bias

    return init_fun, apply_fun


def _init_convolution(
    output_shape_of: Callable[..., Shape],
    dimension_numbers: ConvSpec,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int],
    padding: Any,
    draws: tuple[Initializer, Initializer],
) -> InitFun:
    lhs_spec, rhs_spec, out_spec = dimension_numbers

    def init_fun(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        sizes = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
        kernel_shape = [channels[c] if c in channels else next(sizes) for c in rhs_spec]
        bias_shape = [out_chan if c == "C" else 1 for c in out_spec]
        output_shape = output_shape_of(
            input_shape, kernel_shape, strides, padding, dimension_numbers
        )
        weight_key, bias_key = random.split(rng)
        return output_shape, (draws[0](weight_key, kernel_shape), draws[1](bias_key, bias_shape))

    return init_fun


def GeneralConv(
    dimension_numbers: ConvSpec,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _SMALL,
) -> Layer:
    """A convolution with a bias per channel.

    Args:
        dimension_numbers: layouts of input, filter and output, as ``("NHWC", "HWIO", "NHWC")``.
        out_chan: number of output channels.
        filter_shape: spatial shape of the filter.
        strides: per spatial dimension, 1 each by default.
        padding: as for :func:`plugjax.lax.conv_general_dilated`.
        W_init: draws the filter; Glorot's normal distribution by default.
        b_init: draws the bias.

    Example:
        >>> from plugjax import random
        >>> from plugjax.example_libraries import stax
        >>> import plugjax.numpy as jnp
        >>> init, apply = stax.GeneralConv(("NHC", "HIO", "NHC"), 2, (3,), W_init=stax.ones, b_init=stax.zeros)
        >>> shape, params = init(random.key(0), (1, 4, 1))
        >>> shape, apply(params, jnp.arange(4.0).reshape(1, 4, 1))[0, :, 0]
        ((1, 2, 2), Array([3., 6.], dtype=float32))
    """
    rhs_spec = dimension_numbers[1]
    one = (1,) * len(filter_shape)
    steps = strides or one
    draws = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O")), b_init

    def apply_fun(params: Any, inputs: Any, **_: Any) -> Any:
        weights, bias = params
        out = lax.conv_general_dilated(
            inputs, weights, steps, padding, one, one, dimension_numbers=dimension_numbers
        )
        return out + bias

    shape_of = lax.conv_general_shape_tuple
    rest = out_chan, filter_shape, steps, padding, draws
    return _init_convolution(shape_of, dimension_numbers, *rest), apply_fun


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))


def GeneralConvTranspose(
    dimension_numbers: ConvSpec,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _SMALL,
) -> Layer:
    """A transposed convolution with a bias per channel; the arguments are those of :func:`GeneralConv`.

    Example:
        >>> from plugjax import random
        >>> from plugjax.example_libraries import stax
        >>> import plugjax.numpy as jnp
        >>> init, apply = stax.Conv1DTranspose(1, (2,), (2,), W_init=stax.ones, b_init=stax.zeros)
        >>> shape, params = init(random.key(0), (1, 2, 1))
        >>> shape, apply(params, jnp.array([[[1.0], [2.0]]]))[0, :, 0]
        ((1, 4, 1), Array([1., 1., 2., 2.], dtype=float32))
    """
    rhs_spec = dimension_numbers[1]
    steps = strides or (1,) * len(filter_shape)
    draws = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O")), b_init

    def apply_fun(params: Any, inputs: Any, **_: Any) -> Any:
        weights, bias = params
        out = lax.conv_transpose(
            inputs, weights, steps, padding, dimension_numbers=dimension_numbers
        )
        return out + bias

    shape_of = lax.conv_transpose_shape_tuple
    rest = out_chan, filter_shape, steps, padding, draws
    return _init_convolution(shape_of, dimension_numbers, *rest), apply_fun


Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Initializer = zeros,
    gamma_init: Initializer = ones,
) -> Layer:
    """Normalization over axes of the batch, then a scale and a shift per entry of the other axes.

    Args:
        axis: axes whose mean and variance are taken.
        epsilon: is added to the variance.
        center: whether there is a shift.
        scale: whether there is a scale.
        beta_init: draws the shift.
        gamma_init: draws the scale.

    Example:
        >>> from plugjax import random
        >>> from plugjax.example_libraries import stax
        >>> import plugjax.numpy as jnp
        >>> init, apply = stax.BatchNorm(axis=0, epsilon=0.0)
        >>> params = init(random.key(0), (2, 2))[1]
        >>> apply(params, jnp.array([[0.0, 3.0], [2.0, 7.0]]))
        Array([[-1., -1.],
               [ 1.,  1.]], dtype=float32)
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        shape = tuple(d for i, d in enumerate(input_shape) if i not in axes)
        beta_key, gamma_key = random.split(rng)
        beta = beta_init(beta_key, shape) if center else ()
        gamma = gamma_init(gamma_key, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params: Any, x: Any, **_: Any) -> Any:
        beta, gamma = params
        place = tuple(None if i in axes else slice(None) for i in range(jnp.ndim(x)))
        out = standardize(x, axes, epsilon=epsilon)
        if scale:
            out = gamma[place] * out
        return out + beta[place] if center else out

    return init_fun, apply_fun


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """The layer that applies a function to its inputs, of the same shape and without parameters.

    Example:
        >>> from plugjax.example_libraries import stax
        >>> import plugjax.numpy as jnp
        >>> init, apply = stax.elementwise(jnp.clip, max=1.0)
        >>> apply((), jnp.array([0.5, 3.0]))
        Array([0.5, 1. ], dtype=float32)
    """
    return _same_shape, lambda params, inputs, **_: fun(inputs, **fun_kwargs)


def _same_shape(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
    return input_shape, ()


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)


def _pool(
    reducer: Callable[..., Any],
    start: float,
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: str,
    spec: str | None,
    average: bool = False,
) -> Layer:
    rank = len(window_shape) + 2
    batch, channel = (0, rank - 1) if spec is None else (spec.index("N"), spec.index("C"))
    given = {"window": iter(window_shape), "step": iter(strides or (1,) * len(window_shape))}

    def spread(name: str) -> tuple[int, ...]:
        return tuple(1 if i in (batch, channel) else next(given[name]) for i in range(rank))

    window, steps = spread("window"), spread("step")

    def init_fun(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        pads = lax.padtype_to_pads(input_shape, window, steps, padding)
        one = (1,) * rank
        return lax.reduce_window_shape_tuple(input_shape, window, steps, pads, one, one), ()

    def apply_fun(params: Any, inputs: Any, **_: Any) -> Any:
        out = lax.reduce_window(inputs, start, reducer, window, steps, padding)
        if not average:
            return out
        # Windows that reach into the padding hold fewer entries.
        shape = [1 if i in (batch, channel) else d for i, d in enumerate(inputs.shape)]
        sizes = lax.reduce_window(
            jnp.ones(shape, inputs.dtype), 0.0, lax.add, window, steps, padding
        )
        return out / sizes

    return init_fun, apply_fun


def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The maximum in each window.

    Args:
        window_shape: spatial shape of the windows.
        strides: per spatial dimension, 1 each by default.
        padding: ``"VALID"`` or ``"SAME"``.
        spec: layout of the input, as ``"NCHW"``; ``"NHWC"`` by default.

    Example:
        >>> from plugjax.example_libraries import stax
        >>> import plugjax.numpy as jnp
        >>> init, apply = stax.MaxPool((2,), spec="NHC")
        >>> apply((), jnp.array([1.0, 4.0, 2.0]).reshape(1, 3, 1))[0, :, 0]
        Array([4., 4.], dtype=float32)
    """
    return _pool(lax.max, -jnp.inf, window_shape, strides, padding, spec)


def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The sum of each window; the arguments are those of :func:`MaxPool`.

    Example:
        >>> from plugjax.example_libraries import stax
        >>> import plugjax.numpy as jnp
        >>> init, apply = stax.SumPool((2,))
        >>> apply((), jnp.array([1.0, 4.0, 2.0]).reshape(1, 3, 1))[0, :, 0]
        Array([5., 6.], dtype=float32)
    """
    return _pool(lax.add, 0.0, window_shape, strides, padding, spec)


def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The mean of each window, without the padding; the arguments are those of :func:`MaxPool`.

    Example:
        >>> from plugjax.example_libraries import stax
        >>> import plugjax.numpy as jnp
        >>> init, apply = stax.AvgPool((2,), padding="SAME")
        >>> apply((), jnp.array([1.0, 4.0, 2.0]).reshape(1, 3, 1))[0, :, 0]
        Array([2.5, 3. , 2. ], dtype=float32)
    """
    return _pool(lax.add, 0.0, window_shape, strides, padding, spec, average=True)


def _flatten() -> Layer:
    def init_fun(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        return (input_shape[0], math.prod(input_shape[1:])), ()

    def apply_fun(params: Any, inputs: Any, **_: Any) -> Any:
        return jnp.reshape(inputs, (inputs.shape[0], -1))

    return init_fun, apply_fun


Flatten = _flatten()
Identity = elementwise(lambda inputs: inputs)


def FanOut(num: int) -> Layer:
    """The layer that gives its input several times, as a list.

    Example:
        >>> from plugjax.example_libraries import stax
        >>> init, apply = stax.FanOut(2)
        >>> apply((), 5.0)
        [5.0, 5.0]
    """
    return lambda rng, input_shape: (
        [input_shape] * num,
        (),
    ), lambda params, inputs, **_: [inputs] * num


# The layer that adds its inputs, which have one shape.
FanInSum: Layer = (
    lambda rng, input_shape: (input_shape[0], ()),
    lambda params, inputs, **_: sum(inputs),
)


def FanInConcat(axis: int = -1) -> Layer:
    """The layer that concatenates its inputs along an axis.

    Example:
        >>> from plugjax.example_libraries import stax
        >>> import plugjax.numpy as jnp
        >>> init, apply = stax.FanInConcat()
        >>> init(None, [(1, 2), (1, 3)])[0]
        (1, 5)
        >>> apply((), [jnp.ones((1, 2)), jnp.zeros((1, 1))])
        Array([[1., 1., 0.]], dtype=float32)
    """

    def init_fun(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        first = input_shape[0]
        place = axis % len(first)
        size = sum(shape[place] for shape in input_shape)
        return (*first[:place], size, *first[place + 1 :]), ()

    return init_fun, lambda params, inputs, **_: jnp.concatenate(inputs, axis)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """The layer that keeps each input with probability ``rate``, scaled by ``1 / rate``, and drops the others.

    Args:
        rate: the probability to keep.
        mode: ``"train"``; in any other mode inputs are kept as they are.

    Raises:
        ValueError: ``apply_fun`` is called without ``rng``.

    Example:
        >>> from plugjax import random
        >>> from plugjax.example_libraries import stax
        >>> import plugjax.numpy as jnp
        >>> init, apply = stax.Dropout(0.5)
        >>> apply((), jnp.ones(6), rng=random.key(0))
        Array([0., 0., 2., 2., 0., 2.], dtype=float32)
    """

    def apply_fun(params: Any, inputs: Any, *, rng: Any = None, **_: Any) -> Any:
        if rng is None:
            raise ValueError(
                "Dropout layer requires apply_fun to be called with a PRNG key argument, and got none. "
                "Call apply_fun(params, inputs, rng=key)."
            )
        if mode != "train":
            return inputs
        keep = random.bernoulli(rng, rate, inputs.shape)
        return jnp.where(keep, inputs / rate, 0)

    return _same_shape, apply_fun


def _keys(rng: Any, count: int) -> Any:
    return (None,) * count if rng is None else random.split(rng, count)


def serial(*layers: Layer) -> Layer:
    """The layer that applies layers one after the other. Its parameters are a list of theirs.

    Example:
        >>> from plugjax import random
        >>> from plugjax.example_libraries import stax
        >>> init, apply = stax.serial(stax.Dense(8), stax.Relu, stax.Dense(3))
        >>> shape, params = init(random.key(0), (-1, 4))
        >>> shape, len(params)
        ((-1, 3), 3)
    """

    def init_fun(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        params = []
        for init, _ in layers:
            rng, own = random.split(rng)
            input_shape, drawn = init(own, input_shape)
            params.append(drawn)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, *, rng: Any = None, **kwargs: Any) -> Any:
        keys = _keys(rng, len(layers))
        for (_, apply), own, key in zip(layers, params, keys, strict=False):
            inputs = apply(own, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """The layer that applies each layer to an input of its own, from a list to a list.

    Example:
        >>> from plugjax import random
        >>> from plugjax.example_libraries import stax
        >>> layer = stax.serial(stax.FanOut(2), stax.parallel(stax.Relu, stax.Identity), stax.FanInSum)
        >>> params = layer[0](random.key(0), (1,))[1]
        >>> layer[1](params, 3.0)
        Array(6., dtype=float32, weak_type=True)
    """

    def init_fun(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        keys = random.split(rng, len(layers))
        made = [
            init(key, shape)
            for (init, _), key, shape in zip(layers, keys, input_shape, strict=False)
        ]
        return tuple(shape for shape, _ in made), tuple(params for _, params in made)

    def apply_fun(params: Any, inputs: Any, *, rng: Any = None, **kwargs: Any) -> Any:
        keys = _keys(rng, len(layers))
        return [
            apply(own, x, rng=key, **kwargs)
            for (_, apply), own, x, key in zip(layers, params, inputs, keys, strict=False)
        ]

    return init_fun, apply_fun


def shape_dependent(make_layer: Callable[[Shape], Layer]) -> Layer:
    """The layer that a function makes of the shape of the inputs.

    Example:
        >>> from plugjax import random
        >>> from plugjax.example_libraries import stax
        >>> init, apply = stax.shape_dependent(lambda shape: stax.Dense(2 * shape[-1]))
        >>> init(random.key(0), (-1, 3))[0]
        (-1, 6)
    """

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape), apply_fun


publish(globals(), __all__)
