"""Each hook is documented with its arguments, and works as documented."""

import inspect
import types

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.core import hookspecs, registry
from plugjax.core.errors import LoweringError
from plugjax.extend.backend import Backend, BackendSpec, Executable
from plugjax.extend.core import Device, Primitive
from plugjax.extend.registry import Registry
from plugjax.extend.rules import RuleSet, abstract_eval, hookimpl, impl

HOOKS = {
    "plugjax_rules": [],
    "plugjax_backends": [],
    "plugjax_array_methods": [],
    "plugjax_missing_rule": ["registry", "kind", "primitive", "platform"],
    "plugjax_host_program": ["jaxpr", "placement", "conversions", "otherwise"],
    "plugjax_jaxpr_passes": ["platform", "hardware"],
    "plugjax_compile": ["jaxpr", "device", "options"],
    "plugjax_fallback_policy": ["primitive", "platform"],
    "plugjax_instrument": ["program"],
    "plugjax_traces_ended": ["traces"],
    "plugjax_cache_miss": ["miss"],
    "plugjax_transfer": ["transfer"],
    "plugjax_options": [],
    "plugjax_exporters": [],
    "plugjax_numpy_namespaces": [],
    "plugjax_extensions": [],
    "plugjax_configure": ["config", "registry"],
}


def declared():
    return {n: f for n, f in vars(hookspecs).items() if n.startswith("plugjax_") and callable(f)}


def test_the_map_is_complete():
    assert {n: list(inspect.signature(f).parameters) for n, f in declared().items()} == HOOKS


@pytest.mark.parametrize("name", HOOKS)
def test_each_hook_is_documented(name):
    assert len(inspect.getdoc(declared()[name])) > 40


def extended(**hooks):
    """The active plugins and one more."""
    source = types.SimpleNamespace(__name__="extension", **hooks)
    return registry.use(registry.active().extended(source))


def test_a_plugin_writes_host_programs_its_own_way():
    seen = []

    @hookimpl
    def plugjax_host_program(jaxpr, placement, conversions, otherwise):
        seen.append(([eqn.primitive.name for eqn in jaxpr.eqns], placement.device, {*conversions}))
        return lambda *operands: "written" if len(seen) == 1 else otherwise(*operands)

    with extended(plugjax_host_program=plugjax_host_program), plugjax.default_device("numpy"):
        x = jnp.arange(3.0)
        assert x * 2.5 == "written"
        assert (x + x).tolist() == [0.0, 2.0, 4.0]
    assert seen[:2] == [(["mul"], x.device, {1}), (["add"], x.device, set())]


def test_array_methods_of_a_plugin_that_loads_after_the_first_operator():
    @hookimpl
    def plugjax_array_methods():
        return {"mean": lambda x: "mean", "add": lambda x, y: "sum", "T": lambda x: "transposed"}

    x = jnp.arange(3.0)

    def answers():
        return x + 1, x + x, x.mean(), x.T

    np.testing.assert_array_equal(answers()[1], [0, 2, 4])
    with extended(plugjax_array_methods=plugjax_array_methods):
        assert answers() == ("sum", "sum", "mean", "transposed")
        assert plugjax.make_jaxpr(lambda x: x * float(x.mean() == "mean"))(x).eqns
    np.testing.assert_array_equal(answers()[1], [0, 2, 4])
    # The same in the active registry, without an extended one.
    with extended() as built:
        np.testing.assert_array_equal(answers()[0], [1, 2, 3])
        late = types.SimpleNamespace(__name__="late", plugjax_array_methods=plugjax_array_methods)
        built.load(late)
        assert answers() == ("sum", "sum", "mean", "transposed")
    np.testing.assert_array_equal(answers()[2], 1)


