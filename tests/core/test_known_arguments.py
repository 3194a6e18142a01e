"""Small constant arrays that a called function takes are written in the function, once for each set of them."""

import re

import numpy as np

import plugjax
import plugjax.numpy as jnp

CODES = np.arange(7, dtype=np.int32)


@plugjax.jit
def looked_up(table, places):
    """Entries of a table, by so many operations that the function is not inlined."""
    for _ in range(30):
        places = (places + 1) * 3 % 7
    return table[places]


def walked(places):
    """The same by Python's own numbers, of the table ``CODES``."""
    for _ in range(30):
        places = [(place + 1) * 3 % 7 for place in places]
    return places


def functions(fun, *args):
    """The declarations of the private functions of a program for XLA."""
    with plugjax.default_device("xla"):
        text = plugjax.jit(fun).lower(*args).as_text()
    return re.findall(r"func\.func private @\w+\(.*?\) ->", text)


def test_a_small_constant_is_no_argument():
    (found,) = functions(lambda i: looked_up(CODES, i), jnp.array([2, 4]))
    assert "tensor<7xi32>" not in found
    assert found.count("%arg") == 1


def test_calls_with_the_same_constant_share_a_function():
    twice = functions(lambda i: looked_up(CODES, i) + looked_up(CODES, i + 1), jnp.array([2, 4]))
    assert len(twice) == 1


def test_calls_with_other_constants_have_their_own_functions():
    def two(places):
        return looked_up(CODES, places) + looked_up(CODES + 1, places)

    assert len(functions(two, jnp.array([2, 4]))) == 2
    for device in ("numpy", "xla", "iree"):
        with plugjax.default_device(device):
            found = plugjax.jit(two)(jnp.array([2, 4]))
        np.testing.assert_array_equal(found, np.array(walked([2, 4])) * 2 + 1, err_msg=device)


def test_large_constants_stay_arguments():
    table = np.arange(1000, dtype=np.int32)
    (found,) = functions(lambda i: looked_up(table, i) * looked_up(table, i + 1), jnp.array([2, 4]))
    assert "tensor<1000xi32>" in found


def test_numbers_stay_arguments():
    found = functions(lambda i: looked_up(i, 2) + looked_up(i, 3), jnp.arange(7))
    assert len(found) == 1
    assert found[0].count("%arg") == 2


def test_a_constant_among_arguments_of_an_unknown_size():
    symbolic = plugjax.ShapeDtypeStruct(plugjax.export.symbolic_shape("n"), jnp.int32)
    exported = plugjax.export.export(plugjax.jit(lambda i: looked_up(CODES, i)))(symbolic)
    np.testing.assert_array_equal(exported.call(jnp.array([1, 6, 3])), walked([1, 6, 3]))
