"""The algebra of symbolic dimensions, with that of JAX as the oracle."""

import itertools

import jax
import pytest
from hypothesis import assume, given, settings, strategies as st
from jax import export as jax_export

from plugjax.errors import InconclusiveDimensionOperation
from plugjax.export.symbolic.dimension import (
    SymbolicScope,
    is_symbolic_dim,
    max_dim,
    min_dim,
    symbolic_shape,
)

NAMES = ("a", "b", "n")

expressions = st.recursive(
    st.sampled_from(NAMES) | st.integers(-4, 6).map(str),
    lambda inner: st.tuples(
        st.sampled_from(["+", "-", "*", "//", "%", "max", "min"]), inner, inner
    ),
    max_leaves=6,
)


def build(tree, variables, largest, least):
    if isinstance(tree, str):
        return variables[tree] if tree in variables else int(tree)
    name, left, right = tree
    left, right = build(left, variables, largest, least), build(right, variables, largest, least)
    return {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "//": lambda: left // right,
        "%": lambda: left % right,
        "max": lambda: largest(left, right),
        "min": lambda: least(left, right),
    }[name]()


def ours(tree, constraints=()):
    variables = dict(zip(NAMES, symbolic_shape("a, b, n", constraints=constraints), strict=True))
    return build(tree, variables, max_dim, min_dim), variables


def theirs(tree, constraints=()):
    variables = dict(
        zip(NAMES, jax_export.symbolic_shape("a, b, n", constraints=constraints), strict=True)
    )
    return build(tree, variables, jax.core.max_dim, jax.core.min_dim), variables


def attempt(function, *args):
    try:
        return function(*args)
    except (
        ZeroDivisionError,
        InconclusiveDimensionOperation,
        jax.errors.InconclusiveDimensionOperation,
    ) as error:
        return type(error).__name__


@settings(max_examples=300, deadline=None)
@given(expressions)
def test_expressions_are_printed_as_in_jax(tree):
    found, wanted = attempt(ours, tree), attempt(theirs, tree)
    if isinstance(found, str) or isinstance(wanted, str):
        assert found == wanted
        return
    assert str(found[0]) == str(wanted[0])
    assert is_symbolic_dim(found[0]) == jax_export.is_symbolic_dim(wanted[0])


@settings(max_examples=300, deadline=None)
@given(expressions, st.sampled_from(list(itertools.product((1, 2, 5), repeat=3))))
def test_values_are_those_of_python(tree, values):
    found = attempt(ours, tree)
    assume(not isinstance(found, str))
    size, sizes = found[0], dict(zip(NAMES, values, strict=True))
    try:
        wanted = build(tree, sizes, max, min)
    except ZeroDivisionError:
        return
    assert (size.evaluate(sizes) if is_symbolic_dim(size) else size) == wanted


CONSTRAINTS = [
    (),
    ("a >= b",),
    ("n >= 4", "b <= 8"),
    ("mod(n, 2) == 0",),
    ("a >= b + n", "n == 2*b"),
]


@settings(max_examples=300, deadline=None)
@given(expressions, st.integers(-3, 9), st.sampled_from(CONSTRAINTS))
def test_comparisons_know_at_least_what_jax_knows(tree, number, constraints):
    found, wanted = attempt(ours, tree, constraints), attempt(theirs, tree, constraints)
    assume(not isinstance(found, str) and not isinstance(wanted, str))
    answer, expected = attempt(lambda: found[0] >= number), attempt(lambda: wanted[0] >= number)
    if isinstance(expected, bool):
        assert answer == expected
    if isinstance(answer, bool):
        for values in itertools.product((1, 2, 3, 4, 6, 8), repeat=3):
            sizes = dict(zip(NAMES, values, strict=True))
            if _satisfied(constraints, sizes):
                size = found[0]
                value = size.evaluate(sizes) if is_symbolic_dim(size) else size
                assert (value >= number) == answer


def _satisfied(constraints, sizes):
    return all(eval(c, {"mod": lambda a, b: a % b}, dict(sizes)) for c in constraints)


SPECS = [
    ("b, 2*n, 3", None), ("(a, b)", None), ("a*b + 3 - n^2", None), ("-a + 3*b", None), ("mod(a, 3), floordiv(a*b, n)", None),
    ("max(a, 0), min(b, 1), max(a, b)", None), ("...", (2, 3)), ("a, ...", (None, 3, 4)), ("_, b", (5, None)), ("", ()),
    ("2*a*b*a", None), ("a - a", None), ("floordiv(4, 2)", None), ("a ,b,", None), ("3*-2 + a", None),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "like"), SPECS)
def test_text_is_read_as_in_jax(spec, like):
    assert str(symbolic_shape(spec, like=like)) == str(jax_export.symbolic_shape(spec, like=like))


WRONG = [
    ("a b", None), ("a +", None), ("2a", None), ("mod(a)", None), ("...", None), ("_, _", (1,)), ("a, 3", (None, 4)),
    ("_", (None,)), ("a^b", None), ("a @ b", None), ("a,,b", None), (7, None),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "like"), WRONG)
def test_text_that_is_no_shape(spec, like):
    for function in (symbolic_shape, jax_export.symbolic_shape):
        with pytest.raises(ValueError, match=r"syntax error|should be None or a string|invalid"):
            function(spec, like=like)


BAD_CONSTRAINTS = [
    (["a > b"], ValueError, "must contain one of"),
    ("a >= b", ValueError, "should be a sequence of strings"),
    ([3], ValueError, "must be a string"),
    (["a + b == 3"], ValueError, "left-hand-side must be"),
    (["2 >= 3"], ValueError, "Unsatisfiable"),
]


@pytest.mark.parametrize(("constraints", "kind", "words"), BAD_CONSTRAINTS)
def test_constraints_that_are_refused(constraints, kind, words):
    for scope in (SymbolicScope, jax_export.SymbolicScope):
        with pytest.raises(kind, match=words):
            scope(constraints)


@pytest.mark.parametrize("constraints", [["a <= 0"], ["a >= 4", "a <= 3"]])
def test_constraints_that_nothing_satisfies(constraints):
    with pytest.raises(ValueError, match="Unsatisfiable"):
        SymbolicScope(constraints)
    # JAX finds out when it first compares.
    with pytest.raises(ValueError, match="Unsatisfiable"):
        bool(jax_export.symbolic_shape("a", constraints=constraints)[0] >= 2)


def test_what_is_inconclusive_says_so():
    a, b = symbolic_shape("a, b")
    with pytest.raises(
        InconclusiveDimensionOperation,
        match=r"Symbolic dimension comparison 'a' >= 'b' is inconclusive",
    ):
        bool(a >= b)
    with pytest.raises(InconclusiveDimensionOperation, match="context that requires a constant"):
        int(a)
    other = symbolic_shape("a")[0]
    assert a != other
    for operation in (lambda: a + other, lambda: a < other, lambda: max_dim(a, other)):
        with pytest.raises(ValueError, match="Invalid mixing of symbolic scopes"):
            operation()
    for power in (-1, 1.5):
        with pytest.raises(ValueError, match="cannot be raised to"):
            a**power
    with pytest.raises(ValueError, match="both a `scope` and `constraints`"):
        symbolic_shape("a", scope=a.scope, constraints=["a >= 2"])
    assert hash(a + b) == hash(b + a)
    assert {a + b: 1}[b + a] == 1
    assert (a == 3) is False
