"""Plugins from outside that fail, conflict, or are blocked: the error names the culprit, and the rest works."""

import pytest

from tests.core.plugin_site import Site

HOOK_FAULTS = {
    "plugjax_backends": ("def plugjax_backends(): raise {error}", "jnp.sin(0.0)"),
    "plugjax_array_methods": ("def plugjax_array_methods(): raise {error}", "jnp.ones(2) + 1"),
    "plugjax_missing_rule": (
        "def plugjax_missing_rule(registry, kind, primitive, platform): raise {error}",
        "registry.table(extend.jvp_rule).find(extend.Primitive('unheard_of'))",
    ),
    "plugjax_jaxpr_passes": (
        "def plugjax_jaxpr_passes(platform): raise {error}",
        "plugjax.jit(jnp.sin)(1.0)",
    ),
    "plugjax_host_program": (
        "def plugjax_host_program(jaxpr, placement): raise {error}",
        "jnp.ones(2) + 1",
    ),
    "plugjax_compile": (
        "def plugjax_compile(jaxpr, device, options): raise {error}",
        "plugjax.jit(jnp.sin)(1.0)",
    ),
    "plugjax_fallback_policy": (
        "def plugjax_fallback_policy(primitive, platform): raise {error}",
        "__import__('plugjax.stablehlo.host_call', fromlist=['x']).fallback_policy(lax.sin_p, 'xla')",
    ),
    "plugjax_instrument": (
        "def plugjax_instrument(program): raise {error}",
        "plugjax.jit(jnp.sin)(1.0)",
    ),
    "plugjax_traces_ended": (
        "def plugjax_traces_ended(traces): raise {error}",
        "\nwith plugjax.checking_leaks(): plugjax.jit(jnp.sin)(1.0)",
    ),
    "plugjax_cache_miss": (
        "def plugjax_cache_miss(miss): raise {error}",
        "\nwith plugjax.explain_cache_misses(): plugjax.jit(jnp.sin)(1.0)",
    ),
    "plugjax_options": ("def plugjax_options(): raise {error}", "jnp.sin(0.0)"),
    "plugjax_exporters": (
        "def plugjax_exporters(): raise {error}",
        "__import__('plugjax.extend.execution', fromlist=['x']).exporter('iree')",
    ),
    "plugjax_numpy_namespaces": (
        "def plugjax_numpy_namespaces(): raise {error}",
        "__import__('numpy').sin(jnp.ones(1))",
    ),
    "plugjax_extensions": (
        "def plugjax_extensions(): raise {error}",
        "__import__('plugjax.extend.random', fromlist=['x']).threefry_prng_impl",
    ),
    "plugjax_configure": ("def plugjax_configure(config): raise {error}", "jnp.sin(0.0)"),
}

AFTER = (
    "import plugjax, plugjax.numpy as jnp\n"
    "from plugjax import extend, lax\n"
    "from plugjax.extend import registry\n"
    "{use}\n"
    "assert float(plugjax.jit(lambda x: jnp.sin(x) * 2)(1.0)) > 1.6\n"
    "assert float(jnp.sum(jnp.arange(4.0) + 1)) == 10\n"
    "print(sorted(registry.active().backends()))\n"
)


