"""Staging out: trace a function once per signature, compile it, and run the compiled program from then on.

Warm: flatten, key (structure, avals, placements, statics, configuration), dict look-up, run, wrap. Cold: trace to a jaxpr
(kept per avals), compile for the placement. Under another transformation the call becomes one equation ``jit`` that holds
the program, so transformations work on the program and backends still compile it as one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from plugjax.calls.call import jit_p
from plugjax.core import caches, pytree
from plugjax.core.array import Array, as_array, aval_of, concrete, default_placement, on_device
from plugjax.core.aval import ShapedArray
from plugjax.core.backend import as_device, get_backend
from plugjax.core.config import config, this_thread
from plugjax.core.device import Device, Placement, Sharding, common_placement
from plugjax.core.errors import check_callable
from plugjax.core.jaxpr import ClosedJaxpr, eval_closed
from plugjax.core.primitive import Tracer, state
from plugjax.core.tracebacks import api_boundary
from plugjax.execution.compile import Compiled
from plugjax.execution.eval import EvalTrace
from plugjax.execution.instruments import instrumented
from plugjax.execution.jit.arguments import ArgumentPlan, plan_arguments
from plugjax.execution.jit.leaf_reader import Reader, leaf_reader
from plugjax.execution.jit.misses import CacheMiss, report
from plugjax.execution.jit.parameters import (
    as_names,
    as_numbers,
    check_disjoint,
    hashable,
    resolve_names,
)
from plugjax.execution.jit.stages import Lowered, Traced
from plugjax.transforms import staging
from plugjax.transforms.flat_calls import Structure, with_fixed
from plugjax.transforms.named_axes import Axis, bound_axes


class _Traced:
    """A program with the structure of its results."""

    __slots__ = ("jaxpr", "out_tree")

    def __init__(self, jaxpr: ClosedJaxpr, out_tree: Any) -> None:
        self.jaxpr = jaxpr
        self.out_tree = out_tree


class _Compiled:
    """A compiled program as a function of all arguments: it ends those in ``donated``."""

    __slots__ = ("call", "donated", "out_tree", "placement", "single")

    def __init__(
        self, compiled: Compiled, plan: ArgumentPlan, program: ClosedJaxpr, out_tree: Any
    ) -> None:
        self.call = instrumented(plan.call(compiled.call), lambda: program)
        # The one result itself, if that is what the function returns and all arguments go in.
        plain = self.call is compiled.call and out_tree == _LEAF
        self.single = compiled.single if plain else None
        self.placement = compiled.placement
        self.out_tree = out_tree
        self.donated = plan.donated


class _Entry:
    """What a warm call needs."""

    __slots__ = ("call", "donated", "moves", "out_tree", "placement", "single")

    def __init__(self, made: _Compiled, moves: bool) -> None:
        self.moves = moves
        self.placement = made.placement
        self.call = made.call
        self.out_tree = made.out_tree
        self.single = made.single
        self.donated = made.donated


class _Guess:
    """How to read the leaves of arguments of one structure, and the entries by the leaves' avals and placements."""

    __slots__ = ("entries", "read")

    def __init__(self, read: Reader) -> None:
        self.read = read
        self.entries = caches.new_cache()


_LEAF = pytree.structure(0)
_get_aval, _get_placement = attrgetter("aval"), attrgetter("_placement")


