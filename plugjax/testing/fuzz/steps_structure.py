"""Steps that move elements: shapes, joins, pads, slices, gathers, scatters."""

from __future__ import annotations

from plugjax.testing.fuzz.program import Aval, Step
from plugjax.testing.fuzz.scope import NothingFitsError, Scope, infer, rule


@rule(4)
def layout(scope: Scope) -> None:
    i = scope.array(least=0)
    shape = scope.aval(i).shape
    n, size = len(shape), scope.aval(i).size
    choices = [f"jnp.expand_dims({{0}}, {scope.integer(0, n)})", "jnp.ravel({0})", "{0}[None]"]
    divisors = [d for d in (1, 2, 3, 4) if size % d == 0]
    d = scope.one_of(divisors)
    choices.append(f"jnp.reshape({{0}}, ({d}, {size // d}))")
    leading = tuple(scope.integer(0, 3) for _ in range(scope.integer(0, 2)))
    choices.append(f"jnp.broadcast_to({{0}}, {leading + shape})")
    if n:
        axis = scope.axis(i)
        order = tuple(map(int, scope.rng.permutation(n)))
        choices += [
            f"jnp.transpose({{0}}, {order})",
            f"jnp.transpose({{0}}, {order})",
            f"jnp.flip({{0}}, {axis})",
            f"jnp.roll({{0}}, {scope.integer(-3, 3)}, {axis})",
            f"jnp.repeat({{0}}, {scope.integer(0, 2)}, axis={axis})",
            f"jnp.tile({{0}}, {tuple(scope.integer(0, 2) for _ in shape)})",
            f"jnp.moveaxis({{0}}, {axis}, 0)",
        ]
        if 1 in shape:
            choices.append(f"jnp.squeeze({{0}}, {shape.index(1)})")
    if n >= 2:
        choices += [f"jnp.tril({{0}}, {scope.integer(-1, 1)})", f"jnp.triu({{0}}, {scope.integer(-1, 1)})", "jnp.rot90({0})", "jnp.diagonal({0})"]  # fmt: skip
    if n == 1:
        choices.append(f"jnp.diag({{0}}, {scope.integer(-1, 1)})")
    scope.step(scope.one_of(choices), [i])


