"""Classes that ``vmap`` maps by functions of their own give what they give under JAX."""

import importlib

import jax
import numpy as np
import pytest

import plugjax


class Ragged:
    """Values with lengths: one instance is a vector with the number of its valid entries."""

    def __init__(self, values, lengths, number=None):
        self.values, self.lengths, self.number = values, lengths, number


class Along:
    """The axis of the instances of a ``Ragged``."""

    def __init__(self, axis=0):
        self.axis = axis


class Count:
    """A number of instances."""

    def __init__(self, number):
        self.number = number


@pytest.fixture(params=[jax, plugjax], ids=["jax", "plugjax"])
def framework(request):
    name = request.param.__name__
    batching = importlib.import_module(f"{name}.interpreters.batching")
    importlib.import_module(f"{name}.tree_util")
    jnp = request.param.numpy

    def part(of, index, x, spec):
        axis = 0 if spec is None else spec.axis
        return Ragged(of(x.values, axis), of(x.lengths, 0), index())

    def whole(of, size, x, spec):
        return Ragged(of(size, x.values, spec.axis), of(size, x.lengths, 0))

    batching.register_vmappable(
        Ragged, Along, Count, part, whole, lambda count: jnp.arange(count.number, dtype="int32")
    )
    return request.param


def batch(framework):
    jnp = framework.numpy
    return Ragged(jnp.arange(12.0).reshape(3, 4), jnp.array([1, 4, 2]))


def total(framework, x):
    jnp = framework.numpy
    return jnp.sum(jnp.where(jnp.arange(x.values.shape[0]) < x.lengths, x.values, 0))


def test_an_instance_is_seen(framework):
    f = lambda x: total(framework, x)  # noqa: E731
    found = framework.vmap(f, in_axes=Along(), axis_size=3)(batch(framework))
    np.testing.assert_array_equal(found, [0.0, 22.0, 17.0])


def test_an_instance_knows_its_number(framework):
    found = framework.vmap(lambda x: x.number * 2, in_axes=Along(), axis_size=3)(batch(framework))
    np.testing.assert_array_equal(found, [0, 2, 4])


def test_an_axis_by_its_spec(framework):
    x = batch(framework)
    x.values = x.values.T
    f = lambda x: total(framework, x)  # noqa: E731
    found = framework.vmap(f, in_axes=(Along(1),), axis_size=3)(x)
    np.testing.assert_array_equal(found, [0.0, 22.0, 17.0])


def test_results_are_joined(framework):
    def f(x, y):
        return {"ragged": Ragged(x.values * y, x.lengths + 1), "y": y}

    found = framework.vmap(f, (Along(), 0), {"ragged": Along(1), "y": 0})(
        batch(framework), framework.numpy.arange(3.0)
    )
    np.testing.assert_array_equal(
        found["ragged"].values, (np.arange(12.0).reshape(3, 4) * np.arange(3.0)[:, None]).T
    )
    np.testing.assert_array_equal(found["ragged"].lengths, [2, 5, 3])
    np.testing.assert_array_equal(found["y"], [0, 1, 2])


def test_results_that_no_argument_reaches_are_repeated(framework):
    jnp = framework.numpy
    f = lambda y: Ragged(jnp.ones(2), jnp.array(1))  # noqa: E731
    found = framework.vmap(f, out_axes=Along())(jnp.arange(3.0))
    assert found.values.shape == (3, 2)
    assert found.lengths.shape == (3,)


def test_instances_of_instances(framework):
    jnp = framework.numpy
    x = Ragged(jnp.arange(24.0).reshape(2, 3, 4), jnp.array([[1, 4, 2], [0, 1, 3]]))
    inner = framework.vmap(lambda x: total(framework, x), in_axes=Along(), axis_size=3)
    found = framework.vmap(inner, in_axes=Along(), axis_size=2)(x)
    np.testing.assert_array_equal(found, [[0.0, 22.0, 17.0], [0.0, 16.0, 63.0]])