def test_missing_rule_is_asked_once():
    p, asked = Primitive("odd"), []

    @hookimpl(tryfirst=True)
    def plugjax_missing_rule(registry, kind, primitive, platform):
        if primitive is p and kind is impl:
            asked.append(platform)
            return lambda x: x + 1
        return None

    with extended(plugjax_missing_rule=plugjax_missing_rule) as built:
        assert built.table(impl)[p](1) == 2
        assert built.table(impl)[p](2) == 3
    assert asked == [None]


def test_jaxpr_passes_see_whole_programs():
    seen = []

    @hookimpl
    def plugjax_jaxpr_passes(platform):
        def look(jaxpr):
            seen.append((platform, [e.primitive.name for e in jaxpr.eqns]))
            return jaxpr

        return [look]

    with extended(plugjax_jaxpr_passes=plugjax_jaxpr_passes), plugjax.default_device("numpy"):
        plugjax.jit(lambda x: jnp.sin(x) + 1)(np.float32(1))
    assert ("numpy", ["sin", "add"]) in seen


def test_compile_can_be_wrapped():
    names = []

    @hookimpl(wrapper=True)
    def plugjax_compile(jaxpr, device, options):
        names.append((str(device), options["name"]))
        result = yield
        assert isinstance(result, Executable)
        return result

    def g(x):
        return x * 2

    with extended(plugjax_compile=plugjax_compile), plugjax.default_device("numpy"):
        f = plugjax.jit(g)
        assert float(f(np.float32(3))) == 6
        f(np.float32(4))
    assert names == [("numpy:0", "g")]


def test_fallback_policy_decides_per_primitive():
    p, rules = Primitive("kernel_only"), RuleSet("tests")
    rules.define(abstract_eval, p)(lambda x: x)
    rules.define(impl, p)(lambda x: x + 1)

    def policy(answer):
        @hookimpl
        def plugjax_fallback_policy(primitive, platform):
            return answer if primitive is p else None

        return plugjax_fallback_policy

    given = hookimpl(lambda: [rules])
    with extended(plugjax_rules=given, plugjax_fallback_policy=policy("silent")):
        f = plugjax.jit(p.bind, device="xla")
        assert float(f(np.float32(1))) == 2
    with (
        extended(plugjax_rules=given, plugjax_fallback_policy=policy("error")),
        pytest.raises(LoweringError, match="kernel_only"),
    ):
        plugjax.jit(p.bind, device="xla")(np.float32(1))


def test_configure_is_called_after_discovery():
    seen = []

    @hookimpl
    def plugjax_configure(config):
        seen.append(config)

    built = Registry().load(types.SimpleNamespace(plugjax_configure=plugjax_configure))
    built.discover()
    assert seen == [plugjax.config]


class ToyBackend(Backend):
    """A backend from outside: it only compiles, and the host does not see its memory."""

    name = "toy"

    def __init__(self):
        self._devices = (Device(self, "", 0, "a toy", host_visible=False),)
        self.compiled = []

    def devices(self):
        return self._devices

    def put(self, value, device):
        return ("toy", np.array(value))

    def get(self, buffer, aval, device):
        return buffer[1]

    def compile(self, jaxpr, device, options):
        self.compiled.append([e.primitive.name for e in jaxpr.eqns])
        from plugjax_numpy.codegen import generate

        function = generate(jaxpr).function

        class Program(Executable):
            def run(self, buffers):
                return [("toy", np.asarray(y)) for y in function(*[b[1] for b in buffers])]

        return Program()


def test_a_backend_that_only_compiles_is_complete():
    backend = ToyBackend()
    given = hookimpl(lambda: [BackendSpec("toy", lambda: backend)])
    with extended(plugjax_backends=given):
        with plugjax.default_device("toy:0"):
            x = jnp.arange(3.0)
            y = jnp.sin(x) * 2
        assert str(y.device) == "toy:0"
        np.testing.assert_allclose(y, np.sin(np.arange(3.0)) * 2, rtol=1e-6)
        assert ["sin"] in backend.compiled
        assert float(plugjax.grad(plugjax.jit(lambda x: jnp.sum(x * x), device="toy"))(x)[1]) == 2
