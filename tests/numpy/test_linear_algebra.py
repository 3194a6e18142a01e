"""Products against JAX."""

import numpy as onp
import pytest

_rng = onp.random.RandomState(0)
F = _rng.randn(3, 4).astype(onp.float32)
G = _rng.randn(3, 4).astype(onp.float32)
V = _rng.randn(4).astype(onp.float32)
I = _rng.randint(-5, 6, (3, 4)).astype(onp.int32)  # Integers.
C = (F + 1j * F[::-1]).astype(onp.complex64)
H = F.astype(onp.float16)

_rng = onp.random.RandomState(1)
M = _rng.randn(2, 3, 4).astype(onp.float32)
W = _rng.randn(4, 5).astype(onp.float32)
Q = _rng.randn(5, 1, 4, 2).astype(onp.float32)
PAIRS = [
    (F, F.T),
    (F, V),
    (V, F.T),
    (M, W),
    (M, Q),
    (V, V),
    (M, V),
    (V, Q),
    (I, I.T),
    (H, H.T),
    (C, F.T),
    (F, F),
    (2.0, F),
    (M[:1], Q),
]
SUMS = [
    ("ij,jk->ik", (F, F.T)), ("ij->ji", (F,)), ("ii", (F[:, :3],)), ("ii->i", (F[:, :3],)), ("ij,ij->i", (F, G)),
    ("bij,jk->bik", (M, W)), ("bij,bkj->bik", (M, M)), ("...ij,jk->...ik", (M, W)), ("ij,jk,kl->il", (F, F.T, F)),
    ("ij,kl->", (F, G)), ("ij,jk", (F, F)),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: "x".join(str(onp.shape(v)) for v in p))
def test_matmul_and_dot(agree, pair):
    agree(lambda np: np.matmul(*pair))
    agree(lambda np: np.dot(*pair))


@pytest.mark.parametrize(("subscripts", "operands"), SUMS, ids=[s for s, _ in SUMS])
def test_einsum(agree, subscripts, operands):
    agree(lambda np: np.einsum(subscripts, *operands))


@pytest.mark.parametrize(
    "expression",
    [
        lambda np: np.tensordot(M, M, ((0, 2), (0, 2))),
        lambda np: np.tensordot(V, V, 0),
        lambda np: np.inner(F, G),
        lambda np: np.outer(V, V),
        lambda np: np.kron(F, V),
        lambda np: np.vecdot(F, G, axis=0),
        lambda np: np.cross(F[:, :3], G[:, :3]),
        lambda np: np.trace(M, 0, 1, 2),
        lambda np: np.matmul(H, H.T, preferred_element_type=np.float32),
    ],
)
def test_cases(agree, expression):
    agree(expression)
