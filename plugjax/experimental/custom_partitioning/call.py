"""Functions that say how they are split over devices.

XLA's partitioner asks for the function of each device. On one device, on devices that share one memory and outside of compiled
functions the function runs whole; what is said of several devices is kept with the equation, and checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from plugjax.experimental.custom_partitioning.primitive import Partitioner, custom_partitioning_p
from plugjax.experimental.custom_partitioning.sharding_rule import SdyShardingRule, parsed
from plugjax.extend import pytree
from plugjax.extend.core import Tracer, as_array
from plugjax.extend.errors import UnexpectedTracerError
from plugjax.extend.transforms import cached_trace, flat_call, resemble, stage, with_fixed
from plugjax.lax.callback import Opaque


class custom_partitioning:  # noqa: N801  # JAX's name
    """A function that says how it is split over devices; also a decorator.

    Args:
        fun: the function, of pytrees of arrays.
        static_argnums: positions of arguments that are values, not arrays.

    Differs from JAX:
        ``partition`` gets named shardings also without ``decode_shardings``; its function calls no Python. On NumPy and IREE
        nothing is split, and it is not called.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental.custom_partitioning import custom_partitioning
        >>> @custom_partitioning
        ... def row_sums(x):
        ...     return x.sum(axis=1)
        >>> _ = row_sums.def_partition(None, sharding_rule="i j -> i", reduction_factors=("j",))
        >>> row_sums(jnp.ones((2, 3)))
        Array([3., 3.], dtype=float32)
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: Sequence[int] = ()) -> None:
        resemble(self, fun)
        self.fun = fun
        self.static_argnums = static_argnums
        self.partition: Callable[..., Any] | None = None
        self.propagate_user_sharding: Callable[..., Any] | None = None
        self.infer_sharding_from_operands: Callable[..., Any] | None = None
        self.decode_shardings = True
        self.sharding_rule: SdyShardingRule | Callable[..., Any] | None = None

    def def_partition(
        self,
        partition: Any,
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: SdyShardingRule | str | Callable[..., Any] | None = None,
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> Any:
        """State how the function is split; returns ``partition``.

        Args:
            partition: gives the function of each device, and the shardings of its arguments and results.
            infer_sharding_from_operands: gives the shardings of the results; for partitioners before Shardy.
            propagate_user_sharding: gives that of a result from one that the user set; likewise.
            decode_shardings: whether they are given named shardings.
            sharding_rule: a :class:`SdyShardingRule`, a text such as ``"i j -> i"``, or a function that gives one.
            reduction_factors: of a text, as in :class:`SdyShardingRule`.
            need_replication_factors: likewise.
            permutation_factors: likewise.
            **factor_sizes: likewise.

        Raises:
            ValueError: the rule cannot be read, or arguments of a text without one.
        """
        of_text = {
            "reduction_factors": reduction_factors,
            "need_replication_factors": need_replication_factors,
            "permutation_factors": permutation_factors,
            **factor_sizes,
        }
        if (
            sharding_rule is None
            or callable(sharding_rule)
            or isinstance(sharding_rule, SdyShardingRule)
        ):
            unknown = {name: value for name, value in of_text.items() if value}
            if unknown:
                raise ValueError(
                    f"custom_partitioning: Unknown keyword arguments: {unknown}. They describe a rule that is a text."
                )
            self.sharding_rule = sharding_rule
        else:
            self.sharding_rule = parsed(sharding_rule, **of_text)  # type: ignore[arg-type]  # by name
        self.partition = partition
        self.propagate_user_sharding = propagate_user_sharding
        self.infer_sharding_from_operands = infer_sharding_from_operands
        self.decode_shardings = decode_shardings
        return partition

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
            TypeError: the arguments do not fit its signature.
            UnexpectedTracerError: a static argument is traced.
            NotImplementedError: the split is stated for partitioners before Shardy alone.
        """
        args = self._positional(args, kwargs)
        if self.sharding_rule is None and (
            self.propagate_user_sharding is not None
            or self.infer_sharding_from_operands is not None
        ):
            raise NotImplementedError(
                "Shardy is used, but sharding propagation callbacks instead of sharding_rule are provided. Give def_partition a "
                "sharding_rule."
            )
        fixed = {i: args[i] for i in self.static_argnums}
        for value in pytree.leaves(tuple(fixed.values())):
            if isinstance(value, Tracer):
                raise UnexpectedTracerError(
                    value,
                    "A static argument of custom_partitioning is traced. Pass it as an array.",
                )
        dynamic = tuple(x for i, x in enumerate(args) if i not in fixed)
        leaves, in_tree = pytree.flatten(dynamic)
        operands = [as_array(x, "custom_partitioning") for x in leaves]
        avals = [x.aval for x in operands]
        name = getattr(self.fun, "__name__", "a function")

        def call(*given: Any) -> Any:
            return self.fun(*with_fixed(fixed, given, len(args)))

        program, consts, out_tree = cached_trace(
            self.fun,
            ("custom_partitioning", in_tree, *((i, Opaque(v)) for i, v in fixed.items()), *avals),
            lambda out: stage(flat_call(call, in_tree, out, "custom_partitioning"), avals, name),
        )
        outs = custom_partitioning_p.bind(
            *consts,
            *operands,
            call=program,
            partition=Partitioner(Opaque(self.partition)),
            propagate_user_sharding=None,
            infer_sharding_from_operands=None,
            decode_shardings=self.decode_shardings,
            sharding_rule=Opaque(self.sharding_rule),
            in_tree=in_tree,
            out_tree=out_tree,
            static_args=Opaque(tuple(fixed.values())),
        )
        return pytree.unflatten(out_tree, outs)

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"custom_partitioning of {getattr(self.fun, '__name__', 'a function')}: keyword arguments could not be resolved "
                f"to positions: {sorted(bound.kwargs)}."
            )
        return bound.args
