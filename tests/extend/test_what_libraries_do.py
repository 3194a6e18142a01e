"""What libraries written for JAX do with it, without the libraries."""

import copy
import functools
import importlib
import operator
import pickle

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
from plugjax.extend.core import Primitive
from plugjax.interpreters import ad, batching, mlir

NAMES = {
    "plugjax": (plugjax.extend.core, mlir, ad, batching),
    "jax": (
        jax.extend.core,
        importlib.import_module("jax.interpreters.mlir"),
        importlib.import_module("jax.interpreters.ad"),
        importlib.import_module("jax.interpreters.batching"),
    ),
}
BOTH = pytest.mark.parametrize("module", [plugjax, jax], ids=["plugjax", "jax"])


@BOTH
def test_a_result_may_be_a_shape_dtype_struct_where_only_types_are_asked_for(module):
    struct = module.ShapeDtypeStruct((2,), "float32")
    found = module.eval_shape(lambda x: {"a": struct, "b": (x, struct)}, 1.0)
    assert [s.shape for s in module.tree.leaves(found)] == [(2,), (), (2,)]
    assert module.make_jaxpr(lambda: struct)().out_avals[0].shape == (2,)
    with pytest.raises(TypeError, match="ShapeDtypeStruct"):
        module.jit(lambda: struct)()

    # The same function, by eval_shape first.
    def f():
        return struct

    module.eval_shape(f)
    with pytest.raises(TypeError, match="ShapeDtypeStruct"):
        module.jit(f)()


@BOTH
def test_the_sharding_of_a_type_can_be_asked_for_and_given_back(module):
    x = module.numpy.ones((2, 3))
    found = module.typeof(x).sharding
    assert tuple(found.spec) == (None, None)
    assert found.mesh.empty
    drawn = module.random.bernoulli(module.random.key(0), 0.5, (2, 3), out_sharding=found)
    plain = module.random.bernoulli(module.random.key(0), 0.5, (2, 3))
    np.testing.assert_array_equal(drawn, plain)
    shapes = []
    module.jit(lambda y: shapes.append(len(module.typeof(y).sharding.spec)) or y)(x[0])
    assert shapes == [1]


@BOTH
def test_tracers_can_be_copied(module):
    def f(x):
        held = copy.deepcopy({"x": [x]})
        return copy.copy(held["x"][0]) * 2.0

    assert module.jvp(module.jit(f), (3.0,), (1.0,)) == (6.0, 2.0)
    np.testing.assert_array_equal(module.vmap(f)(module.numpy.arange(2.0)), [0.0, 2.0])


@BOTH
def test_the_kind_of_a_key_s_dtype_has_a_name(module):
    dtype = module.random.key(0).dtype
    assert dtype.type is module.dtypes.prng_key
    assert dtype.type.__name__ == "prng_key"
    with pytest.raises(TypeError):
        dtype.type(0)


@BOTH
def test_einsum_takes_what_multiplies(module):
    calls = []

    def dot(x, y, numbers, precision=None, preferred_element_type=None, **rest):
        calls.append(numbers)
        return module.lax.dot_general(x, y, numbers, precision, preferred_element_type)

    x = module.numpy.arange(6.0).reshape(2, 3)
    found = module.numpy.einsum("ij,kj->ik", x, x, _dot_general=dot)
    np.testing.assert_array_equal(
        found, np.arange(6.0).reshape(2, 3) @ np.arange(6.0).reshape(3, 2, order="F")
    )
    assert len(calls) == 1


@BOTH
def test_python_scalars_among_residuals_stay_python_scalars(module):
    seen = []

    @module.custom_vjp
    def f(x):
        return x * 2.0

    def forward(x):
        return f(x), {"flag": True, "scale": 3, "x": x, "text": None}

    def backward(residuals, bar):
        seen.append((type(residuals["flag"]), type(residuals["scale"])))
        return (bar * residuals["scale"] if residuals["flag"] else bar,)

    f.defvjp(forward, backward)
    assert module.grad(f)(1.0) == 3.0
    assert module.jit(module.grad(f))(1.0) == 3.0
    np.testing.assert_array_equal(module.vmap(module.grad(f))(module.numpy.ones(2)), [3.0, 3.0])
    # JAX has an integer with a dtype in compiled functions.
    assert all(flag is bool and issubclass(scale, int) for flag, scale in seen)
    assert seen


