"""Error types that packages above the core and plugins define: where they are, an example, and what to do."""

from __future__ import annotations

import importlib
from typing import NamedTuple

from plugjax.docs.error_examples import Example


class Listed(NamedTuple):
    """An error type of a package.

    Attributes:
        path: how it is imported.
        example: a program that raises it, and the repair; the code is empty where only another process, another machine or a fault raises it.
    """

    path: str
    example: Example


_MESH = 'jax.config.update("jax_num_cpu_devices", 2)\nmesh = jax.make_mesh((2,), ("i",))'
_SPARSE = "from plugjax.experimental import sparse\n\nx = sparse.BCOO.fromdense(jnp.eye(3))"
_CATEGORY = "`error.throw()` raises a `JaxRuntimeError` with this text. "
_CHECKED = "error, _ = checkify.checkify({}, errors=checkify.{})({})\nprint(type(error.get_exception()).__name__, error.get())"


def _checked(name: str, function: str, errors: str, arguments: str, repair: str) -> Listed:
    """A category of failed checks: it is not raised, but held by the error that ``checkify`` returns."""
    return Listed(
        f"plugjax.experimental.checkify.exceptions.{name}",
        Example(_CHECKED.format(function, errors, arguments), f"{_CATEGORY}{repair}"),
    )  # fmt: skip


