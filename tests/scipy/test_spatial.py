"""``plugjax.scipy.spatial.transform`` against SciPy and JAX, compiled for each backend."""

import itertools

import jax
import jax.scipy.spatial.transform as theirs
import numpy as np
import pytest
import scipy.spatial.transform

import plugjax
import plugjax.scipy.spatial.transform as ours
from plugjax.scipy.spatial.transform import Rotation, Slerp

RNG = np.random.default_rng(4)
SPECIAL = [[0, 0, 0, 1], [0, 0, 0, -2], [1, 0, 0, 0], [-1, 0, 0, 0], [1e-5, 2e-5, 0, 1]]
Q = np.concatenate([SPECIAL, RNG.normal(size=(5, 4))]).astype(np.float32)
V = RNG.normal(size=(10, 3)).astype(np.float32)
TIMES = np.arange(5, dtype=np.float32) ** 1.5

FORMS = {
    "quat": lambda r: r.as_quat(),
    "canonical": lambda r: r.as_quat(canonical=True),
    "scalar first": lambda r: r.as_quat(scalar_first=True),
    "matrix": lambda r: r.as_matrix(),
    "mrp": lambda r: r.as_mrp(),
    "magnitude": lambda r: r.magnitude(),
    "inverse": lambda r: r.inv().as_quat(),
    "apply": lambda r: r.apply(V),
    "apply back": lambda r: r.apply(V, inverse=True),
    "mean": lambda r: r.mean().as_matrix(),
    "weighted mean": lambda r: r.mean(np.arange(1, 11)).as_matrix(),
    "some": lambda r: r[2:5].as_matrix(),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    found = FORMS[form](Rotation.from_quat(Q))
    wanted = FORMS[form](scipy.spatial.transform.Rotation.from_quat(Q))
    assert (found.shape, found.dtype) == (wanted.shape, np.float32)
    np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_rotation_vectors():
    r = scipy.spatial.transform.Rotation.from_quat(Q[4:])
    np.testing.assert_allclose(Rotation.from_quat(Q[4:]).as_rotvec(), r.as_rotvec(), rtol=1e-5)
    np.testing.assert_allclose(
        Rotation.from_quat(Q[4:]).as_rotvec(degrees=True), r.as_rotvec(degrees=True), rtol=1e-5
    )


def test_euler_angles():
    r = Rotation.from_quat(Q)
    matrices = np.asarray(r.as_matrix())
    general = scipy.spatial.transform.Rotation.from_quat(Q[5:])
    for letters in itertools.product("xyz", repeat=3):
        if letters[0] == letters[1] or letters[1] == letters[2]:
            continue
        for seq in ("".join(letters), "".join(letters).upper()):
            for degrees in (False, True):
                angles = r.as_euler(seq, degrees)
                again = Rotation.from_euler(seq, angles, degrees).as_matrix()
                np.testing.assert_allclose(again, matrices, atol=5e-6)
                np.testing.assert_allclose(
                    angles[5:], general.as_euler(seq, degrees), atol=1e-2 if degrees else 1e-4
                )


def test_made_from():
    made = [
        lambda s: s.Rotation.from_euler("zyx", V),
        lambda s: s.Rotation.from_euler("XY", V[:, :2]),
        lambda s: s.Rotation.from_euler("x", 90.0, degrees=True),
        lambda s: s.Rotation.from_matrix(
            scipy.spatial.transform.Rotation.from_quat(Q).as_matrix().astype(np.float32)
        ),
        lambda s: s.Rotation.from_rotvec(np.concatenate([V, 0 * V, 1e-5 * V])),
        lambda s: s.Rotation.from_rotvec([90, 0, 1], degrees=True),
        lambda s: s.Rotation.from_mrp(V),
        lambda s: s.Rotation.from_quat(Q) * s.Rotation.from_quat(Q[5]),
        lambda s: s.Rotation.identity(3),
        lambda s: s.Rotation.concatenate([s.Rotation.from_quat(Q), s.Rotation.identity()]),
    ]
    for make in made:
        wanted = make(scipy.spatial.transform).as_matrix()
        np.testing.assert_allclose(make(ours).as_matrix(), wanted, atol=2e-6)
    times = np.array([0, 0.5, 3, 6, 8], np.float32)
    wanted = scipy.spatial.transform.Slerp(TIMES, scipy.spatial.transform.Rotation.from_quat(Q[5:]))
    found = Slerp.init(TIMES, Rotation.from_quat(Q[5:]))
    np.testing.assert_allclose(found(times).as_matrix(), wanted(times).as_matrix(), atol=1e-5)
    assert found(1.5).single


def test_random_rotations():
    r = Rotation.random(plugjax.random.key(0), 500)
    np.testing.assert_allclose((r.quat**2).sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(r.as_matrix().mean(0), 0, atol=0.12)
    assert Rotation.random(plugjax.random.key(0)).single


@pytest.mark.parametrize(
    "expression",
    [
        lambda s: s.Rotation.from_euler("xyzx", V),
        lambda s: s.Rotation.from_euler("", V),
        lambda s: s.Rotation.from_euler("xY", V[:, :2]),
        lambda s: s.Rotation.from_euler("xx", V[:, :2]),
        lambda s: s.Rotation.from_euler("xy", V),
        lambda s: s.Rotation.from_quat(Q).as_euler("xy"),
        lambda s: s.Rotation.from_quat(Q).as_euler("xyy"),
        lambda s: s.Rotation.from_quat(Q[0])[0],
        lambda s: len(s.Rotation.from_quat(Q[0])),
        lambda s: s.Rotation.from_quat(Q).mean(np.ones(3)),
        lambda s: s.Rotation.from_quat(Q).mean(np.ones((10, 1))),
        lambda s: s.Slerp.init(TIMES, 3),
        lambda s: s.Slerp.init(TIMES[:1], s.Rotation.from_quat(Q[:1])),
        lambda s: s.Slerp.init(TIMES[1:], s.Rotation.from_quat(Q[5:])),
        lambda s: s.Slerp.init(TIMES[None], s.Rotation.from_quat(Q[5:])),
        lambda s: s.Slerp.init(TIMES, s.Rotation.from_quat(Q[5:]))(TIMES[None]),
    ],
)
def test_refused_as_in_jax(agree, expression):
    agree(expression, ours, theirs)


def several(s, q, v):
    r = s.Rotation.from_quat(q)
    return [
        r.as_euler("zyx", degrees=True),
        r.as_rotvec(),
        s.Rotation.from_matrix(r.as_matrix()).as_quat(canonical=True, scalar_first=True),
        s.Slerp.init(TIMES, r)(v[0]).quat,
    ]


def test_dtypes_are_those_of_jax():
    def all_of_it(s, q, v):
        r = s.Rotation.from_quat(q)
        return [
            *several(s, q, v),
            s.Rotation.from_euler("xyz", v).quat,
            r.as_mrp(),
            (r.inv() * s.Rotation.from_rotvec(v, degrees=True)).magnitude(),
            r.apply(v, inverse=True),
            s.Rotation.from_mrp(v).quat,
            s.Rotation.identity().quat,
        ]

    for dtype in (np.float32, np.int32, np.float16):
        q, v = Q[5:].astype(dtype), V[5:].astype(dtype)
        found = all_of_it(ours, q, v)
        wanted = jax.eval_shape(lambda q, v: all_of_it(theirs, q, v), q, v)
        for x, y in zip(found, wanted, strict=True):
            assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)


def test_gradients_are_those_of_jax():
    def loss(s):
        def f(q, v):
            r = s.Rotation.from_quat(q)
            return (r.apply(v)[:, 0] * r.as_rotvec()[:, 1] + r.as_mrp()[:, 2]).sum()

        return f

    found = plugjax.grad(loss(ours), (0, 1))(Q[5:], V[5:])
    wanted = jax.jit(jax.grad(loss(theirs), (0, 1)))(Q[5:], V[5:])
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4)


