"""Rotations, interpolation, iterative solvers, minimization and three special functions on drawn arguments, against SciPy and JAX."""

import jax.scipy.interpolate
import jax.scipy.optimize
import jax.scipy.sparse.linalg
import jax.scipy.spatial.transform  # noqa: F401  # the calls name it
import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage
import scipy.optimize
import scipy.spatial.transform
import scipy.special
from hypothesis import given, strategies as st

from tests.drawn import agree, arrays

SEQUENCES = st.one_of(
    st.sampled_from(["xyz", "ZYX", "zxz", "XYX", "x", "Z", "xy", "YZ", "xx", "xY", "xyzx", "", "abc"]),
    st.text("xyz", min_size=3, max_size=3),
)  # fmt: skip
COUNTS = st.sampled_from([(), (1,), (4,)])


@given(data=st.data())
def test_rotations_by_euler_angles(data):
    """From any number of angles, and back."""
    draw = data.draw
    sequence, degrees = draw(SEQUENCES), draw(st.booleans())
    back = draw(st.sampled_from(["xyz", "ZXZ", sequence]))
    axes = len(sequence) + draw(st.sampled_from([0, 0, 0, 0, 1]))
    shape = (*draw(COUNTS), axes)
    shape = shape[:-1] if axes == 1 and draw(st.booleans()) else shape
    angles = draw(
        arrays(["float32", "float32", "int32", "float16"], st.just(shape), low=-1, high=1)
    )

    def call(t, x):
        return t.Rotation.from_euler(sequence, x, degrees).as_matrix()

    known = angles.dtype == np.float32
    agree(
        lambda _, j, x: call(j.scipy.spatial.transform, x),
        (lambda x: call(scipy.spatial.transform, x)) if known else None,
        angles,
        tolerance=5,
    )
    agree(
        lambda _, j, x: j.scipy.spatial.transform.Rotation.from_euler("xyz", x).as_euler(back, degrees),
        None,
        draw(arrays(["float32"], st.just((3,)))),
    )  # fmt: skip


FORMS = {
    "matrix": lambda r, v: r.as_matrix(),
    "quat": lambda r, v: r.as_quat(canonical=True),
    "scalar first": lambda r, v: r.as_quat(canonical=True, scalar_first=True),
    "rotvec": lambda r, v: r.as_rotvec(),
    "degrees": lambda r, v: r.as_rotvec(degrees=True),
    "mrp": lambda r, v: r.as_mrp(),
    "magnitude": lambda r, v: r.magnitude(),
    "inverse": lambda r, v: r.inv().as_matrix(),
    "apply": lambda r, v: r.apply(v),
    "apply back": lambda r, v: r.apply(v, inverse=True),
    "product": lambda r, v: (r * r.inv() * r).as_matrix(),
    "mean": lambda r, v: r.mean().as_matrix(),
    "one": lambda r, v: r[0].as_matrix(),
}


@given(data=st.data())
def test_forms_of_rotations(data):
    draw = data.draw
    count = draw(COUNTS)
    q = draw(arrays(["float32"], st.just((*count, 4)), low=0.2, high=2))
    v = draw(arrays(["float32", "int32"], st.sampled_from([(3,), (*count, 3), (2, 3), (4,)])))
    f = FORMS[draw(st.sampled_from(list(FORMS)))]
    fits = v.shape in ((3,), (*count, 3))

    def call(t, q, v):
        return f(t.Rotation.from_quat(q), v)

    # JAX means one rotation, too.
    agree(
        lambda _, j, q, v: call(j.scipy.spatial.transform, q, v),
        (lambda q, v: call(scipy.spatial.transform, q, v)) if fits and count else None,
        q,
        v,
        tolerance=30,
    )


@given(data=st.data())
def test_rotations_between_rotations(data):
    draw = data.draw
    n = draw(st.integers(2, 5))
    q = draw(arrays(["float32"], st.just((n, 4)), low=0.2, high=2))
    times = np.cumsum(draw(arrays(["float32"], st.just((n,)), low=0.5, high=2)))
    shape = draw(st.sampled_from([(), (1,), (6,)]))
    at = times[0] + (times[-1] - times[0]) * draw(
        arrays(["float32"], st.just(shape), low=0, high=1)
    )
    known = scipy.spatial.transform

    agree(
        lambda _, j, q, times, at: (
            lambda t: t.Slerp.init(times, t.Rotation.from_quat(q))(at).as_matrix()
        )(j.scipy.spatial.transform),
        lambda q, times, at: known.Slerp(times, known.Rotation.from_quat(q))(at).as_matrix(),
        q,
        times.astype(np.float32),
        np.asarray(at, np.float32),
        tolerance=50,
    )


