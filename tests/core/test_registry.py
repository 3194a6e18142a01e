"""Plugins, rule tables, conflicts, missing rules, discovery."""

import importlib.metadata
import types

import numpy as np
import pytest

import plugjax
from plugjax.core import registry
from plugjax.core.errors import (
    MissingRuleError,
    PluginWarning,
    RuleAbsentError,
    RuleConflictError,
)
from plugjax.extend.core import Primitive
from plugjax.extend.registry import Registry
from plugjax.extend.rules import LazyRules, PluginInfo, RuleKind, RuleSet, hookimpl, impl, jvp_rule
from tests.core.plugin_site import Site


def plugin(*rule_sets, name="a plugin"):
    module = types.SimpleNamespace(plugjax_plugin=PluginInfo(name))
    module.plugjax_rules = hookimpl(lambda: list(rule_sets))
    return module


def rule_set(kind, primitive, function=lambda x: x, **options):
    rules = RuleSet("tests")
    rules.define(kind, primitive, **options)(function)
    return rules


def test_importing_a_rule_set_changes_nothing():
    twice_p = Primitive("twice")
    rule_set(impl, twice_p)
    assert twice_p not in registry.table(impl)


def test_a_table_holds_the_rules_of_loaded_plugins():
    twice_p = Primitive("twice")
    built = Registry().load(plugin(rule_set(impl, twice_p, lambda x: x + x)))
    assert built.table(impl)[twice_p](2) == 4
    assert built.where(impl, twice_p).startswith("a plugin: tests:")


def test_two_rules_for_one_cell_name_both_providers():
    p = Primitive("contested")
    first, second = (
        plugin(rule_set(impl, p), name="first"),
        plugin(rule_set(impl, p), name="second"),
    )
    built = Registry().load(first)
    with pytest.raises(RuleConflictError, match=r"contested.*'first'.*'second'"):
        built.load(second)
    # Nothing is half-done: the first rule is still there, and the second plugin is not.
    assert built.where(impl, p).startswith("first")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_rule_may_be_declared_to_replace_another(order):
    p = Primitive("replaced")
    plain = plugin(rule_set(impl, p, lambda x: "plain"), name="plain")
    better = plugin(rule_set(impl, p, lambda x: "better", replace=True), name="better")
    both = (plain, better)
    built = Registry().load(*(both[i] for i in order))
    assert built.table(impl)[p](0) == "better"


def test_a_missing_rule_says_kind_primitive_signature_and_the_line_to_write():
    p = Primitive("lonely")
    with pytest.raises(MissingRuleError) as caught:
        Registry().table(jvp_rule)[p]
    message = str(caught.value)
    assert "no jvp rule for primitive 'lonely'" in message
    assert "@rules.define(jvp, lonely_p)" in message
    assert jvp_rule.signature in message


def test_an_absent_rule_gives_its_reason():
    p, rules = Primitive("floorish"), RuleSet("tests")
    rules.absent(jvp_rule, p, because="integers have no tangent")
    with pytest.raises(RuleAbsentError, match="integers have no tangent"):
        Registry().load(plugin(rules)).table(jvp_rule)[p]()


def test_platform_rules_shadow_the_default():
    p, rules = Primitive("both"), RuleSet("tests")
    kind = RuleKind("code", "() -> text")
    rules.define(kind, p)(lambda: "default")
    rules.define(kind, p, platform="moon")(lambda: "moon")
    built = Registry().load(plugin(rules))
    assert built.table(kind)[p]() == "default"
    assert built.table(kind, "moon")[p]() == "moon"
    assert built.table(kind, "mars")[p]() == "default"


def test_lazy_rules_are_loaded_when_their_kind_is_first_needed():
    p, loads = Primitive("lazy"), []

    def load():
        loads.append(1)
        return [rule_set(impl, p, lambda: "here")]

    source = types.SimpleNamespace()
    source.plugjax_rules = hookimpl(lambda: [LazyRules(kinds=("impl",), load=load)])
    built = Registry().load(source)
    built.table(jvp_rule)
    assert not loads
    assert built.table(impl)[p]() == "here"
    built.table(impl)
    assert len(loads) == 1


def test_lazy_rules_without_what_they_need_are_left_out():
    source = types.SimpleNamespace()
    lazy = LazyRules(kinds=("impl",), load=lambda: 1 / 0, needs=("no_such_module",))
    source.plugjax_rules = hookimpl(lambda: [lazy])
    assert not Registry().load(source).table(impl)


def test_loading_a_plugin_changes_the_generation_and_the_tables():
    p = Primitive("late")
    built = Registry()
    table, generation = built.table(impl), built.generation
    built.load(plugin(rule_set(impl, p)))
    assert built.generation > generation
    assert p in table


def test_a_third_kind_of_rule_from_outside():
    """Transformations declare their own rule kinds."""
    flops = RuleKind("flops", "(*avals, **params) -> int")
    rules = RuleSet("tests")
    from plugjax.lax import sin_p

    rules.define(flops, sin_p)(lambda x: 10 * x.size)
    built = Registry().load(plugin(rules))
    assert built.table(flops)[sin_p](plugjax.typeof(np.ones(3))) == 30


def test_an_extended_registry_has_the_plugins_of_its_source_and_more():
    p, q = Primitive("first"), Primitive("second")
    first, second = (
        plugin(rule_set(impl, p), name="first"),
        plugin(rule_set(impl, q), name="second"),
    )
    source = Registry().load(first)
    built = source.extended(second)
    assert [each.name for each in source.plugins] == ["first"]
    assert [each.name for each in built.plugins] == ["first", "second"]
    assert {*built.table(impl)} == {p, q}
    assert {*source.table(impl)} == {p}
    assert {*built.extended(without=iter(["first"])).table(impl)} == {q}


