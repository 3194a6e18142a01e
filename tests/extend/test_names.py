"""JAX's names of ``jax.extend`` are here, with JAX's meaning; those that are not are listed."""

import functools
import importlib
from functools import partial

import jax
import numpy as np
import pytest
from jaxlib import xla_client

import plugjax
from plugjax.extend import backend as backend_module, core, source_info_util

# What belongs to XLA's runtime, to JAX's own representation of traces, or to several devices.
ABSENT = {
    "core": set(),
    "linear_util": set(),
    "random": set(),
    "sharding": {"xla_client"},
    "lowering": set(),
    "mlir": set(),
    "mlir.dialects": set(),
    "mlir.ir": set(),
    "mlir.passmanager": set(),
    "backend": set(),
    "source_info_util": set(),
    "xla": set(),
    "ifrt_programs": set(),
}  # fmt: skip


# Submodules, which are attributes once something has imported them.
SUBMODULES = {"dialects", "passmanager"}


def public(module):
    return {name for name in dir(module) if not name.startswith("_")} - SUBMODULES


@pytest.mark.parametrize("name", ABSENT)
def test_names(name):
    theirs = public(importlib.import_module(f"jax.extend.{name}"))
    ours = public(importlib.import_module(f"plugjax.extend.{name}"))
    assert theirs - ours == ABSENT[name]


def test_primitives():
    theirs = public(importlib.import_module("jax.extend.core.primitives"))
    found = {n: getattr(core.primitives, n) for n in theirs if hasattr(core.primitives, n)}
    left = {"empty2_p"}
    assert theirs - set(found) == left
    assert core.primitives.sin_p is plugjax.lax.sin_p
    assert core.primitives.remat_p is plugjax.extend.calls.checkpoint_p
    assert core.primitives.scatter_add_p.name == "scatter-add"
    assert "scan_p" in dir(core.primitives)
    with pytest.raises(AttributeError, match="no plugin in force has a primitive 'sinn'"):
        _ = core.primitives.sinn_p


def nested(framework):
    return framework.make_jaxpr(
        framework.jit(lambda x: framework.lax.cond(x > 0, lambda y: y, lambda y: -y, x))
    )(1.0)


@pytest.fixture(params=[jax, plugjax], ids=["jax", "plugjax"])
def framework(request):
    importlib.import_module(f"{request.param.__name__}.extend.core")
    importlib.import_module(f"{request.param.__name__}.core")
    importlib.import_module(f"{request.param.__name__}.dtypes")
    return request.param


def test_programs_within_programs(framework):
    extend, program = framework.extend.core, nested(framework)
    (call,) = program.eqns
    (inner,) = extend.subjaxprs(program.jaxpr)
    assert inner is call.params["jaxpr"].jaxpr
    assert len(list(extend.jaxprs_in_params(inner.eqns[-1].params))) == 2
    extend.check_jaxpr(program.jaxpr)
    assert [float(y) for y in extend.jaxpr_as_fun(program)(-2.0)] == [2.0]


@pytest.mark.filterwarnings("ignore:.*missing a DebugInfo:DeprecationWarning")
def test_a_program_can_be_built_from_parts(framework):
    extend = framework.extend.core
    aval = framework.core.ShapedArray((), np.dtype(np.float32))
    new = extend.gensym()
    x, y = new(aval), new(aval)
    eqn = extend.new_jaxpr_eqn([x, x], [y], framework.lax.add_p, {}, extend.no_effects)
    program = extend.Jaxpr([], [x], [y], [eqn])
    assert [float(v) for v in extend.jaxpr_as_fun(extend.ClosedJaxpr(program, []))(3.0)] == [6.0]


