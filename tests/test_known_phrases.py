"""Messages contain the words by which people search for JAX's: three to six of them, and go on in plugjax's own."""

import jax
import jax.experimental
import jax.numpy
import numpy as np  # noqa: F401  # programs use it
import pytest

import plugjax
import plugjax.experimental
import plugjax.numpy

# The error -> a program that raises it, and words of JAX's message.
PHRASES = {
    "if on a tracer": ("jax.jit(lambda x: 1 if x > 0 else 2)(1.)", "Attempted boolean conversion of traced array"),
    "if on a traced vector": ("jax.jit(lambda x: 1 if x > 0 else 2)(jnp.ones(3))", "The truth value of an array"),
    "int() of a tracer": ("jax.jit(lambda x: int(x))(1)", "Abstract tracer value encountered"),
    "float() of a tracer": ("jax.jit(lambda x: float(x))(1.)", "Abstract tracer value encountered"),
    "index by a tracer": ("jax.jit(lambda n: [1, 2, 3][n])(1)", "__index__() method was called on traced array"),
    "range of a tracer": ("jax.jit(lambda n: list(range(n)))(3)", "__index__() method was called on traced array"),
    "numpy of a tracer": ("jax.jit(lambda x: np.sin(np.asarray(x)))(1.)", "conversion method __array__() was called"),
    "mask by a tracer": ("jax.jit(lambda x: x[x > 0])(jnp.ones(3))", "Array boolean indices must be concrete"),
    "shape from a tracer": ("jax.jit(lambda n: jnp.zeros(n))(3)", "Shapes must be 1D sequences of"),
    "arange of a tracer": ("jax.jit(lambda n: jnp.arange(n))(3)", "Abstract tracer value encountered"),
    "nonzero of a tracer": ("jax.jit(jnp.nonzero)(jnp.ones(3))", "Abstract tracer value encountered"),
    "unique of a tracer": ("jax.jit(jnp.unique)(jnp.ones(3))", "Abstract tracer value encountered"),
    "item of a tracer": ("jax.jit(lambda x: x.item())(1.)", "Abstract tracer value encountered"),
    "repeat by a tracer": ("jax.jit(lambda n: jnp.repeat(jnp.ones(3), n))(jnp.array([1, 2, 3]))", "Abstract tracer value encountered"),
    "slice by a tracer": ("jax.jit(lambda n: jnp.ones(3)[:n])(2)", "Slice entries must be static integers"),
    "leaked tracer": ("leak(jax, jnp)", "Encountered an unexpected tracer"),
    "closure custom_vjp": ("jax.grad(lambda x: with_vjp(jax, lambda y: (y, None), lambda r, g: (g * x,))(x))(1.)", "Encountered an unexpected tracer"),
    "iterate a scalar": ("list(jnp.float32(1))", "iteration over a 0-d array"),
    "jit of no function": ("jax.jit(3)", "Expected a callable value"),
    "static argument without a hash": ("jax.jit(lambda x, n: x, static_argnums=1)(1., [1])", "Non-hashable static arguments"),
    "static name without a hash": ("jax.jit(lambda x, n: x, static_argnames='n')(1., n=[1])", "Non-hashable static arguments"),
    "a string for jit": ("jax.jit(lambda x: x)('a')", "Error interpreting argument to"),
    "an object for jit": ("jax.jit(lambda x: x)(object())", "Error interpreting argument to"),
    "eval_shape of a string": ("jax.eval_shape(lambda x: x, 'a')", "Error interpreting argument to"),
    "jit gives a string": ("jax.jit(lambda x: 'a')(1.)", "returned a value of type"),
    "static_argnums out of range": ("jax.jit(lambda x: x, static_argnums=3)(1.)", "but only accepts 1 positional arguments"),
    "wrong names": ("jax.jit(lambda x: x, static_argnames='y')(1.)", "Jitted function has invalid argnames"),
    "donated and read": ("donated(jax, jnp)", "Array has been deleted"),
    "deleted": ("deleted(jnp)", "Array has been deleted"),
    "compiled, other shape": ("jax.jit(jnp.sin).lower(jnp.ones(3)).compile()(jnp.ones(4))", "Argument types differ from the types"),
    "compiled, other dtype": ("jax.jit(jnp.sin).lower(jnp.ones(3)).compile()(jnp.arange(3))", "Argument types differ from the types"),
    "compiled, other tree": ("jax.jit(lambda x: x).lower((1., 2.)).compile()([1., 2.])", "input pytree"),
    "compiled, under grad": ("jax.grad(jax.jit(jnp.sin).lower(1.).compile())(1.)", "Cannot apply JAX transformations to"),
    "vmap of a scalar": ("jax.vmap(jnp.sin)(1.)", "vmap was requested to map its argument"),
    "vmap axis out of range": ("jax.vmap(lambda x: x, in_axes=2)(jnp.ones(3))", "vmap was requested to map its argument"),
    "vmap sizes": ("jax.vmap(lambda x, y: x)(jnp.ones(3), jnp.ones(4))", "vmap got inconsistent sizes for"),
    "vmap in_axes length": ("jax.vmap(lambda x, y: x, in_axes=(0,))(jnp.ones(3), jnp.ones(3))", "in_axes must be an int, None"),
    "vmap in_axes type": ("jax.vmap(lambda x: x, in_axes='a')(jnp.ones(3))", "in_axes must be an int, None"),
    "vmap in_axes tree": ("jax.vmap(lambda x: x, in_axes=({'a': 0},))({'b': jnp.ones(3)})", "must be a tree prefix of"),
    "vmap out_axes tree": ("jax.vmap(lambda x: x, out_axes=(0, 0))(jnp.ones(3))", "must be a tree prefix of"),
    "vmap out_axes None": ("jax.vmap(lambda x: x, out_axes=None)(jnp.ones(3))", "but output was batched"),
    "vmap without axes": ("jax.vmap(lambda x: x, in_axes=None)(jnp.ones(3))", "non-None value in in_axes"),
    "vmap no arguments": ("jax.vmap(lambda: 1)()", "axis_size must be specified"),
    "unbound axis name": ("jax.lax.psum(jnp.ones(3), 'i')", "unbound axis name: i"),
    "unbound axis index": ("jax.lax.axis_index('i')", "unbound axis name: i"),
    "grad of a vector": ("jax.grad(lambda x: x)(jnp.ones(3))", "Gradient only defined for scalar-output functions"),
    "grad of a tuple": ("jax.grad(lambda x: (x, x))(1.)", "Gradient only defined for scalar-output functions"),
    "grad gives None": ("jax.grad(lambda x: None)(1.)", "Gradient only defined for scalar-output functions"),
    "grad of an integer": ("jax.grad(lambda x: x * 2.)(3)", "grad requires real- or complex-valued inputs"),
    "grad of complex output": ("jax.grad(lambda x: x * 1j)(1.)", "grad requires real-valued outputs"),
    "grad of integer output": ("jax.grad(lambda x: jnp.int32(1))(1.)", "grad requires real-valued outputs"),
    "holomorphic of real": ("jax.grad(lambda x: x, holomorphic=True)(1.)", "grad with holomorphic=True requires inputs with"),
    "grad argnums": ("jax.grad(lambda x: x, argnums=2)(1.)", "differentiating with respect to argnums=2"),
    "named argument": ("jax.grad(lambda x: x)(x=1.)", "differentiating with respect to argnums=0"),
    "jvp shapes": ("jax.jvp(jnp.sin, (jnp.ones(3),), (jnp.ones(4),))", "different primal and tangent shapes"),
    "jvp dtypes": ("jax.jvp(jnp.sin, (1.,), (1,))", "primal and tangent arguments"),
    "jvp trees": ("jax.jvp(lambda x, y: x, (1., 2.), (1.,))", "primal and tangent arguments"),
    "jvp no tuple": ("jax.jvp(jnp.sin, 1., 1.)", "primal and tangent arguments"),
    "vjp shapes": ("jax.vjp(jnp.sin, jnp.ones(3))[1](jnp.ones(4))", "unexpected JAX type"),
    "vjp dtype": ("jax.vjp(jnp.sin, 1.)[1](1)", "unexpected JAX type"),
    "vjp tree": ("jax.vjp(jnp.sin, 1.)[1]((1., 1.))", "unexpected tree structure"),
    "jacfwd of integers": ("jax.jacfwd(lambda x: x)(3)", "jacfwd requires real-valued inputs"),
    "jacrev of integers": ("jax.jacrev(lambda x: x)(3)", "jacrev requires real- or complex-valued inputs"),
    "reverse while": ("jax.grad(lambda x: jax.lax.while_loop(lambda c: c < 5, lambda c: c * 2, x))(1.)", "Reverse-mode differentiation does not work for"),
    "custom_jvp without a rule": ("jax.custom_jvp(lambda x: x)(1.)", "No JVP defined for custom_jvp function"),
    "custom_vjp without a rule": ("jax.custom_vjp(lambda x: x)(1.)", "No VJP defined for custom_vjp function"),
    "custom_vjp, forward mode": ("jax.jvp(with_vjp(jax, lambda x: (x, None), lambda r, g: (g,)), (1.,), (1.,))", "can't apply forward-mode autodiff (jvp) to"),
    "custom_vjp, bwd tree": ("jax.grad(with_vjp(jax, lambda x: (x, None), lambda r, g: (g, g)))(1.)", "must produce an output"),
    "custom_vjp, bwd no tuple": ("jax.grad(with_vjp(jax, lambda x: (x, None), lambda r, g: g))(1.)", "must produce an output"),
    "custom_vjp, bwd shape": ("jax.grad(with_vjp(jax, lambda x: (x, None), lambda r, g: (jnp.ones(3),)))(1.)", "Custom VJP bwd rule"),
    "custom_vjp, fwd no pair": ("jax.grad(with_vjp(jax, lambda x: x, lambda r, g: (g,)))(1.)", "must produce a pair"),
    "custom_jvp, no pair": ("jax.jvp(with_jvp(jax, lambda p, t: p[0]), (1.,), (1.,))", "must produce a pair"),
    "custom_jvp, tangent shape": ("jax.jvp(with_jvp(jax, lambda p, t: (p[0], jnp.ones(3))), (1.,), (1.,))", "must produce primal and tangent outputs"),
    "callback under grad": ("jax.grad(lambda x: jax.pure_callback(np.sin, x, x))(1.)", "Pure callbacks do not support JVP"),
    "callback under vmap": ("jax.vmap(lambda x: jax.pure_callback(np.sin, x, x))(jnp.ones(3))", "vmap is only supported for the"),
    "io_callback ordered in vmap": ("jax.vmap(lambda x: jax.experimental.io_callback(print, None, x, ordered=True))(jnp.ones(3))", "Cannot `vmap` ordered IO callback"),
    "cond branches, shapes": ("jax.lax.cond(True, lambda: jnp.ones(3), lambda: jnp.ones(4))", "branches must have equal output types"),
    "cond branches, dtypes": ("jax.lax.cond(True, lambda: 1., lambda: 1)", "branches must have equal output types"),
    "cond branches, trees": ("jax.lax.cond(True, lambda: (1., 2.), lambda: 1.)", "must have the same pytree structure"),
    "cond predicate": ("jax.lax.cond(jnp.ones(3), lambda: 1., lambda: 2.)", "Pred must be a scalar"),
    "cond predicate type": ("jax.lax.cond('a', lambda: 1., lambda: 2.)", "Pred must be a scalar"),
    "cond of no functions": ("jax.lax.cond(True, 1., 2.)", "true_fun and false_fun arguments should be callable"),
    "switch index": ("jax.lax.switch(1.5, [lambda: 1., lambda: 2.])", "Index type must be an integer"),
    "switch without branches": ("jax.lax.switch(0, [])", "Empty branch sequence"),
    "scan carry shape": ("jax.lax.scan(lambda c, a: (jnp.ones(3), a), 0., jnp.ones(3))", "carry output must have equal types"),
    "scan carry tree": ("jax.lax.scan(lambda c, a: ((c, c), a), 0., jnp.ones(3))", "must have the same pytree structure"),
    "scan no pair": ("jax.lax.scan(lambda c, a: c, 0., jnp.ones(3))", "scan body output must be a pair"),
    "scan lengths": ("jax.lax.scan(lambda c, a: (c, a), 0., (jnp.ones(3), jnp.ones(4)))", "scan got values with different leading axis sizes"),
    "scan length": ("jax.lax.scan(lambda c, a: (c, a), 0., jnp.ones(3), length=4)", "scan got `length` argument of"),
    "scan without xs": ("jax.lax.scan(lambda c, a: (c, a), 0., None)", "scan got no values to scan over"),
    "scan of scalars": ("jax.lax.scan(lambda c, a: (c, a), 0., 1.)", "scan got value with no leading axis"),
    "while body": ("jax.lax.while_loop(lambda c: c < 5, lambda c: (c, c), 1.)", "must have the same pytree structure"),
    "while predicate": ("jax.lax.while_loop(lambda c: c, lambda c: c, jnp.ones(3))", "cond_fun must return a boolean scalar"),
    "while predicate dtype": ("jax.lax.while_loop(lambda c: c, lambda c: c, 1.)", "cond_fun must return a boolean scalar"),
    "fori carry": ("jax.lax.fori_loop(0, 3, lambda i, c: (c, c), 1.)", "must have the same pytree structure"),
    "fori bounds": ("jax.lax.fori_loop(0., 3, lambda i, c: c, 1.)", "upper arguments to fori_loop must have equal types"),
    "tree.map, other keys": ("jax.tree.map(lambda x, y: x, {'a': 1}, {'b': 1})", "different pytree metadata"),
    "tree.map, other length": ("jax.tree.map(lambda x, y: x, [1, 2], [1])", "different lengths"),
    "tree.map, other type": ("jax.tree.map(lambda x, y: x, [1, 2], (1, 2))", "pytree structure error: different types"),
    "tree.map, leaf": ("jax.tree.map(lambda x, y: x, [1, 2], 3)", "pytree structure error: different types"),
    "unflatten": ("jax.tree.unflatten(jax.tree.structure([1, 2]), [1])", "Too few leaves for"),
    "transpose trees": ("jax.tree.transpose(jax.tree.structure([1, 2]), jax.tree.structure([1]), [1, 2, 3])", "Mismatch"),
    "shapes of +": ("jnp.ones(3) + jnp.ones(4)", "got incompatible shapes for broadcasting"),
    "lax.add shapes": ("jax.lax.add(jnp.ones(3), jnp.ones(4))", "got incompatible shapes for broadcasting"),
    "shapes of @": ("jnp.ones((2, 3)) @ jnp.ones((2, 3))", "contracting dimensions to have the same"),
    "dot shapes": ("jnp.dot(jnp.ones((2, 3)), jnp.ones((2, 3)))", "contracting dimensions to have the same"),
    "lax.add dtypes": ("jax.lax.add(jnp.ones(3), jnp.arange(3))", "requires arguments to have the same dtypes"),
    "a list": ("jnp.sin([1., 2.])", "requires ndarray or scalar arguments"),
    "None": ("jnp.add(None, 1)", "requires ndarray or scalar arguments"),
    "where arguments": ("jnp.where(jnp.ones(3), 1)", "requires ndarray or scalar arguments"),
    "array of a set": ("jnp.asarray({1})", "is not a valid JAX array type"),
    "ragged": ("jnp.array([[1, 2], [3]])", "setting an array element with a sequence"),
    "truth of a vector": ("bool(jnp.ones(3))", "The truth value of an array"),
    "float of a vector": ("float(jnp.ones(3))", "Only scalar arrays can be converted"),
    "assignment": ("setitem(jnp.ones(3), 0, 1.)", "arrays are immutable and do not support"),
    "float index": ("jnp.ones(3)[1.5]", "Indexer must have integer or boolean type"),
    "list index": ("jnp.ones(3)[[0, 1]]", "Using a non-tuple sequence for multidimensional indexing"),
    "too many indices": ("jnp.ones(3)[0, 0]", "Too many indices: array is 1-dimensional"),
    "string index": ("jnp.ones(3)['a']", "does not support string indexing"),
    "axis out of range": ("jnp.sum(jnp.ones(3), axis=2)", "is out of bounds for array of dimension"),
    "repeated axis": ("jnp.sum(jnp.ones((3, 3)), axis=(0, 0))", "duplicate value in 'axis'"),
    "reshape size": ("jnp.ones(3).reshape(2, 2)", "cannot reshape array of shape"),
    "reshape two unknown": ("jnp.ones(4).reshape(-1, -1)", "can only specify one unknown axis size"),
    "concatenate dims": ("jnp.concatenate([jnp.ones(3), jnp.ones((3, 3))])", "Cannot concatenate arrays with different numbers"),
    "concatenate nothing": ("jnp.concatenate([])", "Need at least one array"),
    "stack shapes": ("jnp.stack([jnp.ones(3), jnp.ones(4)])", "All input arrays must have the same shape"),
    "einsum": ("jnp.einsum('ij,jk->ik', jnp.ones((2, 3)), jnp.ones((2, 3)))", "Size of label 'j'"),
    "out= of sum": ("jnp.sum(jnp.ones(3), out=1)", "The 'out' argument to jnp.sum"),
    "inverse of no square": ("jnp.linalg.inv(jnp.ones((2, 3)))", "Argument to inv must have shape"),
    "integer overflow": ("jnp.array(2**40)", "too large to convert to int32"),
    "dtype unknown": ("jnp.zeros(3, 'foo')", "data type 'foo' not understood"),
    "float size": ("jnp.zeros(1.5)", "Shapes must be 1D sequences of"),
    "clip nothing": ("jnp.clip()", "No input was provided"),
    "matmul of scalars": ("jnp.matmul(1., 2.)", "must have ndim at least 1"),
    "permutation of axes": ("jnp.transpose(jnp.ones((2, 3)), (0, 0))", "transpose permutation isn't a permutation"),
    "squeeze": ("jnp.squeeze(jnp.ones((2, 3)), 0)", "cannot select an axis to squeeze out"),
    "bitwise of floats": ("jnp.ones(3) & jnp.ones(3)", "and does not accept dtype float32"),
    "conv shapes": ("jax.lax.conv(jnp.ones((1, 2, 4, 4)), jnp.ones((1, 3, 2, 2)), (1, 1), 'SAME')", "conv_general_dilated lhs feature dimension size"),
    "split": ("jnp.split(jnp.ones(5), 2)", "does not result in an equal division"),
    "unhashable array": ("hash(jnp.ones(3))", "unhashable type"),
    "promotion strict": ("strict(jax, jnp)", "no available implicit dtype promotion"),
    "key of floats": ("jax.random.normal(jnp.ones(2))", "invalid PRNG key data"),
    "key of a number": ("jax.random.normal(3)", "invalid PRNG key data"),
    "keys of a batch": ("jax.random.normal(jax.random.split(jax.random.key(0), 3))", "normal accepts a single key"),
    "seed of floats": ("jax.random.key(1.5)", "PRNG key seed must be an integer"),
    "choice sizes": ("jax.random.choice(jax.random.key(0), 3, (5,), replace=False)", "Cannot take a larger sample (size 5)"),
    "integers for normal": ("jax.random.normal(jax.random.key(0), (3,), int)", "dtype argument to `normal` must be"),
    "floats for randint": ("jax.random.randint(jax.random.key(0), (3,), 0, 3, float)", "randint only accepts integer dtypes"),
    "nan": ("nans(jax, jnp)", "invalid value (nan) encountered in"),
    "unknown option": ("jax.config.update('jax_foo', 1)", "Unrecognized config option: jax_foo"),
    "unknown platform": ("jax.devices('foo')", "Unknown backend"),
    "unknown attribute of jnp": ("jnp.foo", "has no attribute 'foo'"),
    "top_k": ("jax.lax.top_k(jnp.ones(3), 5)", "k argument to top_k must be no larger than"),
    "dynamic_slice": ("jax.lax.dynamic_slice(jnp.ones(3), (0,), (5,))", "slice slice_sizes must be less than"),
    "dynamic_slice count": ("jax.lax.dynamic_slice(jnp.ones(3), (0, 0), (2,))", "Length of slice indices must match"),
}  # fmt: skip