@given(data=st.data())
def test_values_between_those_of_a_grid(data):
    draw = data.draw
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    grid = [np.cumsum(draw(arrays(["float32"], st.just((n,)), low=0.5, high=2))) for n in sizes]
    trailing = draw(st.sampled_from([(), (), (2,)]))
    values = draw(
        arrays(["float32", "float32", "int32", "complex64"], st.just((*sizes, *trailing)))
    )
    points = draw(arrays(["float32"], st.sampled_from([(5, len(sizes)), (len(sizes),), (2, 3, len(sizes)), (4, len(sizes) + 1)]), low=-1, high=6))  # fmt: skip
    method = draw(st.sampled_from(["linear", "nearest", "cubic"]))
    fill = draw(st.sampled_from([np.nan, None, 3.0]))
    if fill is np.nan and values.dtype == np.int32:
        fill = None
    options = {"method": method, "bounds_error": False, "fill_value": fill}

    def call(s, x, *axes):
        return s.RegularGridInterpolator(tuple(axes), values, **options)(x)

    known = method == "linear" and values.dtype != np.int32 and points.shape[-1] == len(sizes)
    agree(
        lambda _, j, x, *axes: call(j.scipy.interpolate, x, *axes),
        (lambda x, *axes: call(scipy.interpolate, x, *axes)) if known else None,
        points,
        *[np.float32(g) for g in grid],
        tolerance=50,
    )


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
@given(data=st.data())
def test_iterative_solvers(name, data):
    """Matrices and functions, trees of right-hand sides, preconditioners and first guesses."""
    draw = data.draw
    n = draw(st.integers(1, 4))
    dtype = draw(st.sampled_from(["float32", "float32", "complex64", "int32"]))
    root = draw(arrays([dtype if dtype != "int32" else "float32"], st.just((n, n))))
    a = root @ root.conj().T + 4 * np.eye(n, dtype=root.dtype)
    b = draw(arrays([dtype], st.sampled_from([(n,), (n,), (n,), (n + 1,), (n, 1)])))
    tree, apart = draw(st.booleans()), draw(st.booleans())
    options = {"tol": 1e-6, "atol": draw(st.sampled_from([0.0, 1e-6]))}
    if draw(st.booleans()):
        options["maxiter"] = 20
    if draw(st.booleans()):
        options["M"] = lambda x: x
    if name == "gmres":
        options |= {"restart": draw(st.sampled_from([2, 20])), "solve_method": draw(st.sampled_from(["batched", "incremental", "other"]))}  # fmt: skip

    def call(n, j, a, b):
        solve = getattr(j.scipy.sparse.linalg, name)
        if tree:
            return solve(lambda x: {"b": a @ x["b"]}, {"b": b}, **options)[0]["b"]
        extra = {"x0": n.zeros_like(b)} if apart else {}
        return solve(a if apart else lambda x: a @ x, b, **extra, **options)[0]

    known = dtype != "int32" and b.shape == (n,) and options.get("restart") != 2
    agree(call, (lambda a, b: np.linalg.solve(a, b)) if known else None, a, b, tolerance=100)


@given(data=st.data())
def test_minimization(data):
    """A quadratic function, with options and arguments that are sometimes refused."""
    # If the first point is not a vector, JAX fails with one internal error or another.
    draw = data.draw
    n = draw(st.integers(1, 3))
    x0 = draw(arrays(["float32", "float32", "int32", "complex64"], st.just((n,))))
    middle = draw(arrays(["float32"], st.just((n,))))
    method = draw(
        st.sampled_from(
            ["BFGS", "BFGS", "bfgs", "l-bfgs-experimental-do-not-rely-on-this", "Powell"]
        )
    )
    options = draw(st.sampled_from([None, {}, {"maxiter": 30}, {"gtol": 1e-4}, {"unknown": 1}]))
    args = draw(st.sampled_from([(), (2.0,), 3]))

    def call(j, x0):
        def f(x, *rest):
            return ((x - middle) ** 2).sum() * (rest[0] if rest else 1)

        return j.scipy.optimize.minimize(f, x0, args, method=method, tol=None, options=options).x

    known = x0.shape == (n,) and x0.dtype == np.float32
    agree(lambda _, j, x0: call(j, x0), (lambda x0: middle) if known else None, x0, tolerance=200)


@given(data=st.data())
def test_special_functions_of_more_arguments(data):
    draw = data.draw
    x = draw(arrays(["float32"], st.sampled_from([(), (3,), (2, 2)]), low=0.1, high=6))
    y = draw(arrays(["float32"], st.just(x.shape), low=-3, high=3))
    order = draw(st.integers(0, 4))
    agree(
        lambda _, j, x: j.scipy.special.bessel_jn(x, v=order),
        lambda x: np.stack([scipy.special.jv(k, x) for k in range(order + 1)]),
        x,
        tolerance=20,
    )
    agree(
        lambda _, j, x, y: j.scipy.special.wofz(x + 1j * y),
        lambda x, y: scipy.special.wofz(x + 1j * y),
        x,
        y,
        tolerance=20,
    )
    n = np.array([order])
    m = np.array([draw(st.integers(-order, order))])
    theta, phi = np.ravel(x)[:1], np.ravel(y)[:1]
    agree(
        lambda _, j, theta, phi: j.scipy.special.sph_harm_y(n, m, theta, phi),
        lambda theta, phi: scipy.special.sph_harm_y(n, m, theta, phi),
        theta,
        phi,
        tolerance=20,
    )  # fmt: skip