def test_avals_along_an_axis(framework):
    extend = framework.extend.core
    aval = framework.core.ShapedArray((3, 4), np.dtype(np.float32))
    assert extend.mapped_aval(4, 1, aval).shape == (3,)
    assert extend.unmapped_aval(5, 1, aval).shape == (3, 5, 4)
    assert extend.unmapped_aval(5, None, aval).shape == (3, 4)
    assert extend.primal_dtype_to_tangent_dtype(np.dtype(np.int32)) == framework.dtypes.float0
    assert extend.primal_dtype_to_tangent_dtype(np.dtype(np.float32)) == np.float32


def test_values(framework):
    extend = framework.extend.core
    assert extend.valid_jaxtype(1.0)
    assert not extend.valid_jaxtype("one")
    assert np.ndarray in extend.array_types
    assert extend.concrete_or_error(int, 3.0) == 3
    error = framework.errors.ConcretizationTypeError
    with pytest.raises(error, match="for the test"):
        framework.jit(lambda x: extend.concrete_or_error(None, x, "for the test"))(1.0)


def test_the_state_of_traces(framework):
    extend, seen = framework.extend.core, []
    outside = extend.get_opaque_trace_state(convention="test")

    def look(x):
        seen.append(
            (
                extend.unsafe_am_i_under_a_jit_DO_NOT_USE(),
                extend.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                extend.nonempty_axis_env_DO_NOT_USE(),
                list(extend.unsafe_get_axis_names_DO_NOT_USE()),
                extend.get_opaque_trace_state(convention="test") == outside,
            )
        )
        return x

    look(1.0)
    framework.jit(look)(1.0)
    framework.vmap(look, axis_name="i")(np.ones(2, np.float32))
    assert seen == [
        (False, False, False, [], True),
        (True, False, False, [], False),
        (False, True, True, ["i"], False),
    ]


def test_the_state_of_traces_is_not_that_of_the_configuration(framework):
    look = partial(framework.extend.core.get_opaque_trace_state, convention="test")
    outside = look()
    mesh = framework.make_mesh((1,), ("x",), axis_types=(framework.sharding.AxisType.Auto,))
    with framework.set_mesh(mesh):
        assert look() == outside
    with framework.sharding.use_abstract_mesh(mesh.abstract_mesh):
        assert look() == outside
    with framework.disable_jit(), framework.enable_x64(True):
        assert look() == outside


def test_a_trace_can_be_taken_and_set(framework):
    extend = framework.extend.core

    def f(x):
        with extend.take_current_trace() as trace:
            two = framework.numpy.add(1.0, 1.0)
            assert float(two) == 2.0
            with extend.set_current_trace(trace):
                return x * two

    assert float(framework.jit(f)(3.0)) == 6.0


def test_backends():
    found = backend_module.backends()
    assert {"numpy", "xla", "iree"} <= set(found)
    assert found["numpy"] is backend_module.get_backend("numpy")
    assert backend_module.get_default_device() == plugjax.numpy.ones(2).device


def test_a_cache_is_emptied_with_the_others(framework):
    backend = importlib.import_module(f"{framework.__name__}.extend.backend")
    seen = []
    cached = functools.lru_cache(lambda x: seen.append(x))
    backend.register_backend_cache(cached, "a test")
    cached(1), cached(1)
    framework.clear_caches()
    cached(1)
    assert seen == [1, 1]


def test_versions_of_xla(framework):
    backend = importlib.import_module(f"{framework.__name__}.extend.backend")
    assert backend.backend_xla_version() is None
    with pytest.raises(RuntimeError):
        backend.backend_xla_version("no such backend")