@rule(2)
def join(scope: Scope) -> None:
    i = scope.array()
    a = scope.aval(i)
    n = len(a.shape)
    if n == 0 or scope.chance(0.3):
        k = scope.want(lambda b: b.shape == a.shape, a.dtype, a.shape)
        scope.step(f"jnp.stack([{{0}}, {{1}}], axis={scope.integer(0, n)})", [i, k])
        return
    axis = scope.axis(i)

    def rest(shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[:axis] + shape[axis + 1 :]

    def fits(b: Aval) -> bool:
        return len(b.shape) == n and rest(b.shape) == rest(a.shape)

    others = [scope.want(fits, a.dtype, a.shape) for _ in range(scope.integer(1, 2))]
    names = ", ".join(f"{{{j}}}" for j in range(1 + len(others)))
    scope.step(f"jnp.concatenate([{names}], axis={axis})", [i, *others])


@rule(2)
def pad(scope: Scope) -> None:
    i = scope.array(least=1, most=3)
    shape = scope.aval(i).shape
    if scope.chance(0.5):
        widths = tuple(
            (scope.integer(-1, 2), scope.integer(-1, 2), scope.integer(0, 2)) for _ in shape
        )
        if any(n + lo + hi + max(0, n - 1) * k < 0 for n, (lo, hi, k) in zip(shape, widths, strict=True)):  # fmt: skip
            raise NothingFitsError
        value = scope.one_of(["0", "1"])
        scope.step(f"lax.pad({{0}}, np.array({value}, {{0}}.dtype), {widths})", [i])
        return
    mode = scope.one_of(["constant", "edge", "reflect", "wrap", "symmetric"])
    if mode != "constant" and 0 in shape:
        raise NothingFitsError
    widths2 = tuple((scope.integer(0, 2), scope.integer(0, 2)) for _ in shape)
    if mode == "reflect":
        widths2 = tuple((min(a, n - 1), min(b, n - 1)) for n, (a, b) in zip(shape, widths2, strict=True))  # fmt: skip
    scope.step(f"jnp.pad({{0}}, {widths2}, mode='{mode}')", [i])


@rule(2.5)
def static_slice(scope: Scope) -> None:
    i = scope.array(least=1)
    parts = []
    for n in scope.aval(i).shape:
        kind = scope.integer(0, 5)
        if kind <= 1:
            parts.append(":")
        elif kind == 2 and n:
            parts.append(str(scope.integer(-n, n - 1)))
        elif kind == 3:
            parts.append("::-1")
        elif kind == 4:
            parts.append(f"{scope.integer(0, n)}:{scope.integer(0, n)}:{scope.integer(1, 2)}")
        else:
            parts.append(f"{scope.integer(0, n)}:")
    if scope.chance(0.2):
        parts.insert(scope.integer(0, len(parts)), "None")
    scope.step(f"{{0}}[{', '.join(parts)}]", [i])


@rule(0.7)
def split(scope: Scope) -> None:
    i = scope.array(least=1)
    axis = scope.axis(i)
    n = scope.aval(i).shape[axis]
    at = scope.integer(0, n)
    scope.step(f"jnp.split({{0}}, [{at}], axis={axis})", [i], results=2)


def scalar_index(scope: Scope) -> int:
    """An integer without axes, from a value or a new input."""
    dtype = scope.one_of(["int32", "int32", "int8", "uint8", "uint32", "int16"])
    return scope.want(lambda b: b.kind in "iu" and b.shape == () and not b.weak, dtype, ())


@rule(2.5)
def dynamic(scope: Scope) -> None:
    """Slices and updates at computed positions, also beyond the ends."""
    i = scope.array(least=1, most=3)
    a = scope.aval(i)
    sizes = tuple(scope.integer(0, n) if scope.chance(0.8) else n for n in a.shape)
    starts = [scalar_index(scope) for _ in a.shape]
    names = ", ".join(f"{{{j + 1}}}.astype('int32')" for j in range(len(starts)))
    kind = scope.integer(0, 3)
    if kind == 0:
        scope.step(f"lax.dynamic_slice({{0}}, ({names},), {sizes})", [i, *starts])
    elif kind == 1:
        u = scope.want(lambda b: b.shape == sizes and b.dtype == a.dtype, a.dtype, sizes)
        scope.step(f"lax.dynamic_update_slice({{0}}, {{{len(starts) + 1}}}, ({names},))", [i, *starts, u])  # fmt: skip
    else:
        axis = scope.axis(i)
        if not a.shape[axis]:
            raise NothingFitsError
        if kind == 2:
            keep = scope.chance(0.5)
            scope.step(f"lax.dynamic_index_in_dim({{0}}, {{1}}, {axis}, keepdims={keep})", [i, starts[0]])  # fmt: skip
            return
        rest = a.shape[:axis] + a.shape[axis + 1 :]
        u = scope.want(lambda b: b.shape == rest and b.dtype == a.dtype, a.dtype, rest)
        scope.step(f"lax.dynamic_update_index_in_dim({{0}}, {{2}}, {{1}}, {axis})", [i, starts[0], u])  # fmt: skip


def indices(scope: Scope, shape: tuple[int, ...], size: int, beyond: bool) -> int:
    """Integers that index an axis, sometimes beyond its ends."""
    low, high = (-size - 2, size + 1) if beyond else (0, size - 1)
    dtype = scope.one_of(["int32", "int32", "int32", "int8", "int16", "uint8", "uint32"])
    if dtype.startswith("u"):
        low = 0
    count = Aval(dtype, shape).size
    return scope.input(Aval(dtype, shape), [str(scope.integer(low, high)) for _ in range(count)])


GATHERS = [
    "{0}.at[{where}].get(mode='clip')",
    "{0}.at[{where}].get(mode='fill')",
    "{0}.at[{where}].get(mode='fill', fill_value=1)",
    "{0}.at[{where}].get(mode='promise_in_bounds')",
    "{0}[{where}]",
    "{0}[{where}]",
]


def _places(scope: Scope, i: int, beyond: bool, first: int = 1) -> tuple[str, list[int]]:
    """An index expression with one or two index arrays, and slices between and after them."""
    shape = scope.aval(i).shape
    chosen = set(scope.axes(i)[: scope.integer(1, 2)])
    common = scope.shape(scope.integer(0, 2))
    parts: list[str] = []
    operands: list[int] = []
    for axis, n in enumerate(shape):
        if axis not in chosen:
            parts.append(scope.one_of([":", ":", "::-1"]))
            continue
        if n == 0:
            raise NothingFitsError
        if scope.chance(0.15):
            parts.append(str(scope.integer(-n, n - 1)))
            continue
        own = tuple(1 if scope.chance(0.15) else m for m in common)
        parts.append(f"{{{first + len(operands)}}}")
        operands.append(indices(scope, own, n, beyond))
    while parts and parts[-1] == ":":
        parts.pop()
    return ", ".join(parts), operands


@rule(3)
def gather(scope: Scope) -> None:
    i = scope.array(least=1, most=3)
    template = scope.one_of(GATHERS)
    where, operands = _places(scope, i, "promise" not in template and scope.chance(0.5))
    scope.step(template.replace("{where}", where), [i, *operands])


@rule(1)
def take(scope: Scope) -> None:
    i = scope.array(least=1, most=3)
    axis = scope.axis(i)
    n = scope.aval(i).shape[axis]
    if not n:
        raise NothingFitsError
    if scope.chance(0.5):
        mode = scope.one_of(["clip", "fill", "wrap"])
        k = indices(scope, scope.shape(scope.integer(0, 2)), n, beyond=True)
        scope.step(f"jnp.take({{0}}, {{1}}, axis={axis}, mode='{mode}')", [i, k])
        return
    shape = list(scope.aval(i).shape)
    shape[axis] = scope.integer(1, 3)
    k = indices(scope, tuple(shape), n, beyond=False)
    scope.step(f"jnp.take_along_axis({{0}}, {{1}}, axis={axis})", [i, k])


@rule(3)
def scatter(scope: Scope) -> None:
    """``x.at[places].op(values)``, with values that are stretched."""
    i = scope.array("biufc", least=1, most=3)
    a = scope.aval(i)
    ops = {"b": ["set"], "c": ["add", "multiply"]}.get(a.kind, ["add", "multiply", "min", "max"])
    if scope.differentiated:
        # The derivative of a product requires unique positions.
        ops = [op for op in ops if op != "multiply"]
    if scope.chance(0.35):
        # Single elements or whole rows: the order of updates of equal positions is unspecified.
        where, operands = _single_place(scope, i)
        op = scope.one_of(["set", *ops])
    else:
        where, operands = _places(scope, i, scope.chance(0.5))
        op = scope.one_of(ops)
        if op == "set":
            raise NothingFitsError
    mode = scope.one_of(["", ", mode='drop'", ", mode='clip'"])
    values = _updates(scope, where, [i, *operands], a)
    scope.step(
        f"{{0}}.at[{where}].{op}({{{len(operands) + 1}}}{mode})",
        [i, *operands, values],
        level=scope.level(i) + (op == "multiply"),
    )


def _single_place(scope: Scope, i: int) -> tuple[str, list[int]]:
    axis = scope.axis(i)
    n = scope.aval(i).shape[axis]
    if not n:
        raise NothingFitsError
    leading = [":"] * axis
    if scope.chance(0.5):
        order = [str(int(p)) for p in scope.rng.permutation(n)[: scope.integer(1, n)]]
        return ", ".join([*leading, "{1}"]), [scope.input(Aval("int32", (len(order),)), order)]
    return ", ".join([*leading, "{1}"]), [indices(scope, (), n, scope.chance(0.5))]


def _updates(scope: Scope, where: str, operands: list[int], a: Aval) -> int:
    """Values that broadcast to the shape of an index expression."""
    taken = infer(Step("", f"{{0}}[{where}]", operands, [next(scope.shared.numbers)]), scope.shared)[0]  # fmt: skip
    shape = tuple(1 if scope.chance(0.2) else n for n in taken.shape)
    shape = () if scope.chance(0.2) else shape
    return scope.want(lambda b: b.dtype == a.dtype and b.shape == taken.shape, a.dtype, shape)


@rule(1)
def segments(scope: Scope) -> None:
    i = scope.array("iuf", least=1, most=2)
    n, count = scope.aval(i).shape[0], scope.integer(1, 4)
    k = indices(scope, (n,), count, scope.chance(0.3))
    names = ["segment_sum", "segment_max", "segment_min", "segment_prod"]
    name = scope.one_of(names[:-1] if scope.differentiated else names)
    scope.step(f"jax.ops.{name}({{0}}, {{1}}, num_segments={count})", [i, k], level=scope.level(i) + 1)  # fmt: skip


@rule(0.7)
def one_hot(scope: Scope) -> None:
    k = scope.array("iu", most=2)
    scope.step(f"jax.nn.one_hot({{0}}, {scope.integer(0, 4)}, dtype='{scope.one_of(['float32', 'int32', 'bfloat16'])}')", [k])  # fmt: skip


@rule(0.7)
def found_places(scope: Scope) -> None:
    k = scope.array("biuf", most=2)
    size = scope.integer(1, 4)
    if scope.chance(0.5):
        k = scope.array("iu", least=1, most=1, nonempty=True)
        scope.step(f"jnp.unique({{0}}, size={size})", [k])
        return
    count = max(1, len(scope.aval(k).shape))
    if not scope.aval(k).shape:
        raise NothingFitsError
    scope.step(f"jnp.nonzero({{0}}, size={size}, fill_value=0)" + ("[0]" if count == 1 else ""), [k], results=count)  # fmt: skip