class TestFaults(Site):
    """A failing plugin from outside is named, and everything else works."""

    @pytest.mark.spread(12)
    @pytest.mark.parametrize("error", ["RuntimeError('oh no')", "SystemExit('oh no')"])
    @pytest.mark.parametrize("hook", HOOK_FAULTS)
    def test_an_error_in_a_hook_is_charged_to_its_plugin(self, site, hook, error):
        source, use = HOOK_FAULTS[hook]
        text = "from plugjax.extend import hookimpl\n@hookimpl\n" + source.format(error=error)
        out, err = self.run(site("aaa", text), AFTER.format(use=use), PLUGJAX_BACKEND="numpy")
        assert out.strip() == "['iree', 'numpy', 'xla']"
        assert f"plugin 'aaa' of distribution dist-aaa 1.2 failed in {hook}" in err
        assert "oh no" in err
        assert err.count("failed in") == 1

    def test_a_plugin_that_holds_the_configuration_declares_the_option_that_is_asked_for(
        self, site
    ):
        text = (
            "from plugjax.extend import hookimpl\n"
            "from plugjax.extend.core import Option, boolean, config\n"
            "@hookimpl\ndef plugjax_options(): return [Option('loud', True, boolean)]\n"
        )
        out, err = self.run(site("aaa", text), "import plugjax; print(plugjax.config.loud)")
        assert (out, err) == ("True\n", "")

    @pytest.mark.spread(6)
    @pytest.mark.parametrize(
        ("hook", "arguments", "answer"),
        [
            ("backends", "", "[1]"),
            ("backends", "", "7"),
            ("array_methods", "", "{'add': 3}"),
            ("jaxpr_passes", "platform", "[None]"),
            ("jaxpr_passes", "platform", "[lambda jaxpr: None]"),
            ("jaxpr_passes", "platform", "[lambda jaxpr: 1 / 0]"),
            ("host_program", "jaxpr, otherwise", "3"),
            ("options", "", "[1]"),
            ("exporters", "", "{'iree': 3}"),
            ("numpy_namespaces", "", "['numpy']"),
            ("compile", "jaxpr, device, options", "'code'"),
            ("instrument", "program", "[1]"),
            ("instrument", "program", "lambda call: None"),
            ("instrument", "program", "lambda call: 1 / 0"),
        ],
    )
    def test_an_answer_of_the_wrong_kind_is_charged_too(self, site, hook, arguments, answer):
        text = (
            "from plugjax.extend import hookimpl\n"
            f"@hookimpl\ndef plugjax_{hook}({arguments}): return {answer}\n"
        )
        code = AFTER.format(
            use="from plugjax.extend.execution import exporter; import numpy as np; exporter('iree'); "
            "plugjax.jit(jnp.sin)(1.0); jnp.ones(2) + 1; np.sin(jnp.ones(1))"
        )
        out, err = self.run(site("aaa", text), code, PLUGJAX_BACKEND="numpy")
        assert out.strip() == "['iree', 'numpy', 'xla']"
        assert f"plugin 'aaa' of distribution dist-aaa 1.2 failed in plugjax_{hook}" in err

    @pytest.mark.parametrize(
        "body",
        [
            "raise ValueError('oh no')",
            "yield; raise ValueError('oh no')",
            "yield; yield",
            "yield; return 'nothing that runs'",
            "return\n    yield",
        ],
    )
    def test_a_wrapper_of_compilations_that_fails_is_left_out(self, site, body):
        text = (
            "from plugjax.extend import hookimpl\n@hookimpl(wrapper=True)\n"
            f"def plugjax_compile(jaxpr, device, options):\n    {body}\n    yield\n"
        )
        out, err = self.run(site("aaa", text), AFTER.format(use=""), PLUGJAX_BACKEND="numpy")
        assert out.strip() == "['iree', 'numpy', 'xla']"
        assert "plugin 'aaa' of distribution dist-aaa 1.2 failed in plugjax_compile" in err

    def test_a_wrapper_sees_what_fails_inside_and_does_not_hide_it(self, site):
        text = (
            "from plugjax.extend import hookimpl\n@hookimpl(wrapper=True)\n"
            "def plugjax_compile(jaxpr, device, options):\n"
            "    try:\n        return (yield)\n    finally:\n        print('seen')\n"
        )
        code = (
            "import plugjax, plugjax.numpy as jnp\n"
            "from plugjax.core.errors import JaxRuntimeError\n"
            "try:\n    plugjax.jit(jnp.sin, compiler_options={'xla_no_such_flag': 1})(1.0)\n"
            "except Exception as error:\n    print(type(error).__name__)\n"
        )
        out, err = self.run(site("aaa", text), code, PLUGJAX_BACKEND="xla")
        assert out.split() == ["seen", "JaxRuntimeError"]
        assert "failed in" not in err

    def test_a_refusal_of_a_program_is_no_fault(self, site):
        text = (
            "from plugjax.extend import hookimpl\nfrom plugjax.core.errors import LoweringError\n"
            "def refuse(jaxpr): raise LoweringError('not this one')\n"
            "@hookimpl\ndef plugjax_jaxpr_passes(platform): return [refuse]\n"
        )
        code = (
            "import plugjax, plugjax.numpy as jnp\n"
            "try:\n    plugjax.jit(jnp.sin)(1.0)\n"
            "except RuntimeError as error:\n    print(error)\n"
        )
        out, err = self.run(site("aaa", text), code, PLUGJAX_BACKEND="numpy")
        assert "not this one" in out
        assert "failed in" not in err

    @pytest.mark.spread(6)
    @pytest.mark.parametrize(
        "text",
        [
            "raise SystemExit('oh no')",
            "raise BaseException('oh no')",
            "import oh_no_such_module",
            "oh no",
            "from plugjax.extend import hookimpl\n@hookimpl\ndef plugjax_rules(): raise SystemExit('oh no')",
            "from plugjax.extend import hookimpl\n@hookimpl\ndef plugjax_rules(): return ['oh no']",
            "from plugjax.extend import hookimpl\n@hookimpl\ndef plugjax_configure(oh_no): pass",
        ],
    )
    def test_what_cannot_be_loaded_is_skipped(self, site, text):
        out, err = self.run(site("aaa", text), AFTER.format(use=""), PLUGJAX_BACKEND="numpy")
        assert out.strip() == "['iree', 'numpy', 'xla']"
        assert "plugin 'aaa' of distribution dist-aaa 1.2 was skipped" in err

    def test_half_of_a_plugin_is_not_registered(self, site):
        text = (
            "from plugjax.extend import hookimpl\n"
            "@hookimpl\ndef plugjax_array_methods(): return {'add': lambda x, y: 'stolen'}\n"
            "@hookimpl\ndef plugjax_instrument(no_such_argument): pass\n"
        )
        out, err = self.run(site("aaa", text), AFTER.format(use=""), PLUGJAX_BACKEND="numpy")
        assert out.strip() == "['iree', 'numpy', 'xla']"
        assert "was skipped" in err

    def test_ctrl_c_at_import_is_not_swallowed(self, site):
        folder = site("aaa", "raise KeyboardInterrupt")
        code = (
            "import plugjax.numpy as jnp\n"
            "try:\n    jnp.sin(0.0)\nexcept KeyboardInterrupt:\n    print('stopped')\n"
        )
        assert self.run(folder, code)[0].strip() == "stopped"

    SECOND_RULES = (
        "from plugjax.extend import RuleSet, hookimpl, impl, jvp_rule, lowering, LazyRules, Primitive, abstract_eval\n"
        "from plugjax.lax import sin_p\n"
        "rules = RuleSet('aaa')\n"
        "own_p = Primitive('own')\n"
        "rules.define(abstract_eval, own_p)(lambda x: x)\n"
        "rules.define({kind}, sin_p)(lambda *a, **k: 1 / 0)\n"
        "@hookimpl\ndef plugjax_rules(): return [{given}]\n"
    )

    @pytest.mark.spread(6)
    @pytest.mark.parametrize("name", ["aaa", "zzz"])
    @pytest.mark.parametrize(
        ("machine", "kind", "given"),
        [
            ("numpy", "impl", "rules"),
            ("xla", "impl", "rules"),
            ("numpy", "jvp_rule", "rules"),
            # A lowering that is never used does no harm, and is not checked.
            ("xla", "lowering", "rules"),
            ("numpy", "impl", "LazyRules(kinds=('impl',), load=lambda: [rules])"),
            ("xla", "impl", "LazyRules(kinds=('abstract_eval',), load=lambda: [rules])"),
        ],
    )
    def test_a_second_rule_for_a_cell_takes_its_plugin_out_and_nothing_else(
        self, site, name, machine, kind, given
    ):
        text = self.SECOND_RULES.format(kind=kind, given=given)
        use = "print(float(plugjax.jit(plugjax.grad(jnp.sin))(0.0)), float(jnp.sin(0.0)), float(plugjax.jit(jnp.sin)(0.0)))"
        code = AFTER.format(use=use) + (
            f"p = [p for p in registry.active().plugins if p.name == '{name}']\n"
            "print(type(p[0].error).__name__)\n"
            "print([r.primitive.name for r in registry.active().rules() if r.primitive.name == 'own'])\n"
        )
        out, err = self.run(site(name, text), code, PLUGJAX_BACKEND=machine)
        assert out.split("\n")[:4] == [
            "1.0 0.0 0.0",
            "['iree', 'numpy', 'xla']",
            "RuleConflictError",
            "[]",
        ]
        assert (
            f"plugin '{name}' of distribution dist-{name} 1.2 was skipped: RuleConflictError" in err
        )
        assert "of primitive 'sin'" in err
        assert "provides" not in err

    def test_a_declared_replacement_counts_whatever_the_order(self, site):
        text = self.SECOND_RULES.format(kind="impl", given="rules").replace(
            "rules.define(impl, sin_p)(lambda *a, **k: 1 / 0)",
            "rules.define(impl, sin_p, replace=True)(lambda x: x + 5)",
        )
        code = "import plugjax.numpy as jnp; print(float(jnp.sin(1.0)))"
        out, err = self.run(site("aaa", text), code, PLUGJAX_BACKEND="numpy")
        assert out.strip() == "6.0"
        assert not err

    def test_of_two_strangers_the_later_one_is_skipped(self, site):
        text = (
            "from plugjax.extend import RuleSet, hookimpl, RuleKind\nfrom plugjax.lax import sin_p\n"
            "import shared_kind\nrules = RuleSet('stranger')\n"
            "rules.define(shared_kind.kind, sin_p)(lambda: 1)\n"
            "@hookimpl\ndef plugjax_rules(): return [rules]\n"
        )
        folder = site("bbb", text)
        site("aaa", text)
        folder.joinpath("shared_kind.py").write_text(
            "from plugjax.extend import RuleKind\nkind = RuleKind('shared', '()')\n"
        )
        code = "from plugjax.extend import registry; print([p.name for p in registry.active().plugins if p.error])"
        out, err = self.run(folder, code)
        assert out.strip() == "['bbb']"
        assert "'aaa'" in err

    def test_the_name_of_a_built_in_plugin_cannot_be_taken(self, site):
        text = "from plugjax.extend import hookimpl\n@hookimpl\ndef plugjax_backends(): return []\n"
        folder = site("taker", text, entry="numpy")
        out, err = self.run(folder, AFTER.format(use=""), PLUGJAX_BACKEND="numpy")
        assert out.strip() == "['iree', 'numpy', 'xla']"
        assert "plugin 'numpy' of distribution dist-taker 1.2 was skipped" in err
        assert "distribution plugjax-numpy" in err

    @pytest.mark.parametrize("error", ["ImportError('oh no')", "SystemExit('oh no')"])
    def test_a_backend_that_does_not_load_is_not_the_default_one(self, site, error):
        text = (
            "from plugjax.extend import BackendSpec, hookimpl\n"
            f"def load(): raise {error}\n"
            "@hookimpl\ndef plugjax_backends(): return [BackendSpec('best', load, priority=99)]\n"
        )
        code = (
            "import plugjax, plugjax.numpy as jnp\n"
            "print(float(jnp.sin(0.0)), plugjax.devices()[0].backend.name)\n"
            "try:\n    plugjax.devices('best')\nexcept RuntimeError as error:\n    print(error)\n"
        )
        out, err = self.run(site("aaa", text), code, PLUGJAX_BACKEND="")
        assert out.startswith("0.0 xla\nUnable to initialize backend 'best'")
        assert "oh no" in err
        assert "next best" in err

    def test_a_second_backend_of_a_name_is_left_out(self, site):
        text = (
            "from plugjax.extend import BackendSpec, hookimpl\n"
            "def load(): raise ImportError('mine')\n"
            "@hookimpl\ndef plugjax_backends(): return [BackendSpec('numpy', load, priority=99)]\n"
        )
        out, err = self.run(site("aaa", text), AFTER.format(use=""), PLUGJAX_BACKEND="numpy")
        assert out.strip() == "['iree', 'numpy', 'xla']"
        assert "backend 'numpy' of aaa is left out" in err

    def test_built_in_plugins_load_first(self, site):
        folder = site("aaa", "from plugjax.extend import hookimpl\n")
        code = "from plugjax.extend import registry; print([p.name for p in registry.active().plugins])"
        out, _ = self.run(folder, code)
        assert out.strip() == str(
            [
                "annotations",
                "buffer_callback",
                "calls",
                "checkify",
                "custom_partitioning",
                "debug",
                "export",
                "ffi",
                "guard",
                "hijax",
                "jax_options",
                "jet",
                "lax",
                "meshes",
                "numpy_api",
                "profiler",
                "random",
                "roofline",
                "scipy_api",
                "sparse",
                "stablehlo",
                "state",
                "iree",
                "numpy",
                "xla",
                "aaa",
                "as_jax",
            ]
        )


