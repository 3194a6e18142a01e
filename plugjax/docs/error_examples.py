"""Short programs that raise each error type, and what to do about it; the reference runs them when it is built."""

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    """A program that raises an error, and the repair.

    The program may use ``jax``, ``jnp``, ``lax``, ``np``, ``os``, ``checkify`` and names of ``plugjax.extend``: the page imports those that it uses.
    """

    code: str
    repair: str


EXAMPLES = {
    "AmbiguousTruthError": Example(
        "jax.jit(lambda x: 1 if x else 0)(jnp.ones(3))",
        "Say which elements count, and choose with `jnp.where` or `lax.cond`: `jnp.where(x.any(), 1, 0)`.",
    ),
    "ConcretizationTypeError": Example(
        "jax.jit(lambda n: jnp.zeros(n))(3)",
        "Make the argument static: `jax.jit(f, static_argnums=0)`. Then each size is a program of its own.",
    ),
    "CustomJVPException": Example(
        "def outer(x):\n    f = jax.custom_jvp(lambda y: x * y)\n    f.defjvp(lambda p, t: (f(*p), t[0]))\n    return f(2.0)\n\n\njax.grad(jax.jit(outer))(3.0)",
        "Pass the value as an argument of the function, and give its derivative in the rule.",
    ),
    "CustomVJPException": Example(
        "def outer(x):\n    f = jax.custom_vjp(lambda y: x * y)\n    f.defvjp(lambda y: (y, None), lambda _, g: (g,))\n    return f(2.0)\n\n\njax.grad(jax.jit(outer))(3.0)",
        "Pass the value as an argument of the function, or use `jax.closure_convert`.",
    ),
    "DtypeError": Example("lax.sin(np.int32(1))", "Convert first: `x.astype(float)`; `jnp.sin` does it by itself."),
    "ForeignDtypeError": Example('lax.add(np.array(["a"]), 1.0)', "Keep such values in NumPy arrays."),
    "FallbackWarning": Example(
        'slow_p, slow_rules = Primitive("slow"), RuleSet("slow")\nslow_rules.define(impl, slow_p)(np.cumsum)\nslow_rules.define(abstract_eval, slow_p)(lambda x: x)\n'
        'plugin = type("Slow", (), {"plugjax_rules": staticmethod(hookimpl(lambda: [slow_rules]))})\nwith registry.use(registry.active().extended(plugin)):\n'
        '    print(jax.jit(slow_p.bind, device="xla")(jnp.ones(3)))',
        'Supply a lowering, or accept the call: `jax.config.update("jax_fallback", "silent")`.',
    ),
    "IndexDtypeError": Example("jnp.take(jnp.arange(3), jnp.array([0.5]))", "Convert the index to integers: `i.astype(int)`."),
    "InconclusiveDimensionOperation": Example(
        'from plugjax import export\n\na, b = export.symbolic_shape("a, b")\nbool(a >= b)',
        'State what holds: `export.symbolic_shape("a, b", constraints=["a >= b"])`.',
    ),
    "JaxRuntimeError": Example(
        'with jax.transfer_guard("disallow"):\n    jnp.sin(np.ones(3))',
        "Here: put the array on the device with `jax.device_put`. In general the message is the backend's.",
    ),
    "JaxprTypeError": Example(
        'bad = jax.make_jaxpr(lambda x: x * 2)(1.0)\nbad.jaxpr.outvars[:] = [jax.make_jaxpr(jnp.sin)(1.0).jaxpr.invars[0]]\n'
        "from plugjax.transforms.jaxpr_check import check_jaxpr\n\ncheck_jaxpr(bad.jaxpr)",
        "A pass or a rule made a wrong program. `PLUGJAX_ENABLE_CHECKS=1` names the pass.",
    ),
    "KeyDtypeError": Example("jax.random.key(0) + 1", "Make new keys with `jax.random.fold_in(key, 1)` or `split`."),
    "KeyReuseError": Example(
        "with jax.debug_key_reuse(True):\n    key = jax.random.key(0)\n    jax.random.normal(key), jax.random.uniform(key)",
        "Split the key first: `k1, k2 = jax.random.split(key)`.",
    ),
    "LeakedTracerError": Example(
        "kept = []\nwith jax.checking_leaks():\n    jax.jit(lambda x: kept.append(x) or x)(1.0)",
        "Return the value instead of storing it.",
    ),
    "LoweringError": Example(
        'bare_p, bare_rules = Primitive("bare"), RuleSet("bare")\nbare_rules.define(abstract_eval, bare_p)(lambda x: x)\n'
        'bare = type("Bare", (), {"plugjax_rules": staticmethod(hookimpl(lambda: [bare_rules]))})\nwith registry.use(registry.active().extended(bare)):\n'
        '    jax.jit(bare_p.bind, device="xla")(1.0)',
        "Supply a lowering for the platform, or a host kernel (`impl`).",
    ),
    "MissingRuleError": Example(
        'from plugjax.extend.rules import RuleKind\n\ncost = RuleKind("cost", "(*avals, **params) -> flops")\nregistry.table(cost)[lax.sin_p]',
        "Write the rule; the message has its signature and the decorator.",
    ),
    "NamedAxisError": Example(
        'jax.nn.logsumexp(jnp.ones(3), axis="rows")', "Give axes of the array as integers; names belong to `lax.psum` and its like.",
    ),
    "NegativeSizeError": Example("jnp.zeros((2, -1))", "Compute the size before the call; only `reshape` takes -1."),
    "NonConcreteBooleanIndexError": Example(
        "jax.jit(lambda x: x[x > 0])(jnp.arange(3.0))", "Keep the shape: `jnp.where(x > 0, x, 0)`, or give `jnp.nonzero` a `size`.",
    ),
    "NotArrayError": Example('lax.add("a", 1.0)', "Convert the value to a number first."),
    "OutArgumentError": Example("jnp.sum(jnp.ones(2), out=np.ones(1))", "Arrays do not change: use the result."),
    "RuleAbsentError": Example(
        "jax.grad(lax.nextafter)(1.0, 2.0)",
        "The function has no derivative here: apply `lax.stop_gradient` to the operand, or define one with `jax.custom_jvp`.",
    ),
    "RuleConflictError": Example(
        'again = RuleSet("again")\nagain.define(abstract_eval, lax.sin_p)(lambda x: x)\nplugin = type("Again", (), {"plugjax_rules": staticmethod(hookimpl(lambda: [again]))})\n'
        "registry.active().extended(plugin)",
        "Say `replace=True` in the rule that should count, or block one of the plugins with `PLUGJAX_NO_PLUGINS`.",
    ),
    "ShapeError": Example("lax.add(jnp.ones(2), jnp.ones(3))", "Reshape or slice one of the operands."),
    "SizeError": Example("jnp.reshape(jnp.ones(6), (4, 2))", "The product of the sizes must be the number of elements."),
    "StructureError": Example(
        "lax.custom_linear_solve(lambda x: (x, x), jnp.ones(2), lambda _, b: b)", "Return the structure that the message names.",
    ),
    "TrivialTangentError": Example(
        "zero = jax.jvp(lambda i: i, (1,), (np.zeros((), jax.dtypes.float0),))[1]\njnp.add(zero, 1.0)", "Integers have no tangent: leave them out of the arithmetic on tangents.",
    ),
    "TracerArrayConversionError": Example(
        "jax.jit(lambda x: np.asarray(x))(1.0)", "Use `plugjax.numpy`, or call NumPy through `jax.pure_callback`.",
    ),
    "TracerBoolConversionError": Example(
        "jax.jit(lambda x: 1 if x > 0 else 0)(3.0)", "`jnp.where(x > 0, 1, 0)`, or `lax.cond`.",
    ),
    "TracerIntegerConversionError": Example(
        "jax.jit(lambda i: [10, 20][i])(0)", "Make the list an array: `jnp.array([10, 20])[i]`.",
    ),
    "TypePromotionError": Example(
        'with jax.numpy_dtype_promotion("strict"):\n    jnp.ones(2, "int32") + jnp.ones(2, "float32")', "Convert one operand with `astype`.",
    ),
    "UnexpectedTracerError": Example(
        "leaked = []\njax.jit(lambda x: leaked.append(x))(1.0)\nleaked[0] + 1", "Return values; do not store them in lists, globals or objects.",
    ),
    "UnknownBackendError": Example('jax.devices("abacus")', "`plugjax devices` lists what is installed."),
}  # fmt: skip
