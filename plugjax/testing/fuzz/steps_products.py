"""Steps of products: dots, convolutions, einsum; small linear algebra, transforms and random numbers."""

from __future__ import annotations

from plugjax.testing.fuzz.program import Aval
from plugjax.testing.fuzz.scope import NothingFitsError, Scope, rule

# Whether padding times infinity counts is unspecified.
FINITE = "jnp.clip({0}, -9, 9)"


@rule(2.5)
def matrix_product(scope: Scope) -> None:
    i = scope.array("iufc", least=1, most=3)
    a = scope.aval(i)
    n = a.shape[-1]

    def fits(b: Aval) -> bool:
        if b.kind not in "iufc" or not 1 <= len(b.shape) <= 2:
            return False
        return b.shape[0] == n

    shape = (n,) if scope.chance(0.4) else (n, scope.integer(1, 4))
    k = scope.want(fits, a.dtype, shape)
    level = scope.level(i) + scope.level(k) + 1
    template = scope.one_of(["{0} @ {1}", "jnp.matmul({0}, {1})", "jnp.dot({0}, {1})"])
    scope.step(template, [i, k], level=level)


@rule(2)
def general_dot(scope: Scope) -> None:
    """Batch and contracted axes anywhere."""
    i = scope.array("iufc", least=1, most=3)
    a = scope.aval(i)
    order = [int(j) for j in scope.rng.permutation(len(a.shape))]
    contracted = order[: scope.integer(0, min(2, len(order)))]
    batched = order[len(contracted) : len(contracted) + scope.integer(0, 1)]
    sizes = [a.shape[j] for j in [*contracted, *batched]]
    sizes += list(scope.shape(scope.integer(0, 1)))
    places = [int(j) for j in scope.rng.permutation(len(sizes))]
    shape = [0] * len(sizes)
    for size, place in zip(sizes, places, strict=True):
        shape[place] = size
    k = scope.want(lambda b: b.shape == tuple(shape) and b.dtype == a.dtype, a.dtype, tuple(shape))
    rhs_contracted = tuple(places[: len(contracted)])
    rhs_batched = tuple(places[len(contracted) : len(contracted) + len(batched)])
    numbers = f"(({tuple(contracted)}, {rhs_contracted}), ({tuple(batched)}, {rhs_batched}))"
    wider = ""
    if scope.chance(0.3) and a.dtype in ("int8", "float16", "bfloat16"):
        wider = f", preferred_element_type='{'int32' if a.kind == 'i' else 'float32'}'"
    scope.step(f"lax.dot_general({{0}}, {{1}}, {numbers}{wider})", [i, k], level=scope.level(i) + scope.level(k) + 1)  # fmt: skip


@rule(1)
def einstein_sum(scope: Scope) -> None:
    spec, rank = scope.one_of(
        [
            ("ij,jk->ik", 2),
            ("ij,ij->i", 2),
            ("ij,kj->ki", 2),
            ("i,j->ij", 1),
            ("ij,j", 2),
            ("ij,ij->", 2),
            ("ijk,kj->i", 3),
        ]
    )
    i = scope.array("iuf", least=rank, most=rank)
    letters, other = spec.replace("->", ",").split(",")[:2]
    sizes = dict(zip(letters, scope.aval(i).shape, strict=True))
    shape = tuple(sizes.setdefault(c, scope.integer(1, 3)) for c in other)
    k = scope.want(lambda b: b.shape == shape and b.kind in "iuf", scope.aval(i).dtype, shape)
    scope.step(f"jnp.einsum('{spec}', {{0}}, {{1}})", [i, k], level=scope.level(i) + scope.level(k) + 1)  # fmt: skip


