"""Staging out: trace a function once per signature, compile it, and run the compiled program from then on.

Warm: read the leaves, make the key, look the run up in the table, run. The key is the configuration, the layout of the arguments,
the static values, and the signature of the leaves. Cold: trace to a jaxpr and compile it for the placement; the table keeps the
program too, with the named axes in force in place of the placements. Under another transformation the call becomes one equation
``jit`` that holds the program, so transformations work on the program and backends still compile it as one.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from itertools import chain
from types import MethodType
from typing import Any

from plugjax.calls.call import jit_p
from plugjax.core import caches, pytree, registry
from plugjax.core.array import (
    Array,
    as_array,
    aval_of,
    concrete,
    conversion,
    default_placement,
    transfer,
)
from plugjax.core.aval import ShapedArray
from plugjax.core.backend import as_device
from plugjax.core.config import config, this_thread
from plugjax.core.device import Device, Placement, SingleDeviceSharding
from plugjax.core.errors import NotArrayError
from plugjax.core.jaxpr import eval_closed
from plugjax.core.primitive import Tracer, state
from plugjax.core.vocabulary import zeros
from plugjax.execution.eval import EvalTrace
from plugjax.execution.jit.layout import (
    Layout,
    StaticParameters,
    Statics,
    array_signature,
    get_aval,
    get_placement,
    join,
    signature,
)
from plugjax.execution.jit.misses import CacheMiss, report
from plugjax.execution.jit.mutable import call_opened
from plugjax.execution.jit.parameters import (
    as_names,
    as_numbers,
    check_disjoint,
    resolve_names,
)
from plugjax.execution.jit.program import Program, Run
from plugjax.execution.jit.references import check_distinct
from plugjax.execution.jit.shardings import JitShardings, place_of
from plugjax.execution.jit.stages import Lowered, Traced
from plugjax.execution.turns import turn
from plugjax.meshes.kinds import kind_of, result_kinds, usual
from plugjax.meshes.partition import Partition
from plugjax.meshes.placements import common_placement
from plugjax.transforms import staging
from plugjax.transforms.argument_names import argument_names, function_place
from plugjax.transforms.callables import check_callable, resemble
from plugjax.transforms.discharge import has_references, is_reference
from plugjax.transforms.flat_calls import Structure, without_references
from plugjax.transforms.function_caches import functions, kept_for
from plugjax.transforms.high_values import has_high, is_high
from plugjax.transforms.mutable_values import MutableValueError, is_mutable
from plugjax.transforms.shape_struct import ShapeDtypeStruct
from plugjax.transforms.tracebacks import api_boundary, own_boundaries, shorten_traceback


class JitFunction:
    """What :func:`jit` returns: a function that is traced and compiled on first use of a signature.

    It shows the name, the documentation and the attributes of the function that it wraps, and is a method where that would be.

    Example:
        >>> import plugjax
        >>> plugjax.jit(abs)
        <PjitFunction of <built-in function abs>>
    """

    # JAX's name of the class, by which programs tell compiled functions from others.
    __qualname__ = "PjitFunction"

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_donate_names",
        "_donate_nums",
        "_expected",
        "_fun",
        "_given",
        "_gives_structs",
        "_inline",
        "_keep_unused",
        "_layouts",
        "_options",
        "_shardings",
        "_static",
        "_table",
        "_target",
        "_tiered",
    )

    def __init__(self, fun: Callable[..., Any], **options: Any) -> None:
        check_callable("jit", fun)
        resemble(self, fun)
        self.__name__ = getattr(fun, "__name__", type(fun).__name__)
        self._fun = fun
        self._given = options
        self._take(**options)

    def _take(
        self,
        *,
        static_argnums: Any = None,
        static_argnames: Any = None,
        donate_argnums: Any = None,
        donate_argnames: Any = None,
        keep_unused: bool = False,
        device: Any = None,
        inline: bool = False,
        compiler_options: Any = None,
        in_shardings: Any = None,
        out_shardings: Any = None,
        gives_structs: bool = False,
        tiered: bool | None = None,
    ) -> None:
        self._tiered = tiered
        self._keep_unused = keep_unused
        self._inline = inline
        # A ShapeDtypeStruct in the result stands for an array, of which only the type is asked for.
        self._gives_structs = gives_structs
        self._options = dict(compiler_options or {})
        self._target: Device | SingleDeviceSharding | None = device
        if device is not None and not isinstance(device, SingleDeviceSharding):
            self._target = as_device(device)
        self._shardings = JitShardings(self.__name__, in_shardings, out_shardings)
        self._static = StaticParameters(self._fun, static_argnums, static_argnames)
        self._donate_nums, self._donate_names = resolve_names(
            self._fun,
            as_numbers(donate_argnums, "donate_argnums"),
            as_names(donate_argnames, "donate_argnames"),
        )
        check_disjoint(self._static.names, self._donate_names, "argnames", "Argument names")
        check_disjoint(self._static.numbers, self._donate_nums, "argnums", "Argument numbers")
        # (configuration, layout, static values, *signature) -> Run, and the same with avals and named axes -> Program. The
        # layout is None where each argument is an Array given by position.
        self._table, self._layouts = self._shared_tables()
        # The layout of the latest call.
        self._expected: Layout | None = None

    def _shared_tables(self) -> tuple[caches.Cache, caches.Cache]:
        """The tables of programs and of layouts, which all ``jit`` of one function with the same options share."""
        options = (
            "jit",
            self.__name__,
            self._target,
            *(self._static.numbers, frozenset(self._static.names)),
            *(self._donate_nums, self._donate_names),
            *(
                self._keep_unused,
                self._inline,
                self._gives_structs,
                self._shardings.key,
                self._tiered,
            ),
            *sorted(self._options.items()),
        )
        return kept_for(self._fun, options, lambda: (caches.new_cache(), caches.new_cache()))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The result of the compiled program for the signature of these arguments."""
        expected = self._expected
        leaves: Sequence[Any]
        try:
            fingerprint = this_thread.view.fingerprint
            if expected is None:
                leaves = args
                if len(args) == 1:
                    x = args[0]
                    run = self._table[fingerprint, None, (), x.aval, x._placement]
                else:
                    run = self._table[
                        (
                            fingerprint, None, (),
                            *map(get_aval, args), *map(get_placement, args),
                        )
                    ]  # fmt: skip
                if kwargs:
                    raise LookupError
            else:
                # A layout is expected only if it can be read.
                leaves, statics = expected.read(args, kwargs)  # type: ignore[misc]
                if expected.mixed:
                    run = self._table[(fingerprint, expected, statics, *signature(leaves))]
                elif len(leaves) == 1:
                    x = leaves[0]
                    run = self._table[fingerprint, expected, statics, x.aval, x._placement]
                else:
                    run = self._table[
                        (
                            fingerprint, expected, statics,
                            *map(get_aval, leaves), *map(get_placement, leaves),
                        )
                    ]  # fmt: skip
        except (AttributeError, LookupError, TypeError):
            # Another layout, leaves that are no Arrays, a static argument without a hash, or a new signature.
            run = None
        try:
            if run is None or type(state.trace) is not EvalTrace:
                return self._call(args, kwargs)
            return run(leaves)
        except Exception:
            shorten_traceback()
            raise

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if config.disable_jit:
            return self._fun(*args, **kwargs)
        statics, dyn_args, dyn_kwargs = self._static.split(args, kwargs)
        leaves, in_tree = pytree.flatten((dyn_args, dyn_kwargs))
        layout = self._layout(in_tree, statics)
        if not isinstance(state.trace, EvalTrace):
            return self._bind(leaves, layout, statics)
        others = [x for x in leaves if type(x) is not Array]
        mixed = bool(others)
        if any(is_reference(x) or is_high(x) for x in others):
            return self._bind(leaves, layout, statics)
        if mixed and type(state.trace) is not EvalTrace:
            # Transfers are observed: what comes from the host is made an Array before the program runs.
            leaves, mixed = _arrays(leaves, self._named(in_tree, statics)), False
        readable = True
        try:
            parts = signature(leaves) if mixed else array_signature(leaves)
        except LookupError:
            leaves = _arrays(leaves, self._named(in_tree, statics))
            mixed, readable, parts = False, False, array_signature(leaves)
        flat = not (statics or kwargs) and all(type(x) is Array for x in args)
        key = (
            config.fingerprint,
            None if flat else layout,
            tuple(chain.from_iterable(static.key for _, static in statics)),
            *parts,
        )
        run = known = self._table.get(key)
        if run is None:
            try:
                # Threads that make the first call at once wait for one of them.
                with turn((id(self._table), key)):
                    run = self._table.get(key)
                    if run is None:
                        run = self._table[key] = self._resolve(layout, statics, leaves, mixed)
            except MutableValueError as met:
                return self._open(leaves, layout, statics, met)
        if flat:
            self._expected = None
        elif known is not None and readable and layout.read is not None:
            # A reader is written for the second call: the first may be the only one.
            layout.mixed = mixed
            self._expected = layout
        return run(leaves)

    def _layout(self, in_tree: Any, statics: Statics) -> Layout:
        # The first call in a process discovers the plugins, which empties tables and changes the configuration: not while it traces.
        registry.active()
        places = tuple(place for place, _ in statics)
        found: Layout | None = self._layouts.get((in_tree, places))
        if found is None:
            positions = tuple(place for place in places if isinstance(place, int))
            names = tuple(place for place in places if isinstance(place, str))
            found = self._layouts[in_tree, places] = Layout(
                pytree.in_key_order(in_tree), positions, names
            )
        return found

    def _resolve(self, layout: Layout, statics: Statics, leaves: Sequence[Any], mixed: bool) -> Run:
        """What runs calls of a signature: compiled now, or compiled before for arguments that were placed otherwise."""
        named = self._named(layout.in_tree, statics)
        arrays = _arrays(leaves, named) if mixed else leaves
        program = self._trace(layout, statics, [x.aval for x in arrays])
        words = named() if mixed else ("", [])
        as_arrays = functools.partial(_arrays, named=lambda: words)
        # What stands in the table must not refer to the function, as the table lives while the function does.
        inline = self._inline
        if has_high(program.jaxpr):
            return lambda leaves: _bind_program(program, leaves, inline)
        partition = self._partition(program, arrays)
        if partition is not None:
            program.plan.warn()
            return program.run_partitioned(partition, arrays, as_arrays if mixed else None)
        # Where an argument is that nothing reads does not matter.
        read = program.plan.kept
        chosen = self._placement([arrays[i]._placement for i in read])
        given = [leaves[i] for i in read]
        # An array that only was not committed to its device need not move.
        moves = any(x._placement.device is not chosen.device for x in given if type(x) is Array)
        if any(map(is_reference, program.jaxpr.consts)):
            return lambda leaves: _bind_program(program, leaves, inline)
        run = self._run_on_one(program, chosen, moves, leaves, arrays, as_arrays if mixed else None)
        if self._target is not None:
            return run
        kinds = result_kinds(program.jaxpr, [kind_of(x._placement.sharding) for x in arrays])
        if all(kind == kind_of(chosen.sharding) for kind in kinds):
            return run
        where = [SingleDeviceSharding(chosen.device, memory_kind=kind).committed for kind in kinds]
        return lambda leaves: _placed(run(leaves), where)

    def _run_on_one(
        self,
        program: Program,
        chosen: Placement,
        moves: bool,
        leaves: Sequence[Any],
        arrays: Sequence[Array],
        as_arrays: Callable[[Sequence[Any]], list[Array]] | None,
    ) -> Run:
        """What runs a program on one device; ``as_arrays`` if some leaves are no Arrays."""
        if chosen not in program.compiled:
            program.plan.warn()
        if program.compiled and chosen not in program.compiled:
            report(
                lambda: CacheMiss(
                    self._fun,
                    self.__name__,
                    program.key,
                    placement=chosen,
                    placements=list(program.compiled),
                )
            )
        if as_arrays is None:
            return program.run(chosen, moves)
        if moves:
            run = program.run(chosen, moves)
            return lambda leaves: run(as_arrays(leaves))
        values = {i: x.aval for i, x in enumerate(arrays) if x is not leaves[i]}
        return program.run_with_values(chosen, values, as_arrays)

    def _partition(self, program: Program, leaves: Sequence[Any]) -> Partition | None:
        """How a program is spread over devices; ``None`` if it runs on one, and no mesh is about."""
        if self._target is not None:
            return None
        return self._shardings.partition(program, list(map(place_of, leaves)))

    def _placement(self, placements: list[Placement]) -> Placement:
        if self._target is not None:
            return self._target.committed
        found = common_placement(placements, f"jit({self.__name__})")
        if found is not None and found.several:
            # Those that are spread over a mesh are unused.
            found = None
        return usual(found or default_placement())

    def _trace(self, layout: Layout, statics: Statics, avals: Sequence[ShapedArray]) -> Program:
        table_key = self._table_key(layout, statics, avals)
        found: Program | None = self._table.get(table_key)
        if found is not None:
            return found
        for opened in self._table.get(("opened", *table_key), ()):
            raise MutableValueError(opened.met[0], self.__name__)
        in_tree = layout.in_tree
        key = (config.fingerprint, in_tree, statics, tuple(avals), state.axes)
        report(lambda: CacheMiss(self._fun, self.__name__, key, [p.key for p in self._programs()]))
        out = Structure()

        def flat(*tracers: Any) -> list[Any]:
            args, kwargs = join(statics, *pytree.unflatten(in_tree, tracers))
            outs, tree = pytree.flatten(self._fun(*args, **kwargs))
            out.tree = pytree.in_key_order(tree)
            if self._gives_structs:
                outs = [zeros(aval_of(y)) if isinstance(y, ShapeDtypeStruct) else y for y in outs]
            without_references(outs, out.tree, f"jit({self.__name__})")
            return _check_outputs(outs, out.tree, self.__name__)

        names = argument_names(self._fun, in_tree, statics)
        jaxpr = staging.stage(flat, avals, self.__name__, names)
        program = Program(
            self.__name__,
            key,
            jaxpr,
            names,
            out.tree,
            self._donated(in_tree, statics),
            self._keep_unused,
            self._options,
            self._tiered,
        )
        if not staging.has_tracers(jaxpr):
            self._table[table_key] = program
        return program

    def _table_key(self, layout: Layout, statics: Statics, avals: Sequence[Any]) -> tuple[Any, ...]:
        values = tuple(static for _, static in statics)
        return (config.fingerprint, layout, values, *avals, state.axes)

    def _named(self, in_tree: Any, statics: Statics) -> Callable[[], tuple[str, list[str]]]:
        """Words for messages: the function with its place, and the names of its arguments."""
        return lambda: (function_place(self._fun), argument_names(self._fun, in_tree, statics))

    def _avals(self, leaves: Sequence[Any], in_tree: Any, statics: Statics) -> list[ShapedArray]:
        try:
            return [aval_of(x) for x in leaves]
        except TypeError:
            # It names the argument.
            _arrays(leaves, self._named(in_tree, statics))
            raise

    def _programs(self) -> list[Program]:
        return [found for found in self._table.values() if isinstance(found, Program)]

    def _bind(self, leaves: Sequence[Any], layout: Layout, statics: Statics) -> Any:
        """The call as an equation of an enclosing transformation."""
        args = [x if isinstance(x, (Array, Tracer)) else as_array(x) for x in leaves]
        if any(map(is_mutable, args)):
            return self._open(args, layout, statics)
        try:
            program = self._trace(layout, statics, [aval_of(x) for x in args])
        except MutableValueError as met:
            return self._open(args, layout, statics, met)
        return _bind_program(program, args, self._inline)

    def _open(
        self,
        leaves: Sequence[Any],
        layout: Layout,
        statics: Statics,
        met: MutableValueError | None = None,
    ) -> Any:
        """The call of a function that takes mutable values, or that met one when it was traced."""
        fun, in_tree = self._fun, layout.in_tree

        def rebuilt(found: Sequence[Any]) -> Any:
            args, kwargs = join(statics, *pytree.unflatten(in_tree, found))
            return fun(*args, **kwargs)

        if getattr(state.trace, "parent", None) is not None:
            # Under a derivative or a batch each operation on a mutable value has its rule.
            return rebuilt(leaves)

        def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
            return _OpenedFunction(
                function,
                device=self._target,
                inline=self._inline,
                keep_unused=True,
                compiler_options=self._options,
            )

        avals = [aval_of(x) for x in leaves]
        key = ("opened", *self._table_key(layout, statics, avals))
        found = self._table.get(key)
        if found is None:
            found = self._table[key] = []
        values = [] if met is None else [met.value]
        return call_opened(found, leaves, values, rebuilt, compiled, self.__name__)

    def _donated(self, in_tree: Any, statics: Statics) -> tuple[int, ...]:
        if not (self._donate_nums or self._donate_names) or config.observes("equations"):
            return ()
        marks = pytree.unflatten(in_tree, range(in_tree.num_leaves))
        args, kwargs = join(statics, *marks)
        chosen = [args[n] for n in self._donate_nums if -len(args) <= n < len(args)]
        chosen += [kwargs[n] for n in self._donate_names if n in kwargs]
        return tuple(sorted(leaf for leaf in pytree.leaves(chosen) if isinstance(leaf, int)))

    @api_boundary
    def trace(self, /, *args: Any, **kwargs: Any) -> Traced:
        """Trace for given arguments, arrays or ``ShapeDtypeStruct``, without compiling."""
        statics, dyn_args, dyn_kwargs = self._static.split(args, kwargs)
        leaves, in_tree = pytree.flatten((dyn_args, dyn_kwargs))
        avals = self._avals(leaves, in_tree, statics)
        program = self._trace(self._layout(in_tree, statics), statics, avals)
        placements = [x._placement for x in leaves if type(x) is Array]
        return Traced(
            program, lambda: self._partition(program, leaves) or self._placement(placements)
        )

    @api_boundary
    def lower(self, /, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower for given arguments, arrays or ``ShapeDtypeStruct``."""
        return self.trace(*args, **kwargs).lower()

    @api_boundary
    def eval_shape(self, /, *args: Any, **kwargs: Any) -> Any:
        """Shapes and dtypes of the results."""
        return self.trace(*args, **kwargs).out_info

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    @property
    def __signature__(self) -> inspect.Signature:
        """Of the function that it wraps, also for who does not follow ``__wrapped__``."""
        return inspect.signature(self._fun)

    def __repr__(self) -> str:
        return f"<PjitFunction of {self._fun!r}>"

    def __copy__(self) -> JitFunction:
        return self

    def __deepcopy__(self, memo: Any) -> JitFunction:
        return self

    def __reduce__(self) -> Any:
        """Pickled by the name under which a module has it, as functions are, else by the function and the options."""
        name: str = getattr(self, "__qualname__", self.__name__)
        found: Any = sys.modules.get(self.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else (_made, (self._fun, self._given))

    def clear_cache(self) -> None:
        """Drop all traces and compiled programs of this function."""
        self._expected = None
        self._layouts.clear()
        self._table.clear()

    def _cache_size(self) -> int:
        return sum(program.count for program in self._programs())


own_boundaries.add(JitFunction.__call__.__code__)
functions.add(JitFunction)


class _OpenedFunction(JitFunction):
    """A function of what mutable values hold. It meets none but those."""

    def _open(
        self,
        leaves: Sequence[Any],
        layout: Layout,
        statics: Statics,
        met: MutableValueError | None = None,
    ) -> Any:
        assert met is not None
        raise met


def _made(fun: Callable[..., Any], options: dict[str, Any]) -> JitFunction:
    return JitFunction(fun, **options)


def _placed(tree: Any, placements: Sequence[Placement]) -> Any:
    leaves, structure = pytree.flatten(tree)
    return pytree.unflatten(structure, list(map(transfer, leaves, placements)))


def _bind_program(program: Program, leaves: Sequence[Any], inline: bool) -> Any:
    args = [x if isinstance(x, (Array, Tracer)) else as_array(x) for x in leaves]
    jaxpr, constants = program.opened
    if has_references(jaxpr):
        check_distinct(program.name, constants, args, program.names)
    if inline:
        outs = eval_closed(jaxpr, *constants, *args)
    else:
        outs = jit_p.bind(*constants, *args, jaxpr=jaxpr, name=program.name)
    return program.out_tree.unflatten(outs)


def _arrays(leaves: Sequence[Any], named: Callable[[], tuple[str, list[str]]]) -> list[Any]:
    found = []
    for i, x in enumerate(leaves):
        try:
            found.append(x if type(x) is Array else concrete(as_array(x)))
        except TypeError:
            if isinstance(x, Tracer):
                raise
            place, names = named()
            raise NotArrayError(
                f"Error interpreting argument to {place}: argument `{names[i]}` is no array, but of type {type(x)}. "
                "Pass it with static_argnums or static_argnames of jit, or make it an array."
                + conversion(x)
            ) from None
    return found


def _check_outputs(outs: list[Any], out_tree: Any, name: str) -> list[Any]:
    checked = []
    for i, y in enumerate(outs):
        try:
            checked.append(y if isinstance(y, (Array, Tracer)) else as_array(y))
        except TypeError as error:
            path = pytree.paths_of(out_tree)[i]
            raise TypeError(
                f"jit: {name} returned a value of type {type(y)}, not a JAX type, at {path or 'the top'} of its result: {y!r}"
            ) from error
    return checked