class TestChoice(Site):
    """Selection by PLUGJAX_PLUGINS and PLUGJAX_NO_PLUGINS."""

    CODE = (
        "import plugjax, plugjax.numpy as jnp\n"
        "try:\n    print(float(jnp.sin(0.0)))\nexcept RuntimeError as error:\n    print(error)\n"
    )

    @pytest.mark.parametrize("value", ["", " ", ",", " , "])
    def test_an_empty_list_is_as_if_it_were_not_set(self, tmp_path, value):
        out, err = self.run(tmp_path, self.CODE, PLUGJAX_PLUGINS=value, PLUGJAX_NO_PLUGINS=value)
        assert out.strip() == "0.0"
        assert not err

    @pytest.mark.parametrize(
        "environment",
        [{"PLUGJAX_PLUGINS": "lax,numpy_api"}, {"PLUGJAX_NO_PLUGINS": "numpy,xla,iree"}],
    )
    def test_blocked_backends_are_not_called_missing(self, tmp_path, environment):
        environment["PLUGJAX_BACKEND"] = ""
        out, _ = self.run(tmp_path, self.CODE, **environment)
        assert "No backend is in force. Blocked by PLUGJAX_PLUGINS or PLUGJAX_NO_PLUGINS" in out
        assert "numpy" in out
        assert "pip install" not in out

    def test_a_blocked_backend_is_not_called_missing(self, tmp_path):
        out, _ = self.run(tmp_path, self.CODE, PLUGJAX_NO_PLUGINS="iree", PLUGJAX_BACKEND="iree")
        assert "Unknown backend 'iree'" in out
        assert "Blocked by" in out
        assert "pip install" not in out

    def test_a_name_that_no_distribution_provides_is_told(self, tmp_path):
        out, err = self.run(
            tmp_path, self.CODE, PLUGJAX_PLUGINS="nunpy,lax,numpy_api,numpy", PLUGJAX_BACKEND=""
        )
        assert out.strip() == "0.0"
        assert "PLUGJAX_PLUGINS names nunpy" in err
