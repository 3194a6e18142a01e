"""What lowering rules ask about their module, and constants and types by class, as under JAX."""

import importlib

import jax
import numpy as np
import pytest

import plugjax


class Modules:
    """The modules that a program imports, from one framework."""

    def __init__(self, framework):
        name = framework.__name__
        self.jax, self.lax, self.jnp = framework, framework.lax, framework.numpy
        self.core = importlib.import_module(f"{name}.core")
        self.extend = importlib.import_module(f"{name}.extend.core")
        self.mlir = importlib.import_module(f"{name}.interpreters.mlir")
        self.export = importlib.import_module(f"{name}.export")
        self.hlo = importlib.import_module(f"{name}.extend.mlir.dialects").stablehlo
        kind = "xla" if framework is plugjax else "cpu"
        self.devices = np.array(framework.devices(kind)[:1])

    def looked_at(self, look):
        """A primitive that gives its operand, and shows its context to ``look``."""
        p, seen = self.extend.Primitive("looked_at"), []
        p.def_abstract_eval(lambda x: x)

        def lower(ctx, x):
            seen.append(look(ctx))
            return [x]

        self.mlir.register_lowering(p, lower)
        return p, seen

    def run(self, f, *args):
        lowered = self.jax.jit(f).lower(*args)
        # plugjax lowers when the module is asked for.
        lowered.as_text(dialect="stablehlo")
        return lowered


@pytest.fixture(params=[jax, plugjax], ids=["jax", "plugjax"])
def m(request):
    importlib.import_module("jax.extend.mlir.dialects.stablehlo")
    if request.param is jax:
        yield Modules(jax)
        return
    with plugjax.default_device("xla"):
        yield Modules(plugjax)


def test_whole_arrays(m):
    p, seen = m.looked_at(lambda ctx: ctx.module_context.axis_context)
    m.run(p.bind, np.ones(2, np.float32))
    mesh = m.jax.sharding.AbstractMesh((4,), ("x",))
    spread = m.jax.sharding.NamedSharding(mesh, m.jax.sharding.PartitionSpec("x"))
    x = m.jax.ShapeDtypeStruct((8,), np.float32, sharding=spread)
    traced = m.jax.jit(p.bind).trace(x)
    traced.lower(lowering_platforms=("cpu",)).as_text(dialect="stablehlo")
    assert seen == [m.mlir.ShardingContext(1), m.mlir.ShardingContext(4)]
    assert all(isinstance(context, m.mlir.AxisContext) for context in seen)
    assert seen[0].device_assignment is seen[0].abstract_mesh is None


def test_the_program_of_one_device(m):
    p, seen = m.looked_at(lambda ctx: ctx.module_context.axis_context)
    mesh = m.jax.sharding.AbstractMesh((2, 2), ("x", "y"))
    spread = m.jax.sharding.NamedSharding(mesh, m.jax.sharding.PartitionSpec("x"))
    x = m.jax.ShapeDtypeStruct((8,), np.float32, sharding=spread)
    specs = m.jax.sharding.PartitionSpec()
    for names in ({"x", "y"}, {"x"}):
        f = m.jax.shard_map(
            p.bind, mesh=mesh, in_specs=specs, out_specs=specs, axis_names=names, check_vma=False
        )
        traced = m.jax.jit(f).trace(x)
        traced.lower(lowering_platforms=("cpu",)).as_text(dialect="stablehlo")
    assert [c.manual_axes for c in seen] == [{"x", "y"}, {"x"}]
    assert all(type(c) is m.mlir.SPMDAxisContext and c.mesh.axis_names == ("x", "y") for c in seen)
    mesh = m.mlir.Mesh(m.devices.reshape(1, 1), ("x", "y"))
    assert m.mlir.SPMDAxisContext(mesh) == m.mlir.SPMDAxisContext(mesh, frozenset())


def test_devices_are_as_many_as_said(m):
    with pytest.raises((ValueError, AssertionError)):
        m.mlir.ShardingContext(2, tuple(m.devices))


def test_sizes_that_are_not_known(m):
    def look(ctx):
        state = ctx.module_context.shape_poly_state
        return state.dim_vars, state.uses_dim_vars, state.has_platform_index_argument

    p, seen = m.looked_at(look)
    m.run(p.bind, np.ones(2, np.float32))
    x = m.jax.ShapeDtypeStruct(m.export.symbolic_shape("a, b"), np.float32)
    m.export.export(m.jax.jit(p.bind), platforms=["cpu"])(x)
    assert seen == [((), False, False), (("a", "b"), True, False)]
    state = m.mlir.ShapePolyLoweringState(("n",), ("cpu", "cuda"))
    assert state.dim_vars == ("_platform_index", "n")
    assert state.uses_dim_vars
    assert state.has_platform_index_argument