def test_options_of_the_compiler(framework):
    name = framework.__name__
    backend = importlib.import_module(f"{name}.extend.backend")
    pxla = importlib.import_module(f"{name}.interpreters.pxla")
    devices = np.array(framework.devices("xla" if framework is plugjax else "cpu")[:1], object)
    program = jax.jit(lambda x: x).lower(1.0).compiler_ir("stablehlo")
    for found in (
        backend.get_compile_options(1, 1, devices),
        backend.get_compile_options(num_replicas=1, num_partitions=1),
        pxla.create_compile_options(program, True, [True], [False], None, devices, {}),
    ):
        assert (found.num_replicas, found.num_partitions) == (1, 1)
        assert found.executable_build_options.use_spmd_partitioning
    assert found.parameter_is_tupled_arguments
    build = found.executable_build_options
    assert list(build.allow_spmd_sharding_propagation_to_parameters) == [True]
    assert list(build.allow_spmd_sharding_propagation_to_output) == [False]
    for replicas, partitions in ((2, 1), (1, 2)):
        with pytest.raises(ValueError, match="device_assignment does not match num_"):
            backend.get_compile_options(replicas, partitions, [[0]])


def test_contexts_of_lowerings(framework):
    extend = importlib.import_module(f"{framework.__name__}.extend.lowering")
    mlir = importlib.import_module(f"{framework.__name__}.interpreters.mlir")
    ir = importlib.import_module(f"{framework.__name__}.extend.mlir.ir")
    assert extend.LoweringRuleContext is mlir.LoweringRuleContext
    assert isinstance(extend.upstream_dialects, ir.DialectRegistry)
    p = importlib.import_module(f"{framework.__name__}.extend.core").Primitive("context")
    p.def_abstract_eval(lambda x: x)

    def lower(ctx, x):
        seen.append((type(ctx), type(ctx.module_context.context)))
        return [x]

    seen = []
    mlir.register_lowering(p, lower)
    device = framework.devices("xla" if framework is plugjax else "cpu")[0]
    with framework.default_device(device):
        framework.jit(p.bind).lower(1.0).as_text(dialect="stablehlo")
    assert seen == [(extend.LoweringRuleContext, extend.JaxIrContext)]
    assert issubclass(extend.JaxIrContext, ir.Context)


def test_sources():
    source = source_info_util.current()
    assert source_info_util.summarize(source).startswith(__file__)
    with source_info_util.extend_name_stack("outer"), plugjax.named_scope("inner"):
        assert str(source_info_util.current_name_stack()) == "outer/inner"
    assert len(source_info_util.current_name_stack()) == 0


def test_shardings_as_bytes(framework):
    sharding = importlib.import_module(f"{framework.__name__}.extend.sharding")
    tiled = xla_client.HloSharding.iota_tile((2, 4))
    data = sharding.get_serialized_proto_from_hlo_sharding(tiled)
    assert sharding.get_hlo_sharding_from_serialized_proto(data) == tiled
    assert sharding.get_op_sharding_from_serialized_proto(data).SerializeToString() == data


def test_passes_over_hlo():
    from plugjax.extend import xla

    seen = []

    def look(stage):
        return lambda module: seen.append((stage, b"sine" in module or b"sin" in module))

    before, after = xla.PipelineStage
    xla.register_hlo_module_transformation(look(before), name="test look")
    xla.register_hlo_module_transformation(
        look(after), name="test look", stage=after, platforms="cpu"
    )
    f = lambda x: plugjax.numpy.sin(x) + 3  # noqa: E731
    try:
        # A second compilation asks the compiler again, and not the cache.
        for _ in range(2):
            plugjax.clear_caches()
            assert plugjax.jit(f, device="xla")(0.0) == 3
    finally:
        cleared = [
            xla.clear_hlo_module_transformation("test look", stage) for stage in xla.PipelineStage
        ]
    assert seen == [(before, True), (after, True)] * 2
    assert cleared == [True, True]
    assert not xla.clear_hlo_module_transformation("test look")
    plugjax.clear_caches()
    plugjax.jit(f, device="xla")(0.0)
    assert len(seen) == 4
    with pytest.raises(TypeError, match="PipelineStage"):
        xla.register_hlo_module_transformation(look(0), name="x", stage=0)
    with pytest.raises(NotImplementedError, match="processor"):
        xla.register_hlo_module_transformation(look(0), name="x", platforms=["tpu"])