LISTED = (
    Listed(
        "plugjax.experimental.checkify.JaxRuntimeError",
        Example(
            "error, _ = checkify.checkify(jnp.log, errors=checkify.nan_checks)(-1.0)\nerror.throw()",
            "Repair the input that the message names, or look at `error.get()` instead of throwing.",
        ),
    ),
    Listed(
        "plugjax.experimental.checkify.exceptions.JaxException",
        Example("", "The types below are its categories."),
    ),
    _checked("NaNError", "jnp.log", "nan_checks", "-1.0", "Keep the operand in the function's domain."),
    _checked("DivisionByZeroError", "lambda x: 1.0 / x", "div_checks", "jnp.array(0.0)", "Choose another divisor where it is zero, with `jnp.where`."),
    _checked("OOBError", "lambda i: jnp.arange(3)[i]", "index_checks", "jnp.array(5)", "Keep the index below the size, or say `mode` in `.at[i].get(mode=...)`."),
    _checked(
        "FailedCheckError", 'lambda x: checkify.check(x > 0, "{x} is not positive", x=x)', "user_checks", "jnp.array(-1.0)",
        "The text is that of the call of `check`.",
    ),
    Listed(
        "plugjax.experimental.checkify.exceptions.BatchedError",
        Example(
            "error, _ = jax.vmap(checkify.checkify(jnp.log, errors=checkify.nan_checks))(jnp.array([1.0, -1.0]))\nprint(type(error.get_exception()).__name__, error.get())",
            f"{_CATEGORY}The text says which instances failed.",
        ),
    ),
    Listed(
        "plugjax.experimental.error_check.JaxValueError",
        Example(
            'from plugjax.experimental import error_check\n\nerror_check.set_error_if(jnp.array(-1.0) < 0, "a negative value")\nerror_check.raise_if_error()',
            "The text is that of the call of `set_error_if`.",
        ),
    ),
    Listed(
        "plugjax.extend.meshes.DuplicateSpecError",
        Example(
            f'{_MESH}\njax.NamedSharding(mesh, jax.P("i", "i"))',
            "An axis of the mesh cuts one axis of the array: take its name out of one of the entries.",
        ),
    ),
    Listed(
        "plugjax.extend.meshes.IndivisibleError",
        Example(
            f'{_MESH}\njax.device_put(jnp.ones(3), jax.NamedSharding(mesh, jax.P("i")))',
            "Pad the axis to a multiple of the number of devices, or leave it whole.",
        ),
    ),
    Listed(
        "plugjax.extend.meshes.ShardingTypeError",
        Example(
            f'{_MESH}\nones, rows, columns = jnp.ones((2, 2)), jax.P("i", None), jax.P(None, "i")\nx = jax.device_put(ones, jax.NamedSharding(mesh, rows))\n'
            "y = jax.device_put(ones, jax.NamedSharding(mesh, columns))\nx + y",
            'Spread one operand as the other first: `jax.reshard(y, jax.P("i", None))`. Along axes of type `Auto` the compiler decides.',
        ),
    ),
    Listed(
        "plugjax.guard.VerificationWarning",
        Example(
            'wrong = RuleSet("wrong")\nwrong.define(lowering, lax.sin_p, platform="xla", replace=True)(\n'
            "    lambda ctx, x: ctx.inline(stage(lambda x: [lax.cos(x)], ctx.avals_in, 'wrong'), [x])\n)\n"
            'plugin = type("Wrong", (), {"plugjax_rules": staticmethod(hookimpl(lambda: [wrong]))})\n'
            'os.environ["PLUGJAX_REPORT_DIR"] = "reports"\n'
            'with registry.use(registry.active().extended(plugin)), jax.config.override("verify", "first"):\n'
            '    print(jax.jit(jnp.sin, device="xla")(jnp.arange(3.0)))',
            "The results are NumPy's, so the program is right and slower. The folder that is named has what a report of the fault needs.",
        ),
    ),
    Listed(
        "plugjax.experimental.sparse.SparseEfficiencyError",
        Example(
            f"{_SPARSE}\nsparse.bcoo_update_layout(x, n_batch=1)",
            'Choose another layout, or accept the cost: `on_inefficient="warn"`.',
        ),
    ),
    Listed(
        "plugjax.experimental.sparse.SparseEfficiencyWarning",
        Example(
            f'{_SPARSE}\nprint(sparse.bcoo_update_layout(x, n_batch=1, on_inefficient="warn").n_batch)',
            "Accept it with `on_inefficient=None`, or choose another layout.",
        ),
    ),
    Listed(
        "plugjax.experimental.sparse.CuSparseEfficiencyWarning",
        Example("", "No backend raises it; programs that filter it run."),
    ),
    Listed(
        "plugjax.extend.transforms.MutableValueError",
        Example(
            "from plugjax.experimental.hijax import Box\n\nbox = Box(jnp.ones(2))\njax.make_jaxpr(lambda x: box.set(x))(1.0)",
            "Hand over what the value holds, and set it afterwards; `jit`, `scan`, `while_loop` and `cond` take such values along.",
        ),
    ),
    Listed(
        "plugjax.experimental.array_serialization.serialization.BarrierTimeoutError",
        Example("", "A name of JAX's for programs that catch it; no function here raises it."),
    ),
    Listed(
        "plugjax.extend.linear_util.StoreException",
        Example(
            "from plugjax.extend.linear_util import Store\n\nstore = Store()\nstore.store(1)\nstore.store(2)",
            "Wrap the function anew for each use: a store takes one value.",
        ),
    ),
    Listed(
        "plugjax.experimental.multihost_utils.survival.ProcessFailureError",
        Example("", "Go on with `live_devices`, as `jax_enable_recoverability` allows, or start the program again."),
    ),
    Listed(
        "plugjax_xla.host_callbacks.HostCallbackError",
        Example("", "XLA's runtime sees it where a function of the host raised; the program raises the function's own error. Repair that one."),
    ),
    Listed(
        "plugjax_xla.jaxlib_shim.ClientUnavailable",
        Example("", "The message names the package that is missing, or the versions that do not go together."),
    ),
    Listed(
        "plugjax_iree.runtime.device.DeviceError",
        Example(
            'from plugjax_iree.runtime.device import open_device\n\nopen_device("gpu://0")',
            "`plugjax devices` lists the devices; `plugjax doctor` says which driver is missing.",
        ),
    ),
    Listed(
        "plugjax_iree.compile.pipeline.CompileError",
        Example(
            'from plugjax_iree.compile.pipeline import compile_here\n\ncompile_here("no module", [])',
            "Programs fall back to NumPy with a warning; an export raises it. `plugjax bug` has what IREE's report needs.",
        ),
    ),
    Listed(
        "plugjax_iree.compile.process.HelperDiedError",
        Example("", "IREE's compiler ended its process: report the module. In programs the fallback takes over."),
    ),
    Listed(
        "plugjax_iree.runtime.host_module.HostResultError",
        Example(
            'long_p, long_rules = Primitive("long"), RuleSet("long")\nlong_rules.define(impl, long_p)(lambda x: np.ones(3, np.float32))\n'
            'long_rules.define(abstract_eval, long_p)(lambda x: x)\n'
            'plugin = type("Long", (), {"plugjax_rules": staticmethod(hookimpl(lambda: [long_rules]))})\n'
            'with registry.use(registry.active().extended(plugin)):\n    jax.jit(long_p.bind, device="iree")(np.ones(2, np.float32))',
            "A host kernel gives what the primitive's `abstract_eval` promises: correct the one or the other.",
        ),
    ),
)  # fmt: skip


def found() -> dict[str, tuple[Listed, type[BaseException]]]:
    """The listed types by path; those of plugins that are not installed are left out."""
    types = {}
    for listed in LISTED:
        module, _, name = listed.path.rpartition(".")
        try:
            types[listed.path] = listed, getattr(importlib.import_module(module), name)
        except ImportError:
            continue
    return types
