"""Steps that combine elements along axes: reductions, cumulative operations, windows, sorts."""

from __future__ import annotations

from plugjax.testing.fuzz.program import Aval
from plugjax.testing.fuzz.scope import NothingFitsError, Scope, rule

# (function, kinds, whether empty axes are allowed, level that it adds).
REDUCTIONS = [
    ("jnp.sum({0}, axis={axes}, keepdims={keep})", "biufc", True, 1),
    ("jnp.sum({0}, axis={axes}, keepdims={keep})", "biufc", True, 1),
    ("jnp.sum({0}, axis={axes}, keepdims={keep}, dtype='float32')", "biuf", True, 1),
    ("jnp.sum({0}, axis={axes}, keepdims={keep}, initial=2)", "iuf", True, 1),
    ("jnp.prod({0}, axis={axes}, keepdims={keep})", "biuf", True, 3),
    ("jnp.max({0}, axis={axes}, keepdims={keep})", "biuf", False, 0),
    ("jnp.min({0}, axis={axes}, keepdims={keep})", "biuf", False, 0),
    ("jnp.max({0}, axis={axes}, keepdims={keep}, initial=0)", "iuf", True, 0),
    ("jnp.any({0}, axis={axes}, keepdims={keep})", "biufc", True, 0),
    ("jnp.all({0}, axis={axes}, keepdims={keep})", "biufc", True, 0),
    ("jnp.count_nonzero({0}, axis={axes}, keepdims={keep})", "biufc", True, 0),
    ("jnp.mean({0}, axis={axes}, keepdims={keep})", "biufc", False, 0),
    ("jnp.var({0}, axis={axes}, keepdims={keep})", "fc", False, 1),
    ("jnp.std({0}, axis={axes}, keepdims={keep})", "f", False, 0),
    ("jnp.ptp({0}, axis={axes}, keepdims={keep})", "f", False, 0),
    ("jnp.nansum({0}, axis={axes}, keepdims={keep})", "f", True, 1),
    ("jnp.nanmax({0}, axis={axes}, keepdims={keep})", "f", False, 0),
    ("jax.scipy.special.logsumexp({0}, axis={axes}, keepdims={keep})", "f", False, 0),
    ("jax.nn.softmax({0}, axis={axes})", "f", False, 0),
    ("jax.nn.log_softmax({0}, axis={axes})", "f", False, 0),
    ("jax.nn.standardize({0}, axis={axes})", "f", False, 0),
    ("jnp.sum({0}, axis={axes}, where={0} > 0)", "iuf", True, 1),
    ("lax.reduce({0}, np.array(0, {0}.dtype), lax.add, {axes})", "iufc", True, 1),
    (
        "lax.reduce({0}, np.array(np.iinfo({0}.dtype).min, {0}.dtype), lax.max, {axes})",
        "iu",
        True,
        0,
    ),
    ("lax.reduce({0}, np.array(1, {0}.dtype), lax.mul, {axes})", "iuf", True, 3),
    ("lax.reduce({0}, np.array(0, {0}.dtype), lax.bitwise_xor, {axes})", "biu", True, 0),
    ("lax.reduce({0}, np.array(-1).astype({0}.dtype), lax.bitwise_and, {axes})", "biu", True, 0),
]


def _nonempty_along(aval: Aval, axes: tuple[int, ...]) -> bool:
    return all(aval.shape[i] for i in axes)


@rule(4)
def reduction(scope: Scope) -> None:
    template, kinds, empty, grows = scope.one_of(REDUCTIONS)
    i = scope.array(kinds, least=1)
    axes = scope.axes(i)
    if not empty and not _nonempty_along(scope.aval(i), axes):
        raise NothingFitsError
    expression = template.replace("{axes}", str(axes)).replace("{keep}", str(scope.chance(0.4)))
    scope.step(expression, [i], level=scope.level(i) + grows)


@rule(1)
def whole_reduction(scope: Scope) -> None:
    name = scope.one_of(["sum", "max", "min", "any", "mean", "argmax", "argmin"])
    i = scope.array("biuf", nonempty=True)
    scope.step(f"jnp.{name}({{0}})", [i], level=scope.level(i) + 1)


@rule(1.5)
def argument_of_extreme(scope: Scope) -> None:
    i = scope.array("biuf", least=1)
    axis = scope.axis(i)
    if not scope.aval(i).shape[axis]:
        raise NothingFitsError
    expressions = [f"jnp.argmax({{0}}, axis={axis})", f"jnp.argmin({{0}}, axis={axis})"]
    if scope.aval(i).kind != "b":
        expressions.append(f"lax.argmax({{0}}, {axis}, np.int32)")
    scope.step(scope.one_of(expressions), [i])


@rule(0.7)
def pair_reduction(scope: Scope) -> None:
    """Reduce values with their positions: several operands and a custom function."""
    i = scope.array("i", least=1)
    a = scope.aval(i)
    if scope.differentiated:
        raise NothingFitsError
    axes = scope.axes(i)
    places = scope.want(lambda b: b.dtype == "int32" and b.shape == a.shape, "int32", a.shape)
    better = "(y[0] > x[0]) | ((y[0] == x[0]) & (y[1] < x[1]))"
    neutral = "(np.array(np.iinfo({0}.dtype).min, {0}.dtype), np.int32(2**31 - 1))"
    expression = (
        f"lax.reduce(({{0}}, {{1}}), {neutral}, "
        f"lambda x, y: (jnp.where({better}, y[0], x[0]), jnp.where({better}, y[1], x[1])), {axes})"
    )
    scope.step(expression, [i, places], results=2)