def leak(jax, jnp):
    kept = []
    jax.jit(lambda x: kept.append(x * 2))(1.0)
    return kept[0] + 1


def donated(jax, jnp):
    # Of a shape of its own: what JAX has compiled before it runs, and XLA complains in other words.
    x = jnp.ones(7)
    jax.jit(lambda a: a + 1, donate_argnums=0)(x)
    return x + 1


def deleted(jnp):
    x = jnp.ones(11)
    x.delete()
    return x + 1


def with_vjp(jax, forward, backward):
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(forward, backward)
    return f


def with_jvp(jax, rule):
    f = jax.custom_jvp(lambda x: x)
    f.defjvp(rule)
    return f


def setitem(x, i, value):
    x[i] = value


def strict(jax, jnp):
    with jax.numpy_dtype_promotion("strict"):
        return jnp.ones(3) + jnp.arange(3)


def nans(jax, jnp):
    with jax.debug_nans(True):
        return jnp.log(jnp.float32(-1.0)) + 0


def message(framework, program):
    names = {**globals(), "jax": framework, "jnp": framework.numpy}
    with pytest.raises(Exception) as caught:
        eval(program, names)
    return str(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("situation", PHRASES)
def test_the_message_is_found_by_the_words_of_jax(situation):
    program, phrase = PHRASES[situation]
    assert phrase in message(jax, program)
    assert phrase in message(plugjax, program)


@pytest.mark.filterwarnings("ignore")
def test_messages_are_no_copies():
    """They share words with JAX's, no sentence of them: the rest is written for plugjax."""
    for situation, (program, phrase) in PHRASES.items():
        ours, theirs = message(plugjax, program), message(jax, program)
        first = theirs.split("\n")[0]
        if len(first) > len(phrase) + 10:
            assert first not in ours, situation