def test_gradients_exist_where_nothing_turns():
    slope = plugjax.jacobian(lambda v: Rotation.from_rotvec(v).apply(V[0]))(np.zeros(3, np.float32))
    x, y, z = V[0]
    np.testing.assert_allclose(slope, [[0, z, -y], [-z, 0, x], [y, -x, 0]], rtol=1e-6)
    slope = plugjax.jacobian(lambda q: Rotation.from_quat(q).as_rotvec())(Q[0])
    np.testing.assert_allclose(slope, 2 * np.eye(3, 4), atol=1e-6)


def test_rotations_are_trees():
    r = plugjax.jit(lambda r: r.inv())(Rotation.from_quat(Q))
    assert type(r) is Rotation
    assert len(r) == 10
    rows = plugjax.vmap(lambda q: Rotation.from_quat(q))(Q)
    np.testing.assert_allclose(rows.quat, Rotation.from_quat(Q).quat)
    some = np.arange(10) % 2 == 0
    turned = rows.apply(V, inverse=some)
    np.testing.assert_allclose(turned[::2], rows[::2].apply(V[::2], inverse=True), rtol=1e-6)


@pytest.mark.spread(3)
def test_compiled_for_a_backend(on_backend):
    found = plugjax.jit(lambda q, v: several(ours, q, v))(Q[5:], V[5:])
    with plugjax.default_device("numpy"):
        expected = several(ours, Q[5:], V[5:])
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=1e-4)