@pytest.mark.parametrize("value", [True, 1, 1.0])
def test_residuals_that_are_equal_and_of_other_types_are_told_apart(value):
    @plugjax.custom_vjp
    def f(x):
        return x

    f.defvjp(lambda x: (x, value), lambda r, bar: (bar * (2.0 if type(r) is type(value) else 0.0),))
    assert plugjax.jit(plugjax.grad(f))(1.0) == 2.0


@BOTH
def test_zeros_of_a_tree(module):
    tree = {"a": module.numpy.ones(2), "n": module.numpy.arange(3)}
    found = module.custom_derivatives.zero_from_primal(tree)
    np.testing.assert_array_equal(found["a"], np.zeros(2))
    assert found["n"].dtype == module.dtypes.float0
    symbolic = module.custom_derivatives.zero_from_primal(tree, symbolic_zeros=True)
    assert symbolic["a"].aval.shape == (2,)


def test_a_batching_rule_in_the_older_form():
    with_axis = Primitive("with_axis")
    with_axis.def_abstract_eval(lambda x: x)
    seen = []

    def rule(size, name, trace_type, args, dims):
        seen.append((size, name, trace_type, dims))
        return args[0] * size, dims[0]

    batching.axis_primitive_batchers[with_axis] = rule
    mlir.register_lowering(with_axis, mlir.lower_fun(lambda x: x * 1.0, multiple_results=False))
    found = plugjax.vmap(with_axis.bind, axis_name="i")(plugjax.numpy.ones(3))
    np.testing.assert_array_equal(found, [3.0, 3.0, 3.0])
    # A tuple: rules put it into parameters.
    assert seen == [(3, "i", None, (0,))]


@BOTH
def test_a_trace_has_a_main_trace_and_a_device_a_client(module):
    core = module.extend.core

    def f(x):
        trace = core.find_top_trace((x,))
        same = getattr(trace, "main", trace)
        return x * (1.0 if same is not None else 0.0)

    assert module.jvp(f, (2.0,), (1.0,))[1] == 1.0
    client = module.devices("cpu")[0].client
    assert client.platform == "cpu"
    assert isinstance(client.runtime_type, str)
    assert client.device_count() >= 1
    x = module.device_put(jnp.ones(2) if module is jax else np.ones(2, "float32"))
    assert len(x.sharding._addressable_device_assignment) == 1


@BOTH
def test_types_for_annotations_can_be_joined(module):
    assert module.typing.DTypeLike | None
    assert module.typing.ArrayLike | None


@pytest.mark.parametrize("place", ["numpy", "xla", "iree"])
def test_a_function_as_lowering_may_call_functions_with_rules_and_draw(place):
    drawing = Primitive("drawing")
    drawing.def_abstract_eval(lambda key, x: x)

    def function(key, x):
        inner = plugjax.random.split(plugjax.random.key(3))[0]
        return (
            plugjax.nn.relu(x)
            + plugjax.random.normal(key, x.shape)
            + plugjax.random.normal(inner, x.shape)
        )

    mlir.register_lowering(drawing, mlir.lower_fun(function, multiple_results=False))
    key, x = plugjax.random.key(1), np.array([-1.0, 2.0], "float32")
    with plugjax.config.override("backend", place):
        wanted = function(key, x)
        np.testing.assert_allclose(plugjax.jit(drawing.bind)(key, x), wanted, rtol=1e-6)
        np.testing.assert_allclose(
            plugjax.jit(lambda k, y: drawing.bind(k, y) * 2.0)(key, x), 2.0 * wanted, rtol=1e-6
        )