class JitFunction:
    """What stands behind a function that :func:`jit` returns: it traces and compiles on first use of a signature."""

    def __init__(
        self,
        fun: Callable[..., Any],
        *,
        static_argnums: Any,
        static_argnames: Any,
        donate_argnums: Any,
        donate_argnames: Any,
        keep_unused: bool,
        device: Any,
        inline: bool,
        compiler_options: Any,
    ) -> None:
        check_callable("jit", fun)
        self.__wrapped__ = fun
        self.__name__ = getattr(fun, "__name__", type(fun).__name__)
        self.__doc__ = getattr(fun, "__doc__", None)
        self._fun = fun
        self._keep_unused = keep_unused
        self._inline = inline
        self._options = dict(compiler_options or {})
        self._target: Device | None = as_device(device) if device is not None else None
        self._static_nums, self._static_names = resolve_names(
            fun,
            as_numbers(static_argnums, "static_argnums"),
            as_names(static_argnames, "static_argnames"),
        )
        self._donate_nums, self._donate_names = resolve_names(
            fun,
            as_numbers(donate_argnums, "donate_argnums"),
            as_names(donate_argnames, "donate_argnames"),
        )
        check_disjoint(self._static_names, self._donate_names, "argnames", "Argument names")
        check_disjoint(self._static_nums, self._donate_nums, "argnums", "Argument numbers")
        self._plain = not (self._static_nums or self._static_names)
        self._guess: _Guess | None = None
        self._guesses = caches.new_cache()
        self._entries = caches.new_cache()
        self._compiled = caches.new_cache()
        self._traces = caches.new_cache()

    def as_function(self) -> Callable[..., Any]:
        """What the user gets: a plain function, which Python calls faster than an object, with the object's methods."""
        warm = self._warm() if self._plain else None
        cold = self._call

        def call(*args: Any, **kwargs: Any) -> Any:
            return cold(args, kwargs)

        found = functools.update_wrapper(warm or call, self._fun)
        for name, value in (
            ("__name__", self.__name__),
            ("trace", self.trace),
            ("lower", self.lower),
            ("eval_shape", self.eval_shape),
            ("clear_cache", self.clear_cache),
            ("_cache_size", self._cache_size),
        ):
            setattr(found, name, value)
        return found

    def _warm(self) -> Callable[..., Any]:
        """Calls with Arrays, or with trees of them of the structure that they had before: avals and placements are the key."""
        cold, own_entries = self._call, self._entries

        def call(*args: Any, **kwargs: Any) -> Any:
            if not kwargs:
                guess = self._guess
                leaves: Sequence[Any]
                try:
                    if guess is None:
                        leaves, entries = args, own_entries
                    else:
                        leaves, entries = guess.read(args), guess.entries
                    if len(leaves) == 1:
                        x = leaves[0]
                        entry = entries[this_thread.view.fingerprint, x.aval, x._placement]
                    else:
                        entry = entries[
                            (
                                this_thread.view.fingerprint,
                                *map(_get_aval, leaves),
                                *map(_get_placement, leaves),
                            )
                        ]
                except (AttributeError, LookupError):
                    pass
                else:
                    if type(state.trace) is EvalTrace:
                        if entry.single is not None:
                            return entry.single(leaves)
                        return entry.out_tree.unflatten(entry.call(leaves))
            return cold(args, kwargs)

        return call

    @api_boundary
    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if config.disable_jit:
            return self._fun(*args, **kwargs)
        statics, dyn_args, dyn_kwargs = self._split(args, kwargs)
        leaves, in_tree = pytree.flatten((dyn_args, dyn_kwargs))
        if type(state.trace) is not EvalTrace:
            return self._bind(leaves, in_tree, statics)
        given = leaves
        try:
            placements = tuple(map(_get_placement, leaves))
            avals = tuple(map(_get_aval, leaves))
        except AttributeError:
            leaves = self._arrays(leaves, in_tree)
            placements = tuple(map(_get_placement, leaves))
            avals = tuple(map(_get_aval, leaves))
        key = (config.fingerprint, in_tree, statics, avals, placements or default_placement())
        entry = known = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = self._resolve(in_tree, statics, avals, placements)
        if self._plain and not kwargs and not entry.moves and leaves is given:
            # A reader of trees is written for the second call: the first may be the only one.
            if all(type(x) is Array for x in args):
                self._guess = None
                self._entries[(config.fingerprint, *avals, *placements)] = entry
            elif known is not None:
                self._expect(in_tree, (config.fingerprint, *avals, *placements), entry)
        outs = entry.call(
            [on_device(x, entry.placement) for x in leaves] if entry.moves else leaves
        )
        if entry.moves:
            for i in entry.donated:
                leaves[i].delete()
        return entry.out_tree.unflatten(outs)

    def _expect(self, in_tree: Any, key: Any, entry: _Entry) -> None:
        """Let the next call guess that its arguments are of this structure."""
        if in_tree not in self._guesses:
            read = leaf_reader(in_tree.children()[0])
            self._guesses[in_tree] = None if read is None else _Guess(read)
        guess = self._guesses[in_tree]
        if guess is not None:
            guess.entries[key] = entry
            self._guess = guess

    def _resolve(
        self,
        in_tree: Any,
        statics: Any,
        avals: tuple[ShapedArray, ...],
        placements: tuple[Placement, ...],
    ) -> _Entry:
        """The entry for a signature: compiled now, or compiled before for arguments that were placed otherwise."""
        chosen = self._placement(list(placements))
        # An array that only was not committed to its device need not move.
        moves = any(p.device is not chosen.device for p in placements)
        key = (config.fingerprint, in_tree, statics, avals, chosen)
        made = self._compiled.get(key)
        if made is None:
            before = [k[-1] for k in self._compiled if k[:-1] == key[:-1]]
            if before:
                trace_key = (config.fingerprint, in_tree, statics, avals, state.axes)
                report(
                    lambda: CacheMiss(
                        self._fun, self.__name__, trace_key, (), placement=chosen, placements=before
                    )
                )
            made = self._compiled[key] = self._compile(in_tree, statics, list(avals), chosen)
        return _Entry(made, moves)

    def _placement(self, placements: list[Placement]) -> Placement:
        if self._target is not None:
            return self._target.committed
        return common_placement(placements, f"jit({self.__name__})") or default_placement()

    def _arrays(self, leaves: list[Any], in_tree: Any) -> list[Array]:
        found = []
        for i, x in enumerate(leaves):
            try:
                found.append(x if type(x) is Array else concrete(as_array(x)))
            except TypeError as error:
                if isinstance(x, Tracer):
                    raise
                path = pytree.paths_of(in_tree)[i]
                raise TypeError(
                    f"jit({self.__name__}): argument {path} is no array, but of type {type(x)}. Pass it with "
                    "static_argnums or static_argnames, or make it an array."
                ) from error
        return found

    def _split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """Take the static arguments out; returns them as a hashable key, and the rest."""
        if self._plain:
            return (), args, kwargs
        nums = {n % len(args) for n in self._static_nums if -len(args) <= n < len(args)}
        who = self.__name__
        statics: list[Any] = [(n, hashable(args[n], who, f"position {n}")) for n in sorted(nums)]
        names = sorted(name for name in kwargs if name in self._static_names)
        statics += [(name, hashable(kwargs[name], who, f"name {name!r}")) for name in names]
        dyn_args = tuple(x for n, x in enumerate(args) if n not in nums)
        dyn_kwargs = {k: v for k, v in kwargs.items() if k not in self._static_names}
        return tuple(statics), dyn_args, dyn_kwargs

    def _join(
        self, statics: Any, dyn_args: tuple[Any, ...], dyn_kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if not statics:
            return dyn_args, dyn_kwargs
        by_position = {n: v.value for n, v in statics if isinstance(n, int)}
        by_name = {n: v.value for n, v in statics if isinstance(n, str)}
        args = with_fixed(by_position, dyn_args, len(by_position) + len(dyn_args))
        return tuple(args), {**dyn_kwargs, **by_name}

    def _trace(self, in_tree: Any, statics: Any, avals: Sequence[ShapedArray]) -> _Traced:
        key = (config.fingerprint, in_tree, statics, tuple(avals), state.axes)
        found = self._traces.get(key)
        if found is not None:
            return found  # type: ignore[no-any-return]  # of a cache
        report(lambda: CacheMiss(self._fun, self.__name__, key, tuple(self._traces)))
        out = Structure()

        def flat(*tracers: Any) -> list[Any]:
            dyn_args, dyn_kwargs = pytree.unflatten(in_tree, tracers)
            args, kwargs = self._join(statics, dyn_args, dyn_kwargs)
            outs, out.tree = pytree.flatten(self._fun(*args, **kwargs))
            return _check_outputs(outs, out.tree, self.__name__)

        paths = pytree.paths_of(in_tree)
        program = staging.stage(flat, avals, self.__name__, paths)
        traced = _Traced(program, out.tree)
        if not staging.has_tracers(program):
            self._traces[key] = traced
        return traced

    def _bind(self, leaves: list[Any], in_tree: Any, statics: Any) -> Any:
        """The call as an equation of an enclosing transformation."""
        args = [x if isinstance(x, (Array, Tracer)) else as_array(x) for x in leaves]
        traced = self._trace(in_tree, statics, [x.aval for x in args])
        program = traced.jaxpr
        constants: list[Any] = []
        if program.consts:
            program, constants = staging.open_constants(program)
        if self._inline:
            outs = eval_closed(program, *constants, *args)
        else:
            outs = jit_p.bind(*constants, *args, jaxpr=program, name=self.__name__)
        return traced.out_tree.unflatten(outs)

    def _compile(
        self,
        in_tree: Any,
        statics: Any,
        avals: list[ShapedArray],
        placement: Placement,
    ) -> _Compiled:
        traced = self._trace(in_tree, statics, avals)
        plan, options = self._plan(traced.jaxpr, self._donated(in_tree, statics))
        compiled = Compiled(plan.program, placement, options)
        return _Compiled(compiled, plan, traced.jaxpr, traced.out_tree)

    def _plan(
        self, jaxpr: ClosedJaxpr, donated: Sequence[int]
    ) -> tuple[ArgumentPlan, dict[str, Any]]:
        """What of the arguments reaches the compiled program, and the options to compile it with."""
        plan = plan_arguments(jaxpr, donated, self._keep_unused)
        plan.warn()
        return plan, {
            "name": self.__name__,
            "donated": plan.donated_inputs,
            **self._options,
        }

    def _donated(self, in_tree: Any, statics: Any) -> tuple[int, ...]:
        if not (self._donate_nums or self._donate_names) or config.observes("equations"):
            return ()
        marks = pytree.unflatten(in_tree, range(in_tree.num_leaves))
        args, kwargs = self._join(statics, *marks)
        chosen = [args[n] for n in self._donate_nums if -len(args) <= n < len(args)]
        chosen += [kwargs[n] for n in self._donate_names if n in kwargs]
        return tuple(sorted(leaf for leaf in pytree.leaves(chosen) if isinstance(leaf, int)))

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for given arguments, arrays or ``ShapeDtypeStruct``, without compiling."""
        statics, dyn_args, dyn_kwargs = self._split(args, kwargs)
        leaves, in_tree = pytree.flatten((dyn_args, dyn_kwargs))
        avals = [aval_of(x) for x in leaves]
        traced = self._trace(in_tree, statics, avals)
        placements = [x._placement for x in leaves if type(x) is Array]
        return Traced(self, traced.jaxpr, in_tree, traced.out_tree, statics, placements)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower for given arguments, arrays or ``ShapeDtypeStruct``."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Shapes and dtypes of the results."""
        return self.trace(*args, **kwargs).out_info

    def clear_cache(self) -> None:
        """Forget all traces and compiled programs of this function."""
        self._guess = None
        for cache in (self._guesses, self._entries, self._compiled, self._traces):
            cache.clear()

    def _cache_size(self) -> int:
        return len(self._compiled)


def _device_of(shardings: Sequence[Any]) -> Any:
    """The one device that shardings name, ``None`` if they leave it open."""
    leaves = pytree.leaves(shardings)
    for leaf in leaves:
        if not isinstance(leaf, Sharding):
            raise TypeError(
                f"jit: in_shardings and out_shardings hold shardings on one device or None, got {leaf!r}. "
                "Take the sharding of an array, x.sharding, or give device= instead."
            )
    found = {as_device(s) for s in leaves}
    if len(found) > 1:
        raise ValueError(f"jit: in_shardings and out_shardings name several devices: {found}.")
    return found.pop() if found else None


def _check_outputs(outs: list[Any], out_tree: Any, name: str) -> list[Any]:
    checked = []
    for i, y in enumerate(outs):
        try:
            checked.append(y if isinstance(y, (Array, Tracer)) else as_array(y))
        except TypeError as error:
            path = pytree.paths_of(out_tree)[i]
            raise TypeError(
                f"{name} must return JAX types, but its output at {path or 'the top'} has type {type(y)}: {y!r}"
            ) from error
    return checked


class _NotSpecified:
    """Tells ``jit(static_argnums=0)`` from ``jit(None)``."""


_not_specified = _NotSpecified()


def jit(
    fun: Any = _not_specified,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Compile a function on first use of each signature.

    Args:
        fun: the function, of pytrees of arrays. Left out, a decorator is returned.
        in_shardings: ``None``, or shardings on one device (in any structure): where to run.
        out_shardings: as ``in_shardings``.
        static_argnums: positions of arguments that are part of the signature by value; they must be hashable.
        static_argnames: names of such arguments.
        donate_argnums: positions of arguments whose memory may be taken over; they are deleted by the call.
        donate_argnames: names of such arguments.
        keep_unused: whether the compiled program takes arguments that nothing reads.
        device: where to run: a Device or a name such as ``"iree:local:0"``. Results are committed there.
        backend: name of the backend whose first device to run on.
        inline: under another transformation, put the equations in place of the call.
        compiler_options: the backend's own options.

    Raises:
        TypeError: ``fun`` is not callable, or gives something that is not an array.
        ValueError: a static argument is not hashable, or is to be donated; shardings name several devices.
        RuntimeError: an array is donated and passed once more in the same call.

    Warns:
        UserWarning: a donated argument has the shape and dtype of no result; it is left alone.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.jit(lambda x: x + 1)(jnp.arange(3))
        Array([1, 2, 3], dtype=int32)
    """
    if not isinstance(backend, (str, type(None))):
        raise ValueError(f"jit: backend is a name, got {backend!r}.")
    options: dict[str, Any] = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "keep_unused": keep_unused,
        "device": device
        if device is not None
        else get_backend(backend).devices()[0]
        if backend
        else _device_of([in_shardings, out_shardings]),
        "inline": inline,
        "compiler_options": compiler_options,
    }
    if isinstance(fun, _NotSpecified):
        return lambda function: JitFunction(function, **options).as_function()
    return JitFunction(fun, **options).as_function()


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function that gives the jaxpr of ``fun`` for its arguments.

    Args:
        fun: the function.
        static_argnums: positions of arguments that are part of the signature by value.
        axis_env: pairs of name and size: axes that ``fun`` may use as under ``vmap(axis_name=...)``.
        return_shape: whether to give shapes and dtypes of the results too.

    Example:
        >>> import plugjax
        >>> plugjax.make_jaxpr(lambda x: x * 2.0)(3.0)
        { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """
    traced = JitFunction(
        fun,
        static_argnums=static_argnums,
        static_argnames=None,
        donate_argnums=None,
        donate_argnames=None,
        keep_unused=True,
        device=None,
        inline=False,
        compiler_options=None,
    )

    axes = [Axis(size, axis) for axis, size in axis_env or ()]

    def jaxpr_of(*args: Any, **kwargs: Any) -> Any:
        with bound_axes(axes):
            found = traced.trace(*args, **kwargs)
        return (found.jaxpr, found.out_info) if return_shape else found.jaxpr

    jaxpr_of.__name__ = f"make_jaxpr({traced.__name__})"
    return jaxpr_of


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of ``fun(*args, **kwargs)``, computing nothing.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.eval_shape(jnp.sin, plugjax.ShapeDtypeStruct((2,), "float32"))
        ShapeDtypeStruct(shape=(2,), dtype=float32)
    """
    _, shapes = make_jaxpr(fun, return_shape=True)(*args, **kwargs)
    return shapes


def clear_caches() -> None:
    """Forget all traces and compiled programs of this process; those on disk stay.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> plugjax.clear_caches()
    """
    caches.clear_all()
