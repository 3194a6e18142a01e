"""The table of programs under every transformation, every nesting of two and a sample of nestings of three.

JAX is the oracle: for values on NumPy, XLA and IREE, for the types in jaxprs, and for the types of errors.
"""

from collections import Counter
from functools import cache
from itertools import product

import jax
import jax.ad_checkpoint
import jax.custom_batching
import jax.numpy
import pytest

import plugjax
from plugjax.extend.core import programs_in
from tests.core.transform_programs import PROGRAMS, REVERSE
from tests.core.transform_words import LETTERS, compare, meaning, oracle, order, spell

ROWS = pytest.mark.parametrize("row", range(len(PROGRAMS)), ids=[p.name for p in PROGRAMS])
NESTED = [letter for letter in LETTERS if letter != "value_and_grad"]


def _sample(words, row, count):
    """Some of the words, different ones in every row: with enough rows all occur."""
    words = list(words)
    return [words[(row * count + k) % len(words)] for k in range(count)] if words else []


@cache
def words_of(row, wide=False):
    """The words of a row: letters, pairs, triples; all of the pairs and more of the triples if ``wide``."""
    refused, other_vmap = PROGRAMS[row].refuses, ("vmap", "vmap last")[row % 2]
    singles = [(letter,) for letter in LETTERS if letter not in refused]
    letters = [letter for letter in NESTED if letter not in refused and letter != other_vmap]
    pairs = [*product(letters, letters)]
    # New words cost the oracle seconds: third derivatives and long words occur in some rows each.
    high = _sample([w for w in pairs if order(w) > 2], row, 1)
    triples = sorted((w for w in product(letters, repeat=3) if order(w) <= 2), key=_mixed)
    long = [w for w in triples if len(meaning(w, False)) > 2]
    short = [w for w in triples if len(meaning(w, False)) <= 2]
    low = [w for w in pairs if order(w) <= 2]
    if wide:
        return singles, low + high, [*_sample(short, row, 24), *_sample(long, row, 6)]
    # Each pair occurs in every fourth row: in some twenty programs.
    pairs = low[row // 2 % 4 :: 4] + high
    return singles, pairs, [*_sample(short, row, 4), *_sample(long, row, 1)]


def _mixed(word):
    """A key that separates similar words."""
    return sum((k + 3) * len(letter) * 7919 % 101 for k, letter in enumerate(word)), word


@cache
def expected(row, wide):
    """Values of JAX for all words of a row, by meaning."""
    program = PROGRAMS[row]
    words = [w for kind in words_of(row, wide) for w in kind]
    meanings = [(), *(meaning(w, program.exact) for w in words)]
    return oracle(program.make(jax, jax.numpy), meanings, program.args)


def ours(row):
    return PROGRAMS[row].make(plugjax, plugjax.numpy)


def arguments(row):
    return plugjax.tree.map(plugjax.numpy.asarray, PROGRAMS[row].args)


def check(row, word, found, wide):
    program = PROGRAMS[row]
    try:
        compare(found, expected(row, wide)[meaning(word, program.exact)], program.rtol)
    except BaseException as error:
        error.add_note(f"{program.name} under {word}")
        raise


@pytest.mark.spread(16)
@ROWS
def test_values(row, wide):
    f, args = ours(row), arguments(row)
    singles, pairs, triples = words_of(row, wide)
    for word in [(), *singles, *pairs, *triples]:
        try:
            found = spell(plugjax, word, f)(*args)
        except Exception as error:
            error.add_note(f"{PROGRAMS[row].name} under {word}")
            raise
        check(row, word, found, wide)


@pytest.mark.spread(32)
@ROWS
@pytest.mark.parametrize("device", ["xla", "iree", "iree:vulkan:0"])
def test_values_on_compiling_backends(row, device, wide):
    """Composed values of one program, many in one compiled module."""
    if device == "iree:vulkan:0" and device not in map(str, plugjax.devices("iree")):
        pytest.skip("no Vulkan device: apt-get install mesa-vulkan-drivers libvulkan1")
    f = ours(row)
    singles, pairs, _ = words_of(row, wide)
    first = [w for w in pairs if order(w) <= 1]
    words = [(), _sample([*singles, *first], row, 1)[0]]
    if wide:
        words = [(), *singles, *pairs]
    with plugjax.default_device(device):
        for start in range(0, len(words), 12):
            some = words[start : start + 12]
            together = plugjax.jit(lambda *xs: [spell(plugjax, w, f)(*xs) for w in some])  # noqa: B023
            for word, found in zip(some, together(*arguments(row)), strict=True):
                check(row, word, found, wide)


# Tangents of Python scalars and of weak loop states are weak in only one of the libraries.
OTHER_WEAK_TANGENTS = {"python_scalars", "while_of_trees"}


def _types(avals, weak=True):
    return [(a.shape, str(a.dtype), weak and bool(a.weak_type)) for a in avals]


@pytest.mark.spread(16)
@ROWS
def test_types_in_jaxprs(row):
    """Inputs and outputs have the shapes, dtypes and weak types of JAX."""
    program = PROGRAMS[row]
    singles, pairs, _ = words_of(row)
    for word in [(), *singles, *_sample([w for w in pairs if order(w) <= 2], row, 2)]:
        weak = not (program.name in OTHER_WEAK_TANGENTS and order(word))
        f = spell(plugjax, word, ours(row))
        g = spell(jax, word, program.make(jax, jax.numpy))
        found, wanted = (j.make_jaxpr(h)(*program.args) for j, h in ((plugjax, f), (jax, g)))
        assert _types(found.in_avals) == _types(wanted.in_avals), word
        assert _types(found.out_avals, weak) == _types(wanted.out_avals, weak), word


CALLS = {"jit", "custom_jvp_call", "custom_vjp_call", "checkpoint", "remat", "remat2"}
# Reasons why a program, with calls inlined, has other equations than in JAX.
OWN_PRIMITIVES = {
    "special": "hypot tests for zero once; a Python scalar becomes a literal of the right type at once",
    "statistics": "the divisor of a variance is a number; JAX selects nan at run time",
    "indexing": "indices that are known are wrapped in Python",
    "updates": "scatter_mul and scatter_max have underscores and no program as a parameter",
    "shapes": "stack is a concatenation; JAX has a primitive",
    "mixed_dtypes": "a Python scalar becomes a literal of the right type at once",
    "integer_arguments": "a Python scalar becomes a literal of the right type at once",
    "double_where": "a Python scalar becomes a literal of the right type at once",
    "clipping": "a Python scalar becomes a literal at once; relu selects, where JAX has a custom derivative",
    "softmax": "maxima without an initial value; logsumexp without b takes no absolute value",
    "layer_norm": "the divisor of a variance is a number; JAX selects nan at run time",
    "gathers": "indices get their last axis by broadcasting; scatter-add has no program as a parameter",
    "triangles": "operands of where are broadcast once",
    "roll_and_repeat": "tile is a broadcast and a reshape; JAX has a primitive",
    "collectives": "a sum along a mapped axis is reduce_sum",
    "random_keys": "bits become numbers by multiply_add, which rounds as XLA does",
    "raw_keys": "bits become numbers by multiply_add, which rounds as XLA does",
    "switch": "the index is converted to int32 even if it has that type",
    "while_of_trees": "logical_and converts no booleans to booleans",
    "scan_of_trees": "stack is a concatenation; JAX has a primitive",
}


def _primitives(eqns, inner):
    """Number of equations of each primitive, with calls inlined."""
    found = Counter()
    for eqn in eqns:
        programs = list(inner(eqn.params))
        for program in programs:
            found += _primitives(program.eqns, inner)
        if not (programs and eqn.primitive.name in CALLS):
            found[eqn.primitive.name] += 1
    return found


def _programs_of_jax(params):
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(item, "eqns"):
                yield item


@ROWS
def test_primitives(row):
    program = PROGRAMS[row]
    found = plugjax.make_jaxpr(ours(row))(*program.args)
    wanted = jax.make_jaxpr(program.make(jax, jax.numpy))(*program.args)
    same = _primitives(found.eqns, programs_in) == _primitives(wanted.eqns, _programs_of_jax)
    assert same == (program.name not in OWN_PRIMITIVES)


# JAX cannot differentiate custom_vmap in reverse; here the function itself is differentiated. A
# pullback to integers is zero in both.
ALLOWED = {
    "custom_vmap": REVERSE | {"linearize"},
    "integer_arguments": {"vjp"},
    "boolean_arguments": {"vjp"},
}
REFUSED = [
    (row, letter)
    for row, p in enumerate(PROGRAMS)
    for letter in sorted(p.refuses - ALLOWED.get(p.name, set()))
]


@pytest.mark.spread(8)
@pytest.mark.parametrize(
    ("row", "letter"), REFUSED, ids=[f"{PROGRAMS[r].name}-{letter}" for r, letter in REFUSED]
)
def test_refused_derivatives(row, letter):
    """JAX's error, alone and inside and around other transformations."""
    program = PROGRAMS[row]
    with pytest.raises(Exception) as wanted:
        spell(jax, (letter,), program.make(jax, jax.numpy))(*program.args)
    for word in (
        (letter,),
        ("jit", letter),
        (letter, "jit"),
        ("vmap", letter),
        ("checkpoint", letter, "vmap last"),
    ):
        with pytest.raises(type(wanted.value)) as found:
            spell(plugjax, word, ours(row))(*arguments(row))
        assert type(found.value).__name__ == type(wanted.value).__name__, word