@rule(2)
def cumulative(scope: Scope) -> None:
    template, kinds, grows = scope.one_of(
        [
            ("jnp.cumsum({0}, axis={axis})", "biufc", 1),
            ("jnp.cumprod({0}, axis={axis})", "biuf", 3),
            ("lax.cumsum({0}, axis={axis}, reverse={reverse})", "iufc", 1),
            ("lax.cumprod({0}, axis={axis}, reverse={reverse})", "iuf", 3),
            ("lax.cummax({0}, axis={axis}, reverse={reverse})", "iuf", 0),
            ("lax.cummin({0}, axis={axis}, reverse={reverse})", "iuf", 0),
            ("lax.cumlogsumexp({0}, axis={axis}, reverse={reverse})", "f", 0),
            ("jnp.diff({0}, axis={axis})", "iuf", 0),
            ("lax.associative_scan(jnp.add, {0}, axis={axis}, reverse={reverse})", "iuf", 1),
        ]
    )
    i = scope.array(kinds, least=1)
    axis = scope.axis(i)
    if not scope.aval(i).shape[axis]:
        raise NothingFitsError
    expression = template.replace("{axis}", str(axis)).replace("{reverse}", str(scope.chance(0.5)))
    scope.step(expression, [i], level=scope.level(i) + grows)


def _window(scope: Scope, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """Window, strides and padding that fit a shape."""
    window = tuple(scope.integer(1, max(1, min(3, n))) for n in shape)
    strides = tuple(scope.integer(1, 2) for _ in shape)
    padding = scope.one_of(
        [
            "'VALID'",
            "'SAME'",
            str(tuple((scope.integer(0, w - 1), scope.integer(0, w - 1)) for w in window)),
        ]
    )
    return f"{window}, {strides}, {padding}", window


@rule(2)
def windows(scope: Scope) -> None:
    i = scope.array("if", least=1, most=3)
    a = scope.aval(i)
    if not a.size:
        raise NothingFitsError
    arguments, _ = _window(scope, a.shape)
    kinds = [
        ("0", "lax.add", 1),
        ("1", "lax.mul", 3),
        ("-np.inf" if a.kind == "f" else f"np.iinfo('{a.dtype}').min", "lax.max", 0),
        ("np.inf" if a.kind == "f" else f"np.iinfo('{a.dtype}').max", "lax.min", 0),
    ]
    if scope.differentiated:
        kinds = [k for k in kinds if k[1] != "lax.mul"]
    initial, combine, grows = scope.one_of(kinds)
    if "'" not in arguments and scope.chance(0.4):
        dilation = tuple(scope.integer(1, 2) for _ in a.shape)
        which = scope.one_of(["base_dilation", "window_dilation"])
        if which == "base_dilation" or not scope.reversible:
            arguments += f", {which}={dilation}"
    scope.step(
        f"lax.reduce_window({{0}}, np.array({initial}, {{0}}.dtype), {combine}, {arguments})",
        [i],
        level=scope.level(i) + grows,
    )


@rule(1.5)
def window_gradient(scope: Scope) -> None:
    """The gradient of pooling, by maximum, minimum or sum."""
    i = scope.array("f", least=1, most=3, nonempty=True)
    arguments, _ = _window(scope, scope.aval(i).shape)
    initial, combine = scope.one_of([("-jnp.inf", "lax.max"), ("jnp.inf", "lax.min"), ("0.0", "lax.add")])  # fmt: skip
    weight = scope.one_of(["", " * 3", " ** 2"])
    expression = f"jax.grad(lambda x: jnp.sum(lax.reduce_window(x, {initial}, {combine}, {arguments}){weight}))({{0}})"  # fmt: skip
    scope.step(expression, [i], level=scope.level(i) + 1)


@rule(2)
def sort(scope: Scope) -> None:
    i = scope.array("biuf", least=1)
    axis = scope.axis(i)
    k = scope.integer(0, scope.aval(i).shape[-1])
    one = [
        f"jnp.sort({{0}}, axis={axis})",
        f"jnp.sort({{0}}, axis={axis}, descending=True)",
        f"jnp.argsort({{0}}, axis={axis})",
        f"jnp.argsort({{0}}, axis={axis}, descending=True)",
    ]
    expression = scope.one_of([*one, *one, f"lax.top_k({{0}}, {k})"])
    if "top_k" in expression and scope.aval(i).kind == "b":
        raise NothingFitsError
    scope.step(expression, [i], results=2 if "top_k" in expression else 1)


@rule(1)
def joint_sort(scope: Scope) -> None:
    i = scope.array("biuf", least=1)
    a = scope.aval(i)
    k = scope.want(lambda b: b.shape == a.shape and b.kind in "biuf", scope.dtype("biuf"), a.shape)
    axis, keys = scope.axis(i), scope.integer(1, 2)
    scope.step(
        f"lax.sort(({{0}}, {{1}}), dimension={axis}, is_stable=True, num_keys={keys})",
        [i, k],
        results=2,
    )


@rule(0.7)
def rank(scope: Scope) -> None:
    i = scope.array("iuf", least=1, most=1, nonempty=True)
    k = scope.want(lambda b: b.dtype == scope.aval(i).dtype, scope.aval(i).dtype, scope.shape())
    side = scope.one_of(["left", "right"])
    method = scope.one_of(["scan", "scan_unrolled", "sort", "compare_all"])
    scope.step(
        f"jnp.searchsorted(jnp.sort({{0}}), {{1}}, side='{side}', method='{method}')", [i, k]
    )
