"""Functions within transformations, as under JAX."""

import importlib

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.*missing a DebugInfo:DeprecationWarning")


@pytest.fixture(params=["jax", "plugjax"])
def lu(request):
    return importlib.import_module(f"{request.param}.extend.linear_util")


def test_transformations_apply_from_the_outside_in(lu):
    @lu.transformation
    def scaled(factor, *args):
        result = yield tuple(factor * x for x in args), {}
        yield result + 1

    @lu.transformation2
    def negated(f, *args):
        return -f(*args)

    wrapped = lu.wrap_init(lambda x, y, offset: x * y + offset, {"offset": 100})
    assert wrapped.call_wrapped(2, 3) == 106
    assert scaled(wrapped, 10).call_wrapped(2, 3) == 701
    assert negated(scaled(wrapped, 10)).call_wrapped(2, 3) == -701
    assert scaled(negated(wrapped), 10).call_wrapped(2, 3) == -699


def test_auxiliary_results(lu):
    @lu.transformation_with_aux
    def with_count(*args):
        result = yield args, {}
        yield result, len(args)

    @lu.transformation_with_aux2
    def with_sum(f, store, *args):
        store.store(sum(args))
        return f(*args)

    first, count = with_count(lu.wrap_init(max))
    second, total = with_sum(first)
    with pytest.raises(lu.StoreException):
        count()
    assert second.call_wrapped(1, 5, 2) == 5
    assert (count(), total()) == (3, 8)
    _, other = with_count(lu.wrap_init(max))
    assert lu.merge_linear_aux(count, other) == (True, 3)
    assert lu.merge_linear_aux(other, count) == (False, 3)
    with pytest.raises(lu.StoreException):
        lu.merge_linear_aux(other, other)
    with pytest.raises(lu.StoreException):
        lu.merge_linear_aux(count, total)


def test_equal_functions_share_results(lu):
    calls = []

    @lu.transformation_with_aux2
    def with_count(f, store, *args):
        store.store(len(args))
        return f(*args)

    @lu.cache
    def run(fun, *args):
        calls.append(args)
        return fun.call_wrapped(*args)

    def f(*args):
        return sum(args)

    first, first_count = with_count(lu.wrap_init(f))
    second, second_count = with_count(lu.wrap_init(f))
    assert first == second
    assert hash(first) == hash(second)
    assert run(first, 1, 2) == run(second, 1, 2) == 3
    assert first_count() == second_count() == 2
    assert len(calls) == 1
    run(with_count(lu.wrap_init(f))[0], 1, 3)
    run.evict_function(f)
    run(with_count(lu.wrap_init(f))[0], 1, 2)
    assert len(calls) == 3
    run.cache_clear()
    run(with_count(lu.wrap_init(f))[0], 1, 2)
    assert len(calls) == 4
