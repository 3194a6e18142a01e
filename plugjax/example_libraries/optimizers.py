"""First-order optimizers as triples of functions: the names of ``jax.example_libraries.optimizers``.

An optimizer is ``(init_fn, update_fn, params_fn)``: ``init_fn(params) -> state``, ``update_fn(step, gradient, state) -> state`` and
``params_fn(state) -> params``. Each is written for one array; :func:`optimizer` makes it one for pytrees. A state is a pytree whose leaves
are those of the parameters' states.

Reference:
    J. Duchi, E. Hazan, Y. Singer, "Adaptive subgradient methods for online learning and stochastic optimization", 2011 (Adagrad).
    D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", 2015 (Adam, AdaMax).
    R. Anil et al., "Memory-efficient adaptive optimization", 2019 (SM3).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import plugjax.numpy as jnp
from plugjax.extend import pytree
from plugjax.extend.transforms import publish

__all__ = [
    "InitFn", "JoinPoint", "Optimizer", "OptimizerState", "Params", "ParamsFn", "Schedule", "State", "Step", "UpdateFn", "Updates",
    "adagrad", "adam", "adamax", "clip_grads", "constant", "exponential_decay", "inverse_time_decay", "l2_norm", "make_schedule",
    "momentum", "nesterov", "optimizer", "pack_optimizer_state", "piecewise_constant", "polynomial_decay", "rmsprop",
    "rmsprop_momentum", "sgd", "sm3", "unpack_optimizer_state",
]  # fmt: skip

Params: TypeAlias = Any
State: TypeAlias = Any
Updates: TypeAlias = Params
Step: TypeAlias = Any


class OptimizerState(NamedTuple):
    """State of an optimizer; a pytree.

    Attributes:
        packed_state: per leaf of the parameters, the leaves of its state.
        tree_def: structure of the parameters.
        subtree_defs: structures of the states.
    """

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


pytree.register(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda fixed, children: OptimizerState(*children, *fixed),
)

InitFn: TypeAlias = Callable[[Params], OptimizerState]
UpdateFn: TypeAlias = Callable[[Step, Updates, OptimizerState], OptimizerState]
ParamsFn: TypeAlias = Callable[[OptimizerState], Params]
Schedule: TypeAlias = Callable[[Step], Any]


class Optimizer(NamedTuple):
    """The three functions of an optimizer."""

    init_fn: InitFn
    update_fn: UpdateFn
    params_fn: ParamsFn


def _pack(tree_def: Any, states: list[Any]) -> OptimizerState:
    flat = [pytree.flatten(state) for state in states]
    return OptimizerState(tuple(leaves for leaves, _ in flat), tree_def, tuple(d for _, d in flat))


def _states(state: OptimizerState) -> list[Any]:
    pairs = zip(state.subtree_defs, state.packed_state, strict=True)
    return [pytree.unflatten(tree, leaves) for tree, leaves in pairs]


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Decorator: a function that gives an optimizer of arrays becomes one that gives an optimizer of pytrees.

    Args:
        opt_maker: gives ``(init, update, get_params)`` for one array: ``init(x) -> state``, ``update(step, gradient, state) -> state``,
            ``get_params(state) -> x``.

    Raises:
        TypeError: from the update: the gradient has another structure than the parameters, or ``update`` changes that of the state.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> @optimizers.optimizer
        ... def descent(rate):
        ...     return lambda x: x, lambda i, g, x: x - rate * g, lambda x: x
        >>> init, update, params = descent(0.5)
        >>> params(update(0, {"a": 2.0}, init({"a": 3.0})))
        {'a': 2.0}
    """

    @functools.wraps(opt_maker)
    def tree_opt_maker(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        @functools.wraps(init)
        def tree_init(params: Params) -> OptimizerState:
            leaves, tree = pytree.flatten(params)
            return _pack(tree, [init(x) for x in leaves])

        @functools.wraps(update)
        def tree_update(i: Step, gradient: Updates, state: OptimizerState) -> OptimizerState:
            leaves, tree = pytree.flatten(gradient)
            if tree != state.tree_def:
                raise TypeError(
                    "optimizer update function was passed a gradient tree of another structure than the parameters: "
                    f"{pytree.first_difference(state.tree_def, tree)}. Take the gradient by the parameters of this state."
                )
            new = _pack(
                tree, [update(i, g, own) for g, own in zip(leaves, _states(state), strict=True)]
            )
            for before, after in zip(state.subtree_defs, new.subtree_defs, strict=True):
                if before != after:
                    raise TypeError(
                        "optimizer update function produced an output structure other than that of its input: "
                        f"{pytree.first_difference(before, after)}. Return a state like the one that init gives."
                    )
            return new

        @functools.wraps(get_params)
        def tree_get_params(state: OptimizerState) -> Params:
            return pytree.unflatten(state.tree_def, [get_params(own) for own in _states(state)])

        return Optimizer(tree_init, tree_update, tree_get_params)

    return tree_opt_maker


def _first(state: State) -> Any:
    return state[0]


@optimizer
def sgd(step_size: Any) -> Any:
    """Gradient descent: ``x - rate g``.

    Args:
        step_size: rate, a positive number, or a schedule from the step to it.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> init, update, params = optimizers.sgd(0.5)
        >>> params(update(0, 2.0, init(3.0)))
        2.0
    """
    rate = make_schedule(step_size)
    return lambda x: x, lambda i, g, x: x - rate(i) * g, lambda x: x


@optimizer
def momentum(step_size: Any, mass: float) -> Any:
    """Gradient descent along a decaying sum of gradients: ``v = mass v + g``, ``x - rate v``.

    Args:
        step_size: rate, a positive number, or a schedule from the step to it.
        mass: the factor of the decay.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> init, update, params = optimizers.momentum(0.5, 0.9)
        >>> params(update(1, 2.0, update(0, 2.0, init(3.0))))
        Array(0.10000002, dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def nesterov(step_size: Any, mass: float) -> Any:
    """Gradient descent with Nesterov's momentum: ``v = mass v + g``, ``x - rate (mass v + g)``.

    Args:
        step_size: rate, a positive number, or a schedule from the step to it.
        mass: the factor of the decay.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> init, update, params = optimizers.nesterov(0.5, 0.9)
        >>> params(update(0, 2.0, init(3.0)))
        Array(1.1, dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def adagrad(step_size: Any, momentum: float = 0.9) -> Any:
    """Adagrad: gradients divided by the root of the sum of their squares, averaged over time.

    Args:
        step_size: rate, a positive number, or a schedule from the step to it.
        momentum: the weight of the past in the average.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> init, update, params = optimizers.adagrad(0.5, momentum=0.5)
        >>> params(update(0, 2.0, init(3.0)))
        Array(2.75, dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, squares, mean = state
        squares += jnp.square(g)
        inverse = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)
        mean = (1.0 - momentum) * (g * inverse) + momentum * mean
        return x - rate(i) * mean, squares, mean

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def rmsprop(step_size: Any, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    """RMSProp: gradients divided by the root of a decaying mean of their squares.

    Args:
        step_size: rate, a positive number, or a schedule from the step to it.
        gamma: the weight of the past in the mean.
        eps: is added to the mean.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> init, update, params = optimizers.rmsprop(0.5, gamma=0.75)
        >>> params(update(0, 2.0, init(3.0)))
        Array(2., dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, mean = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        return x - rate(i) * g / jnp.sqrt(mean + eps), mean

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def rmsprop_momentum(
    step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> Any:
    """RMSProp whose steps have momentum.

    Args:
        step_size: rate, a positive number, or a schedule from the step to it.
        gamma: the weight of the past in the mean of squares.
        eps: is added to the mean.
        momentum: the weight of the last step in the next one.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> init, update, params = optimizers.rmsprop_momentum(0.5, gamma=0.75)
        >>> params(update(0, 2.0, init(3.0)))
        Array(2., dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, mean, last = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        last = momentum * last + rate(i) * g / jnp.sqrt(mean + eps)
        return x - last, mean, last

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


def _correction(decay: float, like: Any, i: Step) -> Any:
    """How much of a decaying mean that began at zero is there after step i."""
    return 1 - jnp.asarray(decay, like.dtype) ** (i + 1)


@optimizer
def adam(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Adam: the mean of gradients divided by the root of the mean of their squares, both decaying and corrected for their start at 0.

    Args:
        step_size: rate, a positive number, or a schedule from the step to it.
        b1: the weight of the past in the mean.
        b2: the weight of the past in the mean of squares.
        eps: is added to the root.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> init, update, params = optimizers.adam(0.5)
        >>> params(update(0, 2.0, init(3.0))).round(3)
        Array(2.5, dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, mean, squares = state
        mean = (1 - b1) * g + b1 * mean
        squares = (1 - b2) * jnp.square(g) + b2 * squares
        mean_now = mean / _correction(b1, mean, i)
        squares_now = squares / _correction(b2, mean, i)
        return x - rate(i) * mean_now / (jnp.sqrt(squares_now) + eps), mean, squares

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def adamax(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """AdaMax: the mean of gradients divided by their largest size, both decaying.

    Args:
        step_size: rate, a positive number, or a schedule from the step to it.
        b1: the weight of the past in the mean.
        b2: the decay of the largest size.
        eps: is added to the largest size.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> init, update, params = optimizers.adamax(0.5)
        >>> params(update(0, 2.0, init(3.0))).round(3)
        Array(2.5, dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, mean, largest = state
        mean = (1 - b1) * g + b1 * mean
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        return x - (rate(i) / _correction(b1, mean, i)) * mean / (largest + eps), mean, largest

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def sm3(step_size: Any, momentum: float = 0.9) -> Any:
    """SM3: Adagrad whose sums of squares are kept as one vector per axis, each with the largest sums.

    Args:
        step_size: rate, a positive number, or a schedule from the step to it.
        momentum: the weight of the past in the average.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.example_libraries import optimizers
        >>> init, update, params = optimizers.sm3(0.5, momentum=0.5)
        >>> params(update(0, jnp.array([[2.0, 1.0]]), init(jnp.array([[3.0, 4.0]]))))
        Array([[2.75, 3.75]], dtype=float32)
    """
    rate = make_schedule(step_size)

    def init(x: Any) -> State:
        shape, x = x.shape, jnp.atleast_1d(x)
        return x, jnp.zeros_like(x), [jnp.zeros(size, x.dtype) for size in x.shape], shape

    def update(i: Step, g: Any, state: State) -> State:
        x, mean, largest, shape = state
        spread = [
            jnp.expand_dims(v, [a for a in range(x.ndim) if a != axis])
            for axis, v in enumerate(largest)
        ]
        squares = functools.reduce(jnp.minimum, spread) + jnp.square(g)
        inverse = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0)
        mean = (1.0 - momentum) * (g * inverse) + momentum * mean
        x = x - rate(i) * mean
        largest = [squares.max([a for a in range(x.ndim) if a != axis]) for axis in range(x.ndim)]
        return x, mean, largest, shape

    def get_params(state: State) -> Any:
        return state[0].reshape(state[3])

    return init, update, get_params


def constant(step_size: Any) -> Schedule:
    """The schedule of one rate.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> optimizers.constant(0.5)(7)
        0.5
    """
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """The schedule ``step_size * decay_rate ** (i / decay_steps)``.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> optimizers.exponential_decay(1.0, 2, 0.25)(1)
        0.5
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """The schedule ``step_size / (1 + decay_rate * i / decay_steps)``.

    Args:
        step_size: the first rate.
        decay_steps: the unit of time.
        decay_rate: the rate of the decay.
        staircase: whether the rate stays during a unit.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> optimizers.inverse_time_decay(1.0, 2, 3.0)(2)
        0.25
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0
) -> Schedule:
    """The schedule from one rate to another, along a power of the remaining time.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> optimizers.polynomial_decay(1.0, 4, 0.5)(2)
        Array(0.75, dtype=float32, weak_type=True)
    """

    def schedule(i: Step) -> Any:
        left = (1 - jnp.minimum(i, decay_steps) / decay_steps) ** power
        return left * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """The schedule of several rates: one up to the first boundary, the next one up to the second, and so on.

    Args:
        boundaries: ``[n]``, increasing: the last step of each rate but the last.
        values: ``[n + 1]``: the rates.

    Raises:
        ValueError: one is not a sequence, or the numbers do not fit.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> rate = optimizers.piecewise_constant([10], [1.0, 0.5])
        >>> [float(rate(i)) for i in (10, 11)]
        [1.0, 0.5]
    """
    ends, rates = jnp.array(boundaries), jnp.array(values)
    if not ends.ndim == rates.ndim == 1:
        raise ValueError(
            f"boundaries and values must be sequences, got shapes {ends.shape} and {rates.shape}."
        )
    if ends.shape[0] != rates.shape[0] - 1:
        raise ValueError(
            f"boundaries length must be one shorter than values length, got {ends.shape[0]} and {rates.shape[0]}."
        )
    return lambda i: rates[jnp.sum(i > ends)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A schedule as it is, a number as a constant one.

    Raises:
        TypeError: it is neither.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> optimizers.make_schedule(0.5)(3)
        0.5
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if jnp.ndim(scalar_or_schedule):
        raise TypeError(
            f"step_size must be a scalar or a schedule, got {type(scalar_or_schedule)} with shape {jnp.shape(scalar_or_schedule)}."
        )
    return constant(scalar_or_schedule)


def l2_norm(tree: Any) -> Any:
    """Root of the sum of the squares of all numbers in a pytree.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> optimizers.l2_norm({"a": 3.0, "b": [4.0]})
        Array(5., dtype=float32, weak_type=True)
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in pytree.leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """A pytree of gradients, scaled down to a norm if it is longer.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> optimizers.clip_grads([3.0, 4.0], 1.0)
        [Array(0.6, dtype=float32, weak_type=True), Array(0.8, dtype=float32, weak_type=True)]
    """
    norm = l2_norm(grad_tree)
    return pytree.tree_map(
        lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree
    )


class JoinPoint:
    """A leaf that holds a pytree: where a tree of parameters meets the trees of their states."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Iterator[Any]:
        """The pytree alone."""
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """A state as a tree like the parameters, with a :class:`JoinPoint` for each leaf, as programs that write files need it.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> state = optimizers.sgd(0.1).init_fn({"a": 2.0})
        >>> optimizers.unpack_optimizer_state(state)["a"].subtree
        2.0
    """
    return pytree.unflatten(opt_state.tree_def, [JoinPoint(own) for own in _states(opt_state)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The state of a tree with a :class:`JoinPoint` for each leaf, the inverse of :func:`unpack_optimizer_state`.

    Raises:
        AssertionError: a leaf is something else.

    Example:
        >>> from plugjax.example_libraries import optimizers
        >>> state = optimizers.pack_optimizer_state({"a": optimizers.JoinPoint(2.0)})
        >>> optimizers.sgd(0.1).params_fn(state)
        {'a': 2.0}
    """
    leaves, tree_def = pytree.flatten(marked_pytree)
    states = []
    for leaf in leaves:
        if not isinstance(leaf, JoinPoint):
            raise AssertionError(
                f"pack_optimizer_state: a leaf is {type(leaf).__name__}, not a JoinPoint. Give a tree as unpack_optimizer_state gives it."
            )
        states.append(leaf.subtree)
    return _pack(tree_def, states)


publish(globals(), __all__)