@rule(1.5)
def convolution(scope: Scope) -> None:
    """Strides, padding, dilations, groups; one or two spatial axes."""
    spatial = scope.integer(1, 2)
    dtype = scope.one_of(["float32", "float32", "float16", "bfloat16", "int32"])
    groups = scope.one_of([1, 1, 2])
    channels, features = groups * scope.integer(1, 2), groups * scope.integer(1, 2)
    sizes = tuple(scope.integer(2, 5) for _ in range(spatial))
    window = tuple(scope.integer(1, 2) for _ in range(spatial))
    x_shape, w_shape = (scope.integer(1, 2), channels, *sizes), (features, channels // groups, *window)  # fmt: skip
    x = scope.want(lambda b: b.shape == x_shape and b.dtype == dtype, dtype, x_shape)
    w = scope.want(lambda b: b.shape == w_shape and b.dtype == dtype, dtype, w_shape)
    strides = tuple(scope.integer(1, 2) for _ in range(spatial))
    padding = scope.one_of(["'VALID'", "'SAME'", str(tuple((scope.integer(0, 1), scope.integer(0, 1)) for _ in window))])  # fmt: skip
    extra = f", feature_group_count={groups}" if groups > 1 else ""
    if scope.chance(0.3):
        extra += f", rhs_dilation={tuple(scope.integer(1, 2) for _ in window)}"
    if scope.chance(0.3) and "'" not in padding:
        extra += f", lhs_dilation={tuple(scope.integer(1, 2) for _ in window)}"
    scope.step(f"lax.conv_general_dilated({FINITE}, {FINITE.replace('0', '1')}, {strides}, {padding}{extra})", [x, w], level=scope.level(x) + scope.level(w) + 1)  # fmt: skip


@rule(0.7)
def filtering(scope: Scope) -> None:
    i, k = (scope.array("f", least=1, most=1, nonempty=True) for _ in range(2))
    mode = scope.one_of(["full", "same", "valid"])
    scope.step(f"jnp.convolve({FINITE}, {FINITE.replace('0', '1')}, mode='{mode}')", [i, k], level=scope.level(i) + scope.level(k))  # fmt: skip


@rule(0.5)
def polynomial(scope: Scope) -> None:
    i, k = scope.array("f", least=1, most=1), scope.array("f", most=2)
    scope.step("jnp.polyval({0}, jnp.tanh({1}))", [i, k], level=scope.level(i) + 1)


@rule(1)
def random_numbers(scope: Scope) -> None:
    shape, seed = scope.shape(), scope.integer(0, 99)
    key = f"jax.random.key({seed})"
    if scope.chance(0.4):
        key = f"jax.random.fold_in({key}, {scope.integer(0, 9)})"
    half = scope.one_of(["float32", "float32", "bfloat16", "float16"])
    call = scope.one_of(
        [
            f"jax.random.bits({key}, {shape}, '{scope.one_of(['uint8', 'uint16', 'uint32'])}')",
            f"jax.random.uniform({key}, {shape}, '{half}')",
            f"jax.random.normal({key}, {shape}, '{half}')",
            f"jax.random.randint({key}, {shape}, -3, 5)",
            f"jax.random.bernoulli({key}, 0.5, {shape})",
            f"jax.random.permutation({key}, {scope.integer(1, 5)})",
            f"jax.random.categorical({key}, jnp.ones((2, 3)), shape=(2,))",
            f"jax.random.key_data(jax.random.split({key}, {scope.integer(1, 3)}))",
        ]
    )
    scope.step(call, [])


@rule(0.5)
def shuffled(scope: Scope) -> None:
    i = scope.array(least=1, nonempty=True)
    scope.step(f"jax.random.permutation(jax.random.key({scope.integer(0, 9)}), {{0}})", [i])


@rule(0.6)
def fourier(scope: Scope) -> None:
    i = scope.array("fc", least=1, most=2, nonempty=True)
    if scope.aval(i).dtype not in ("float32", "complex64", "float64", "complex128"):
        raise NothingFitsError
    if scope.shared.special:
        # An infinity reaches every result, by different formulas on each backend.
        raise NothingFitsError
    names = ["fft", "ifft"] if scope.aval(i).kind == "c" else ["fft", "rfft"]
    scope.step(f"jnp.fft.{scope.one_of(names)}({{0}})", [i], level=scope.level(i) + 1)


@rule(0.6)
def linear_systems(scope: Scope) -> None:
    """Well-conditioned linear systems: matrices with a dominant diagonal."""
    n = scope.integer(1, 3)
    # Results for a matrix with a nan are unspecified.
    i = scope.want(lambda b: b.dtype == "float32" and b.shape == (n, n), "float32", (n, n))
    k = scope.want(lambda b: b.dtype == "float32" and b.shape == (n,), "float32", (n,))
    matrix = f"(jnp.tanh(jnp.nan_to_num({{0}})) + {n + 2} * jnp.eye({n}))"
    choices = [
        (f"jnp.linalg.solve({matrix}, jnp.nan_to_num({{1}}))", [i, k]),
        (f"jnp.linalg.inv({matrix})", [i]),
        (f"jnp.linalg.det({matrix})", [i]),
        (f"jnp.linalg.cholesky({matrix} @ {matrix}.T)", [i]),
        (f"jax.scipy.linalg.solve_triangular({matrix}, jnp.nan_to_num({{1}}), lower=True)", [i, k]),
    ]
    expression, operands = scope.one_of(choices)
    scope.step(expression, operands, level=max(scope.level(j) for j in operands))