def test_a_lowering_for_one_platform_keeps_the_equation():
    chosen = Primitive("chosen")
    chosen.def_abstract_eval(lambda x: x)
    mlir.register_lowering(chosen, mlir.lower_fun(lambda x: x * 2.0, multiple_results=False))
    mlir.register_lowering(
        chosen, mlir.lower_fun(lambda x: x * 3.0, multiple_results=False), platform="xla"
    )
    assert plugjax.jit(chosen.bind, device="xla")(np.float32(1)) == 3.0
    assert plugjax.jit(chosen.bind, device="numpy")(np.float32(1)) == 2.0


@pytest.mark.parametrize(
    "use",
    [
        lambda x: plugjax.jit(lambda y: y * 2)(x),
        lambda x: plugjax.grad(lambda y: y.sum())(x),
        lambda x: plugjax.vmap(lambda y: y * 2)({"x": x}),
        lambda x: plugjax.lax.add(x, x),
        lambda x: plugjax.device_put(x),
        lambda x: plugjax.lax.scan(lambda c, y: (c, y), 0.0, x),
    ],
)
def test_an_array_of_the_real_jax_is_refused_with_the_way_to_convert_it(use):
    x = jnp.arange(3.0)
    with pytest.raises(
        TypeError, match=r"array of JAX: convert it by plugjax.numpy.from_dlpack\(x\)"
    ):
        use(x)
    np.testing.assert_array_equal(plugjax.numpy.from_dlpack(x), [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(plugjax.numpy.asarray(x), [0.0, 1.0, 2.0])


def test_operators_between_the_two_are_refused():
    x, y = jnp.ones(2), plugjax.numpy.ones(2)
    for f in (lambda: x + y, lambda: y + x, lambda: jnp.sin(y), lambda: plugjax.numpy.sin(x)):
        with pytest.raises(TypeError):
            f()


@BOTH
def test_a_partial_of_a_partial_keeps_the_inner_one_whole(module):
    kind = module.tree_util.Partial
    for inner in (functools.partial(operator.sub, 10.0), kind(operator.sub, 10.0)):
        found = kind(inner, 2.0)
        assert module.tree.leaves(found) == [2.0]
        assert found() == 8.0
        assert module.tree.map(lambda x: x + 1.0, found)() == 7.0
        assert module.tree.structure(found) == module.tree.structure(kind(inner, 5.0))
        assert found.func.args == (10.0,)
    assert module.jit(lambda f, x: f(x))(kind(functools.partial(operator.sub, 10.0)), 4.0) == 6.0
    assert pickle.loads(pickle.dumps(kind(functools.partial(operator.sub, 10.0), 2.0)))() == 8.0


@BOTH
def test_a_trace_of_a_library_interprets_primitives(module):
    core = module.extend.core

    class Counted(module.core.Tracer):
        def __init__(self, trace, val):
            super().__init__(trace, module.typeof(val))
            self.val = val

    class Counting(module.core.Trace):
        def __init__(self, parent):
            super().__init__()
            self.outer = parent
            self.names = []

        def process_primitive(self, primitive, tracers, params):
            self.names.append(primitive.name)
            values = [t.val if isinstance(t, Counted) else t for t in tracers]
            out = primitive.bind_with_trace(
                self.outer, values, [module.typeof(v) for v in values], params
            )
            return (
                [Counted(self, y) for y in out]
                if primitive.multiple_results
                else Counted(self, out)
            )

    def counted(f, x):
        with core.take_current_trace() as parent:
            trace = Counting(parent)
            with core.set_current_trace(trace):
                out = f(Counted(trace, x))
        return out.val, trace.names

    value, names = counted(
        lambda x: module.lax.mul(module.lax.sin(x), x), module.numpy.float32(2.0)
    )
    np.testing.assert_allclose(value, np.sin(2.0) * 2.0, rtol=1e-6)
    assert names == ["sin", "mul"]
    # Within a transformation of the framework, operations go on to it.
    slope = module.grad(lambda x: counted(lambda y: module.lax.mul(y, y), x)[0])(3.0)
    assert slope == 6.0


def test_a_trace_of_a_library_gets_functions_with_rules_as_what_they_compute():
    class Listing(plugjax.core.Trace):
        def process_primitive(self, primitive, tracers, params):
            names.append(primitive.name)
            return primitive.bind(*tracers, **params)

    names = []
    with plugjax.extend.core.set_current_trace(Listing()):
        found = plugjax.nn.relu(plugjax.numpy.float32(-1.0))
    assert found == 0.0
    assert "custom_jvp_call" not in names
    assert names
    with (
        plugjax.extend.core.set_current_trace(plugjax.core.Trace()),
        pytest.raises(TypeError, match="Trace does not interpret primitives"),
    ):
        plugjax.lax.sin(np.float32(1.0))


@BOTH
def test_the_form_of_xla_gives_its_text(module):
    found = (
        module.jit(lambda x: x * x).lower(np.float32(2.0)).compiler_ir(dialect="hlo").as_hlo_text()
    )
    assert "ENTRY" in found
    assert "multiply(" in found


@BOTH
def test_a_class_of_primitives_may_say_what_all_have_and_bind_in_its_own_way(module):
    core, mlir, ad, batching = NAMES[module.__name__]
    counted = []

    class Pair(core.Primitive):
        multiple_results = True

        def bind(self, *args, **params):
            counted.append(self.name)
            return super().bind(*args, **params)

    pair = Pair("pair")
    pair.def_impl(lambda x: [x + 1, x * 2])
    pair.def_abstract_eval(lambda x: [x, x])
    mlir.register_lowering(pair, mlir.lower_fun(lambda x: [x + 1, x * 2], multiple_results=True))
    x = module.numpy.float32(3.0)
    assert [float(y) for y in pair.bind(x)] == [4.0, 6.0]
    assert [float(y) for y in module.jit(pair.bind)(x)] == [4.0, 6.0]
    with pytest.raises(NotImplementedError):
        module.grad(lambda y: sum(pair.bind(y)))(x)
    # Rules may come late.
    ad.primitive_jvps[pair] = lambda primals, tangents: (
        pair.bind(*primals),
        [tangents[0], tangents[0] * 2],
    )
    batching.primitive_batchers[pair] = lambda args, dims: (pair.bind(*args), [dims[0]] * 2)
    assert module.grad(lambda y: sum(pair.bind(y)))(x) == 3.0
    np.testing.assert_array_equal(
        module.vmap(lambda y: sum(pair.bind(y)))(module.numpy.ones(2)), [4.0, 4.0]
    )
    assert set(counted) == {"pair"}
    assert core.Primitive("single").multiple_results is False


@pytest.mark.parametrize("framework", [jax, plugjax])
def test_types_of_arrays_have_the_methods_of_types(framework):
    core = framework.core
    aval = core.ShapedArray((3, 4), np.dtype("float32"), weak_type=True)
    plain = core.ShapedArray((3, 4), np.dtype("float32"))
    x = framework.numpy.ones((3, 4))
    assert aval.at_least_vspace() == aval.to_ct_aval() == aval
    assert core.ShapedArray((2,), np.dtype("int32")).at_least_vspace().dtype == framework.float0
    assert aval.update_weak_type(False) == plain
    assert (aval.lo_ty(), aval.lower_val(x), aval.raise_val(x)) == ([aval], [x], x)
    assert plain.inc_rank(2, 0).shape == (2, 3, 4)
    assert plain.dec_rank(4, 1).shape == (3,)
    assert plain.inc_rank(2, None) == plain
    assert plain.leading_axis_spec() == 0
    assert (aval.is_high, aval.has_qdd) == (False, False)
    np.testing.assert_array_equal(plain.vspace_add(x, x), np.full((3, 4), 2.0))
    mesh = framework.sharding.AbstractMesh((2,), ("x",))
    assert plain.nospec(mesh, False, ("x",)) == framework.P("x")
    assert plain.nospec(mesh, True, ("x",)) == framework.P()