class TestDiscovery(Site):
    """What is found, and what is not even read."""

    def test_a_broken_plugin_is_named_and_skipped(self, site):
        folder = site("broken_one", "raise RuntimeError('oh no')")
        code = "import plugjax.numpy as jnp; print(float(jnp.sin(0.0) + 1))"
        out, err = self.run(folder, code, PLUGJAX_BACKEND="numpy")
        assert out.strip() == "1.0"
        assert "broken_one" in err
        assert "dist-broken_one 1.2" in err
        assert "oh no" in err
        assert PluginWarning.__name__ in err

    def test_another_api_version_is_skipped(self, site):
        source = (
            "from plugjax.extend import PluginInfo\n"
            "plugjax_plugin = PluginInfo('old', api_version=0)\n"
        )
        folder = site("old_one", source)
        code = "from plugjax.extend import registry; print([p.name for p in registry.active().plugins if p.error])"
        out, err = self.run(folder, code)
        assert out.strip() == "['old_one']"
        assert "plugin API 0" in err

    def test_a_blocked_plugin_is_never_imported(self, site):
        folder = site("blocked_one", "raise SystemExit('imported')")
        code = "from plugjax.extend import registry; print([p.name for p in registry.active().plugins if p.blocked])"
        out, err = self.run(folder, code, PLUGJAX_NO_PLUGINS="blocked_one")
        assert out.strip() == "['blocked_one']"
        assert not err

    def test_only_chosen_plugins(self, site):
        folder = site("other_one", "raise SystemExit('imported')")
        code = "from plugjax.extend import registry; print(sorted(p.name for p in registry.active().plugins if not p.blocked))"
        out, _ = self.run(folder, code, PLUGJAX_PLUGINS="lax,numpy")
        assert out.strip() == "['calls', 'lax', 'numpy']"

    def test_an_extended_registry_names_what_is_not_in_force(self, site):
        site("broken_one", "raise RuntimeError('oh no')")
        folder = site("blocked_one", "raise SystemExit('imported')")
        code = (
            "from plugjax.extend import Primitive, impl, registry\n"
            "built = registry.active().extended(without=['broken_two'])\n"
            "print(built.missing_message(impl, Primitive('lonely'), None).splitlines()[0])\n"
            "print(registry.active().extended(without=['broken_one', 'blocked_one']).asleep())"
        )
        out, _ = self.run(folder, code, PLUGJAX_NO_PLUGINS="blocked_one")
        named = (
            " Blocked by PLUGJAX_PLUGINS or PLUGJAX_NO_PLUGINS: blocked_one. Broken: broken_one."
        )
        assert out == f"no impl rule for primitive 'lonely'.{named}\n\n"

    def test_a_plugin_that_is_loaded_by_hand_is_not_asleep(self, site):
        source = "from plugjax.extend import PluginInfo\nplugjax_plugin = PluginInfo('blocked_one')"
        folder = site("blocked_one", source)
        code = (
            "import blocked_one; from plugjax.extend import registry\n"
            "built = registry.active().extended(blocked_one)\n"
            "print([built.asleep(), [p.blocked for p in built.plugins if p.name == 'blocked_one']])"
        )
        out, _ = self.run(folder, code, PLUGJAX_NO_PLUGINS="blocked_one")
        assert out == "['', [False]]\n"

    def test_our_own_plugins_come_by_entry_points(self):
        names = {e.name for e in importlib.metadata.entry_points(group="plugjax")}
        assert {"calls", "lax", "numpy_api", "random", "stablehlo", "numpy", "xla", "iree"} <= names


def test_generation_changes_compiled_programs():
    """Functions that are already compiled use a rule that is replaced at run time."""
    from plugjax.lax import sin_p

    f = plugjax.jit(lambda x: sin_p.bind(x))
    with plugjax.default_device("numpy"):
        before = float(f(np.float32(1.0)))
        active = registry.active()
        rules = rule_set(impl, sin_p, lambda x: x * 0 + 42, replace=True)
        built = active.extended()
        built.load(plugin(rules, name="replacement"))
        key = plugjax.config.fingerprint
        with registry.use(built):
            assert float(f(np.float32(1.0))) == 42
            # The generation is part of the fingerprint, which every key holds.
            changed = plugjax.config.fingerprint
            assert changed is not key
            assert (changed.generation, changed.options) == (built.generation, key.options)
        assert plugjax.config.fingerprint is key
        assert float(f(np.float32(1.0))) == before


def test_generation_changes_derived_programs_and_eager_entries():
    """Programs derived, and eager entries cached, under other rules are not used."""
    from plugjax.extend.rules import batching_rule
    from plugjax.lax import sin_p

    x = np.ones(3, np.float32)
    program = plugjax.jit(lambda x: sin_p.bind(x))
    traced = plugjax.make_jaxpr(program)(np.float32(1))
    mapped = plugjax.vmap(plugjax.extend.core.jaxpr_as_fun(traced))
    with plugjax.default_device("numpy"):
        (before,) = mapped(x)
        eager = float(sin_p.bind(np.float32(1.0)))
        built = registry.active().extended()

        def negated(axis, args, dims):
            return sin_p.bind(args[0] * -1), dims[0]

        built.load(plugin(rule_set(batching_rule, sin_p, negated, replace=True), name="negated"))
        built.load(plugin(rule_set(impl, sin_p, lambda x: x + 2, replace=True), name="plus"))
        with registry.use(built):
            assert float(sin_p.bind(np.float32(1.0))) == 3.0
            np.testing.assert_array_equal(mapped(x)[0], np.ones(3))
        np.testing.assert_array_equal(mapped(x)[0], before)
        assert float(sin_p.bind(np.float32(1.0))) == eager