def test_programs_of_the_parts_are_compiled(framework):
    double = framework.jit(lambda values, length: (values * 2, length))
    f = lambda x: Ragged(*double(x.values, x.lengths))  # noqa: E731
    found = framework.vmap(f, Along(), Along(), axis_size=3)(batch(framework))
    np.testing.assert_array_equal(found.values, 2 * np.arange(12.0).reshape(3, 4))
    arrays = batch(framework)
    whole = framework.jit(
        lambda values, lengths: framework.vmap(
            lambda x: total(framework, x), in_axes=Along(), axis_size=3
        )(Ragged(values, lengths))
    )
    np.testing.assert_array_equal(whole(arrays.values, arrays.lengths), [0.0, 22.0, 17.0])


def test_derivatives_by_the_parts(framework):
    def f(values):
        x = Ragged(values, framework.numpy.array([1, 4, 2]))
        return framework.vmap(lambda x: total(framework, x), in_axes=Along(), axis_size=3)(x).sum()

    found = framework.grad(f)(framework.numpy.ones((3, 4)))
    np.testing.assert_array_equal(found, [[1, 0, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0]])


def test_a_class_that_is_a_container_is_mapped_as_a_whole(framework):
    class Pair:
        def __init__(self, x, y):
            self.x, self.y = x, y

    framework.tree_util.register_pytree_node(
        Pair, lambda p: ((p.x, p.y), None), lambda _, children: Pair(*children)
    )
    batching = importlib.import_module(f"{framework.__name__}.interpreters.batching")
    batching.register_vmappable(
        Pair,
        int,
        int,
        lambda part, index, p, axis: Pair(part(p.x, axis), part(p.y, None)),
        lambda whole, size, p, axis: Pair(whole(size, p.x, axis), whole(size, p.y, None)),
        None,
    )
    jnp = framework.numpy
    pair = Pair(jnp.arange(3.0), jnp.float32(10.0))
    found = framework.vmap(lambda p, z: Pair(p.x * p.y + z, p.y))(pair, jnp.ones(3))
    np.testing.assert_array_equal(found.x, [1.0, 11.0, 21.0])
    assert np.shape(found.y) == ()
    summed = framework.vmap(framework.jit(lambda p: p.x + p.y), axis_size=3)(pair)
    np.testing.assert_array_equal(summed, [10.0, 11.0, 12.0])


def test_a_class_stays_registered(framework):
    batching = importlib.import_module(f"{framework.__name__}.interpreters.batching")
    batching.unregister_vmappable(Ragged)
    f = lambda x: total(framework, x)  # noqa: E731
    assert framework.vmap(f, in_axes=Along(), axis_size=3)(batch(framework)).shape == (3,)


def test_errors(framework):
    x, jnp = batch(framework), framework.numpy
    f = lambda x, y=0: total(framework, x)  # noqa: E731
    with pytest.raises(ValueError, match="axis_size must be specified"):
        framework.vmap(f, in_axes=Along())(x)
    with pytest.raises(TypeError, match="in_axes must be an int, None, or a tuple"):
        framework.vmap(f, in_axes=Count(3))
    with pytest.raises(TypeError, match="out_axes"):
        framework.vmap(f, out_axes=Count(3))
    with pytest.raises(ValueError, match="inconsistent sizes"):
        framework.vmap(f, in_axes=(Along(), 0), axis_size=3)(x, jnp.ones(2))


@pytest.mark.parametrize("framework", [plugjax], indirect=True, ids=["plugjax"])
def test_an_axis_of_another_size(framework):
    """JAX runs into an error of the compiled program."""
    f = lambda x, y: x.values + y  # noqa: E731
    with pytest.raises(ValueError, match="size 3 along axis 0, the mapped axis has 2"):
        framework.vmap(f, in_axes=(Along(), 0))(batch(framework), framework.numpy.ones(2))


def test_a_size_of_a_class():
    """JAX numbers the instances, and then asks for an integer."""
    from plugjax.interpreters import batching

    jnp = plugjax.numpy
    seen = []

    def part(of, index, x, spec):
        return Ragged(of(x.values, 0), index())

    def whole(of, size, x, spec):
        seen.append(size)
        return Ragged(of(size, x.values, 0), of(size, x.lengths, 0))

    batching.register_vmappable(Ragged, Along, Count, part, whole, lambda c: jnp.arange(c.number))
    count = Count(3)
    found = plugjax.vmap(lambda x: x, Along(), Along(), axis_size=count)(batch(plugjax))
    np.testing.assert_array_equal(found.lengths, [0, 1, 2])
    assert seen == [count]
