"""Bad input to the array API: JAX's error type, and a message that names the function and the input."""

import jax
import jax.numpy
import numpy as np
import pytest

import plugjax
import plugjax.numpy

X = np.arange(6, dtype=np.float32).reshape(2, 3)
I = np.arange(3)


class Opaque:
    """Not an array."""


# (program of the library and its numpy; words of our message)
PROGRAMS = {
    # axes
    "axis of sum": (lambda j, n: n.sum(X, axis=2), "axis"),
    "axis of argmax": (lambda j, n: n.argmax(X, axis=-3), "axis"),
    "axis of concatenate": (lambda j, n: n.concatenate([X, X], axis=2), "axis"),
    "axis of squeeze": (lambda j, n: n.squeeze(X, axis=0), "squeeze"),
    "axes of transpose": (lambda j, n: n.transpose(X, (0, 0)), "transpose"),
    "number of axes of transpose": (lambda j, n: n.transpose(X, (0,)), "transpose"),
    "axis twice in sum": (lambda j, n: n.sum(X, axis=(0, 0)), "axis"),
    "axis of float": (lambda j, n: n.sum(X, axis=1.5), ""),
    "axis of sort": (lambda j, n: n.sort(X, axis=5), "axis"),
    "axis of expand_dims": (lambda j, n: n.expand_dims(X, 7), "axis"),
    "axis of moveaxis": (lambda j, n: n.moveaxis(X, 0, 9), "axis"),
    "axis of fft": (lambda j, n: n.fft.fft(X, axis=4), "axis"),
    "axis of norm": (lambda j, n: n.linalg.norm(X, axis=(0, 1, 2)), ""),
    "axis of take": (lambda j, n: n.take(X, I, axis=3), "axis"),
    "axis of cumsum": (lambda j, n: n.cumsum(X, axis=2), "axis"),
    "dimension of lax.reduce_sum": (lambda j, n: j.lax.reduce_sum(n.asarray(X), (5,)), ""),
    # shapes
    "shapes of add": (lambda j, n: n.add(X, X[:, :2]), "add"),
    "shapes of lax.add": (lambda j, n: j.lax.add(n.asarray(X), n.asarray(X[:, :2])), "add"),
    "shapes of matmul": (lambda j, n: n.matmul(X, X), "dot_general|matmul|contract"),
    "scalar in matmul": (lambda j, n: n.matmul(X, 2.0), "matmul"),
    "shapes of concatenate": (lambda j, n: n.concatenate([X, X.T]), "concatenate"),
    "shapes of stack": (lambda j, n: n.stack([X, X[0]]), "stack|shape"),
    "shape of reshape": (lambda j, n: n.reshape(n.asarray(X), (4, 2)), "reshape"),
    "two unknowns of reshape": (lambda j, n: n.reshape(n.asarray(X), (-1, -1)), "-1"),
    "shape of broadcast_to": (lambda j, n: n.broadcast_to(X, (3, 2)), "broadcast"),
    "shapes of where": (lambda j, n: n.where(X > 0, X, X[:, :2]), "where|shape"),
    "shapes of dot": (lambda j, n: n.dot(X, X), ""),
    "shape of cross": (lambda j, n: n.cross(X[:, :1], X[:, :1]), "cross"),
    "shape of solve": (lambda j, n: n.linalg.solve(X, X[0]), "solve|square"),
    "shape of cholesky": (lambda j, n: n.linalg.cholesky(X), "cholesky"),
    "shape of inv": (lambda j, n: n.linalg.inv(X), "inv"),
    "shape of det": (lambda j, n: n.linalg.det(X), "det"),
    "rank of eigh": (lambda j, n: n.linalg.eigh(X[0]), ""),
    "shapes of matvec": (lambda j, n: n.matvec(X, n.ones(2)), "matvec"),
    "shapes of vecmat": (lambda j, n: n.vecmat(n.ones(3), X), "vecmat"),
    "axes of an update": (lambda j, n: n.asarray(X).at[0].set(X), "scatter|broadcast"),
    "shapes of ldexp": (lambda j, n: n.ldexp(X, I[:2]), "ldexp|shape"),
    "ranks of ldexp": (lambda j, n: n.ldexp(X, n.ones((2, 2), int)), "shape"),
    "shapes of a power of integers": (
        lambda j, n: n.power(n.ones((2, 3), int), n.ones((2, 2), int)),
        "shape",
    ),
    "complex copysign": (lambda j, n: n.copysign(1j * X, X), "copysign|complex"),
    "complex signbit": (lambda j, n: n.signbit(1j * X), "signbit"),
    "complex ldexp": (lambda j, n: n.ldexp(1j * X, I), "ldexp"),
    "complex heaviside": (lambda j, n: n.heaviside(1j * X, X[:, :2]), "heaviside"),
    "negative shape": (lambda j, n: n.zeros((2, -1)), "negative|-1"),
    "split into unequal parts": (lambda j, n: n.split(X, 2, axis=1), "split"),
    "ranks of interp": (lambda j, n: n.interp(X, X, X), "interp"),
    "rank of diag": (lambda j, n: n.diag(n.ones((1, 1, 1))), "diag"),
    "rank of tri": (lambda j, n: n.tril(X[0]), "tril"),
    "rank of vander": (lambda j, n: n.vander(X), "vander"),
    "lengths of average": (lambda j, n: n.average(X, weights=I), ""),
    # dtypes
    "dtype of bits": (lambda j, n: n.bitwise_and(X, X), "and"),
    "dtype of shift": (lambda j, n: n.left_shift(X, 1), ""),
    "no dtype": (lambda j, n: n.zeros(2, dtype="nonsense"), ""),
    "string": (lambda j, n: n.asarray("text"), ""),
    "objects": (lambda j, n: n.array([Opaque(), 1]), ""),
    "object dtype": (lambda j, n: n.asarray(np.array([None])), ""),
    "dtypes of lax.mul": (lambda j, n: j.lax.mul(n.asarray(X), n.ones((2, 3), "int32")), "mul"),
    "strict promotion": (
        lambda j, n: strictly(j, lambda: n.add(n.ones(2, "float32"), n.ones(2, "int32"))),
        "promotion",
    ),
    "float as index": (lambda j, n: n.asarray(X)[1.0], "index|ind"),
    "float array as index": (lambda j, n: n.asarray(X)[n.ones(2)], "ind"),
    "string as index": (lambda j, n: n.asarray(X)["a"], "ind"),
    "dtype of bincount": (lambda j, n: n.bincount(X[0]), "bincount"),
    "dtype of iinfo": (lambda j, n: n.iinfo("float32"), ""),
    "dtype of finfo": (lambda j, n: n.finfo("int32"), ""),
    "range of an integer": (lambda j, n: n.array(2**40), ""),
    "complex to sort key": (lambda j, n: n.left_shift(X * 1j, 1), ""),
    # Not arrays.
    "ragged list": (lambda j, n: n.array([[1, 2], [3]]), ""),
    "None": (lambda j, n: n.sin(None), "sin"),
    "list to a ufunc": (lambda j, n: n.sin([1.0, 2.0]), "sin"),
    "tuple to sum": (lambda j, n: n.sum((1, 2)), "sum"),
    "list to add": (lambda j, n: n.asarray(X) + [1, 2, 3], "unsupported|list"),  # noqa: RUF005
    "opaque object": (lambda j, n: n.add(X, Opaque()), "add"),
    "opaque in lax": (lambda j, n: j.lax.sin(Opaque()), ""),
    "dict": (lambda j, n: n.exp({"a": 1}), "exp"),
    "no sequence to concatenate": (lambda j, n: n.concatenate(1.0), ""),
    "empty list to concatenate": (lambda j, n: n.concatenate([]), "concatenate"),
    "empty list to stack": (lambda j, n: n.stack([]), ""),
    "scalar to len": (lambda j, n: len(n.float32(1)), "len"),
    "scalar to iterate": (lambda j, n: list(n.float32(1)), ""),
    "assignment": (lambda j, n: n.asarray(X).__setitem__(0, 1.0), "immutable"),
    "out argument": (lambda j, n: n.sum(X, out=np.zeros(())), "out"),
    # indices
    "too many indices": (lambda j, n: n.asarray(X)[0, 0, 0], "ind"),
    "static index of a split": (lambda j, n: j.lax.index_in_dim(n.asarray(X), 5), ""),
    "static slice": (lambda j, n: j.lax.slice(n.asarray(X), (0, 0), (3, 4)), "slice"),
    "two ellipses": (lambda j, n: n.asarray(X)[..., ...], "ellips"),
    "step of zero": (lambda j, n: n.asarray(X)[::0], "zero|step"),
    "shape of a mask": (lambda j, n: n.asarray(X)[np.ones((3, 3), bool)], "bool|mask|ind"),
    "shapes of index arrays": (lambda j, n: n.asarray(X)[I, I[:2]], "broadcast|shape"),
    "shape of an update": (lambda j, n: n.asarray(X).at[0].set(np.ones(7)), ""),
    "unknown mode": (lambda j, n: n.take(X, I, mode="sideways"), "mode"),
    "unknown mode of at": (lambda j, n: n.asarray(X).at[0].get(mode="sideways"), ""),
    "size of dynamic slice": (
        lambda j, n: j.lax.dynamic_slice(n.asarray(X), (0, 0), (3, 3)),
        "dynamic_slice",
    ),
    "dtype of dynamic slice": (
        lambda j, n: j.lax.dynamic_slice(n.asarray(X), (0.5, 0.5), (1, 1)),
        "",
    ),
    # einsum and other functions of strings
    "einsum without operands": (lambda j, n: n.einsum("ij,jk->ik", X), ""),
    "einsum of unknown output": (lambda j, n: n.einsum("ij->k", X), ""),
    "einsum of a wrong rank": (lambda j, n: n.einsum("i->i", X), ""),
    "einsum of two sizes": (lambda j, n: n.einsum("ij,ij->i", X, X.T), ""),
    "einsum of nonsense": (lambda j, n: n.einsum("i$j", X), ""),
    "einsum that is no string": (lambda j, n: n.einsum(X, X), ""),
    "pad mode": (lambda j, n: n.pad(X, 1, mode="mirror"), ""),
    "pad width": (lambda j, n: n.pad(X, ((1, 2, 3),)), ""),
    "negative pad width": (lambda j, n: n.pad(X, -1), ""),
    "side of searchsorted": (lambda j, n: n.searchsorted(X[0], 1.0, side="middle"), "side"),
    "kind of a norm": (lambda j, n: n.linalg.norm(X, ord="nonsense"), ""),
    "order of reshape": (lambda j, n: n.reshape(X, (3, 2), order="Z"), ""),
    "method of quantile": (lambda j, n: n.quantile(X, 0.5, method="guess"), ""),
    "signature of vectorize": (lambda j, n: n.vectorize(n.sum, signature="(i->()")(X), ""),
    "core rank of vectorize": (lambda j, n: n.vectorize(n.sum, signature="(i,j)->()")(X[0]), ""),
    "indexing of meshgrid": (lambda j, n: n.meshgrid(I, I, indexing="zz"), "indexing"),
    "resizing method": (lambda j, n: j.image.resize(X, (4, 4), "guess"), ""),
    "padding of conv": (
        lambda j, n: j.lax.conv(n.ones((1, 1, 3)), n.ones((1, 1, 2)), (1,), "MAYBE"),
        "",
    ),
    # Empty arrays, and functions that need values.
    "max of nothing": (lambda j, n: n.max(np.zeros((0, 2), np.float32)), "identity|zero-size"),
    "argmax of nothing": (lambda j, n: n.argmax(np.zeros(0, np.float32)), "argmax|empty"),
    "truth of many": (lambda j, n: bool(n.asarray(X)), "truth|ambiguous"),
    "item of many": (lambda j, n: n.asarray(X).item(), ""),
    "int of many": (lambda j, n: int(n.asarray(X)), ""),
    "nonzero under jit": (lambda j, n: j.jit(n.nonzero)(X), "concrete|size"),
    "unique under jit": (lambda j, n: j.jit(n.unique)(X), "concrete|size|shape"),
    "mask under jit": (lambda j, n: j.jit(lambda x: x[x > 0])(X), "boolean|mask"),
    "arange under jit": (lambda j, n: j.jit(n.arange)(3), "concrete"),
    "reshape under jit": (lambda j, n: j.jit(lambda k: n.reshape(X, (k, 2)))(3), ""),
    # keys
    "shape of a raw key": (lambda j, n: j.random.uniform(n.zeros(3, "uint32")), ""),
    "dtype of a raw key": (lambda j, n: j.random.uniform(n.zeros(2)), ""),
    "an integer for a key": (lambda j, n: j.random.uniform(7), ""),
    "many keys": (lambda j, n: j.random.normal(j.random.split(j.random.key(0), 3)), ""),
    "arithmetic on a key": (lambda j, n: j.random.key(0) + 1, ""),
    "unknown generator": (lambda j, n: j.random.key(0, impl="dice"), ""),
    "seed of floats": (lambda j, n: j.random.key(1.5), ""),
    "dtype of uniform": (lambda j, n: j.random.uniform(j.random.key(0), dtype="int32"), ""),
    "dtype of randint": (lambda j, n: j.random.randint(j.random.key(0), (2,), 0, 9, "float32"), ""),
    "choice without enough": (
        lambda j, n: j.random.choice(j.random.key(0), 3, (5,), replace=False),
        "",
    ),
    "data of the wrong shape": (lambda j, n: j.random.wrap_key_data(n.zeros(3, "uint32")), ""),
}