def test_parameters_of_lowering(m):
    p, seen = m.looked_at(
        lambda ctx: (ctx.module_context.lowering_parameters.for_export, ctx.is_forward_compat())
    )
    m.run(p.bind, np.float32(1))
    m.export.export(m.jax.jit(p.bind), platforms=["cpu"])(np.float32(1))
    assert seen == [(False, False), (True, True)]
    assert m.mlir.LoweringParameters() == m.mlir.LoweringParameters(None, False, False)
    with pytest.raises(AttributeError):
        m.mlir.LoweringParameters().for_export = True


def test_rules_that_come_before_others():
    """Of JAX's function, whose other arguments differ between versions, plugjax takes what has a meaning here."""
    from plugjax.interpreters import mlir

    program = plugjax.make_jaxpr(plugjax.lax.sin)(1.0)
    hlo = importlib.import_module("plugjax.extend.mlir.dialects").stablehlo
    asked = mlir.LoweringParameters(
        override_lowering_rules=((plugjax.lax.sin_p, lambda ctx, x, **_: [hlo.negate(x)]),)
    )
    found = mlir.lower_jaxpr_to_module("own", program, lowering_parameters=asked)
    assert "stablehlo.negate" in mlir.module_to_string(found.module)
    assert not found.shape_poly_state.uses_dim_vars


class Named:
    """A number with a name."""

    def __init__(self, number):
        self.number = number


class Derived(Named):
    """One of those."""


class Two(Named):
    """A number that is two values of MLIR."""


def test_constants_by_class(m):
    mlir, seen = m.mlir, []

    def handler(value, aval):
        seen.append(aval)
        return mlir.ir_constant(np.float32(value.number))

    handlers: list[mlir.ConstantHandler] = [handler]
    mlir.register_constant_handler(Named, handlers[0])
    mlir.register_constant_handler(Two, lambda value, aval: (handler(value, aval),) * 2)
    p = m.extend.Primitive("plus_named")
    p.def_abstract_eval(lambda x: x)
    aval = m.core.ShapedArray((), np.dtype(np.float32))

    def lower(ctx, x):
        (three,) = mlir.ir_constants(Named(3), aval=aval)
        five = mlir.ir_constant(Derived(5))
        first, second = mlir.ir_constants(Two(7))
        with pytest.raises(ValueError):
            mlir.ir_constant(Two(7))
        with pytest.raises(TypeError, match="No constant handler for type"):
            mlir.ir_constant(object())
        for y in (three, five, first, second):
            x = m.hlo.add(x, y)
        return [x]

    mlir.register_lowering(p, lower)
    compiled = m.run(p.bind, np.float32(1)).compile()
    assert float(compiled(np.float32(1))) == 23
    assert seen[:2] == [aval, None]


def test_types_by_class(m):
    mlir = m.mlir
    p = m.extend.Primitive("typed")
    p.def_abstract_eval(lambda x: x)

    class Pair:
        """The type of a value that is two arrays."""

    seen = []

    def lower(ctx, x):
        (aval,) = ctx.avals_in
        module = ctx.module_context
        one = mlir.ir_type_handlers[m.core.ShapedArray](aval)
        mlir.ir_type_handlers[Pair] = lambda pair: (one, one)
        seen.append([str(t) for t in mlir.aval_to_ir_types(module, Pair())])
        with pytest.raises(TypeError):
            mlir.aval_to_ir_type(module, Pair())
        with pytest.raises(TypeError, match="No ir_type_handler for aval type"):
            mlir.aval_to_ir_types(module, Named(1))
        assert mlir.aval_to_ir_type(module, aval) == x.type == one
        return [x]

    mlir.register_lowering(p, lower)
    m.run(p.bind, np.ones(3, np.float32))
    assert seen == [["tensor<3xf32>", "tensor<3xf32>"]]


def test_trees_of_values(m):
    p = m.extend.Primitive("trees")
    p.def_abstract_eval(lambda x: x)

    def lower(ctx, x):
        y = m.hlo.negate(x)
        operation = getattr(y, "owner", y)
        flat, tree = m.mlir.ir_tree_registry.flatten([x, (y, (x,))])
        assert flat == [x, y, x]
        assert tree.unflatten([1, 2, 3]) == [1, (2, (3,))]
        results, tree = m.mlir.ir_tree_registry.flatten(operation.results)
        assert tree.unflatten(results) == [y]
        assert m.mlir.ir_tree_registry.flatten({"a": x})[0] == [{"a": x}]
        return [y]

    m.mlir.register_lowering(p, lower)
    m.run(p.bind, np.float32(1))


def test_types_of_channels(m):
    p = m.extend.Primitive("channel")
    p.def_abstract_eval(lambda x: x)
    seen = []

    def lower(ctx, x):
        for kind in ("DEVICE_TO_DEVICE_TYPE", "SEND_TO_HOST_TYPE", "RECV_FROM_HOST_TYPE"):
            handle = m.hlo.ChannelHandle.get(1, getattr(m.mlir, kind))
            seen.append((handle.handle, handle.channel_type))
        return [x]

    m.mlir.register_lowering(p, lower)
    m.run(p.bind, np.float32(1))
    assert seen == [(1, 1), (1, 2), (1, 3)]
    assert m.mlir.MeshAxisName is not None