def strictly(j, run):
    with j.numpy_dtype_promotion("strict"):
        return run()


def error_of(j, n, name):
    try:
        result = PROGRAMS[name][0](j, n)
    except Exception as error:
        return error
    return result


@pytest.mark.parametrize("name", PROGRAMS)
def test_error_types_are_those_of_jax(name):
    expected = error_of(jax, jax.numpy, name)
    assert isinstance(expected, Exception), f"JAX gives {expected!r}"
    found = error_of(plugjax, plugjax.numpy, name)
    assert isinstance(found, Exception), (
        f"no error, but {found!r}; JAX: {type(expected)}: {expected}"
    )
    builtin = {t for t in type(expected).__mro__ if t.__module__ == "builtins"} - {
        Exception, BaseException, object
    }  # fmt: skip
    ours = set(type(found).__mro__)
    same_name = {t.__name__ for t in ours}
    assert type(expected).__name__ in same_name or builtin & ours, (
        f"{found!r} instead of {expected!r}"
    )
    assert builtin <= ours or type(expected).__name__ in same_name, f"{found!r}, {expected!r}"


@pytest.mark.parametrize("name", [n for n, (_, words) in PROGRAMS.items() if words])
def test_messages_name_what_is_wrong(name):
    found = error_of(plugjax, plugjax.numpy, name)
    with pytest.raises(type(found), match=f"(?i){PROGRAMS[name][1]}"):
        raise found
