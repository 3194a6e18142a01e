"""What type checkers and editors see: arrays in and out by name, and ``Any`` for a reason only."""

import importlib
import inspect
import json
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from plugjax.cli.parity import listed

ROOT = Path(__file__).resolve().parents[1]
NAMESPACES = [
    "numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "random", "nn", "nn.initializers", "ops", "image",
    *(name for name in listed() if name.startswith("scipy.")),
]  # fmt: skip

PROGRAM = """
import functools

import plugjax
import plugjax.numpy as jnp
from plugjax import Array, lax

x = jnp.ones((2, 3))
total: Array = (2.0 * x - x / 3).sum(axis=0, keepdims=True)
mask: Array = (x > 1) & ~(x == 2)
places: tuple[Array, ...] = jnp.where(mask)
chosen: Array = jnp.where(mask, x, 0)
sines: Array = lax.sin(jnp.add(x, 1).T.reshape(-1))
gradient = plugjax.grad(lambda y: jnp.sum(y))(x)
compiled: Array = plugjax.jit(jnp.sin, donate_argnums=0)(x)
part: Array = x[0, 1:]
changed: Array = x.at[0].set(1.0).at[1].add(x).at[2].apply(jnp.sin)
taken: Array = x.at[0].get(mode="fill")
method: Array = x.astype("int32").T.mT.real


def scaled(x: Array, factor: float = 2.0) -> Array:
    return x * factor


class Model:
    @plugjax.jit
    def apply(self, x: Array) -> Array:
        return x

    @functools.partial(plugjax.jit, static_argnums=0)
    def call(self, x: Array) -> Array:
        return x


@plugjax.custom_jvp
def own(x: Array) -> Array:
    return x


fast = plugjax.jit(scaled, static_argnames="factor")
text: str = fast.lower(x, factor=3.0).as_text()
results: tuple[Array, ...] = (
    fast(x, factor=3.0), plugjax.vmap(scaled)(x, 2.0), plugjax.checkpoint(scaled)(x), own(x), Model().apply(x),
    plugjax.value_and_grad(scaled)(x)[0], plugjax.jit(plugjax.vmap(scaled))(x), plugjax.random.normal(plugjax.random.key(0)),
    plugjax.scipy.special.gammaln(x), plugjax.scipy.stats.norm.pdf(x), plugjax.nn.relu(x),
)
{line}
"""
WRONG = [
    "x + 'a'", "x.sum(axes=0)", "x.reshape(2, orde='C')", "jnp.sin([1.0])", "lax.add(x, None)", "jnp.zeros('3')",
    "plugjax.jit(jnp.sin, donate=0)", "text: str = jnp.cumsum(x)",
    "jnp.no_such_name(x)", "lax.no_such_name(x)", "plugjax.no_such_name", "plugjax.random.no_such_name", "plugjax.scipy.no_such_name",
    "fast(x, scale=2.0)", "fast('a')", "plugjax.vmap(scaled)()", "plugjax.grad(scaled)(x, 2.0, 3.0)", "plugjax.checkpoint(scaled)(1, 'a')",
    "plugjax.jacfwd(scaled)('a')", "own(x, x)", "Model().apply(1, 2)", "x.at[0].sett(1)", "x.at[0].set('a')", "number: int = x[0]", "x.summ()",
]  # fmt: skip

# Parameters and results of public functions that are `Any`, by what they are.
ANY = {
    "a pytree, or what a function of the user's takes and gives": """
        lax.all_gather lax.all_to_all lax.associative_scan lax.cond lax.custom_linear_solve lax.custom_root lax.dce_sink
        lax.fori_loop lax.map lax.optimization_barrier lax.pbroadcast lax.pcast lax.platform_dependent lax.pmax lax.pmean
        lax.pmin lax.ppermute lax.precv lax.psend lax.pshuffle lax.psum lax.psum_scatter lax.pswapaxes lax.reduce
        lax.reduce_window lax.scan lax.stop_gradient lax.switch lax.while_loop lax.with_sharding_constraint
        numpy.apply_along_axis numpy.fromfunction numpy.piecewise scipy.sparse.linalg.bicgstab scipy.sparse.linalg.cg
        scipy.sparse.linalg.gmres
    """,
    "any object": """
        lax.create_token numpy.array numpy.asarray numpy.block numpy.einsum numpy.einsum_path numpy.from_dlpack
        numpy.frombuffer numpy.fromfile numpy.fromiter numpy.iscomplexobj numpy.isrealobj numpy.isscalar numpy.load
        numpy.pad numpy.result_type scipy.linalg.eigh_tridiagonal scipy.linalg.qr scipy.linalg.solve_triangular
    """,
    "other results by a flag or by the number of arguments": """
        nn.dot_product_attention numpy.gradient numpy.intersect1d numpy.linalg.qr numpy.polyfit numpy.unique
        scipy.linalg.eigh scipy.linalg.expm_frechet scipy.linalg.funm
    """,
    "a class without annotations": "numpy.finfo numpy.iinfo",
}  # fmt: skip


def untyped(namespace):
    module = importlib.import_module(f"plugjax.{namespace}")
    names = getattr(module, "__all__", None) or [name for name in dir(module) if name[0] != "_"]
    for name in names:
        function = inspect.unwrap(getattr(module, name))
        if not inspect.isfunction(function):
            continue
        if not function.__module__.startswith("plugjax") or typing.get_overloads(function):
            continue
        if "Any" in map(str, inspect.get_annotations(function).values()):
            yield f"{namespace}.{name}"


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_any_stands_for_what_is_no_array(namespace):
    known = {name for names in ANY.values() for name in names.split()}
    allowed = {name for name in known if name.rpartition(".")[0] == namespace}
    assert set(untyped(namespace)) == allowed


def mypy(path):
    cache = str(ROOT / ".mypy_cache")
    return [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, str(path)]


def pyright(path):
    # Pyright does not follow the hook that an editable installation puts in place of a path.
    (path.parent / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}))
    command = ["npx", "--yes", "pyright", "--pythonpath", sys.executable]
    return [*command, "--project", str(path.parent)]


CHECKERS = [mypy, pytest.param(pyright, marks=pytest.mark.pyright)]


def errors(checker, tmp_path, line):
    path = tmp_path / "program_of_a_user.py"
    path.write_text(PROGRAM.format(line=line))
    run = subprocess.run(
        checker(path), capture_output=True, text=True, cwd=ROOT, timeout=280, check=False
    )
    assert run.returncode in (0, 1), run.stderr
    return [each for each in run.stdout.splitlines() if f"{path.name}:" in each and "error" in each]


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_right_program_passes(checker, tmp_path):
    assert errors(checker, tmp_path, "") == []


@pytest.mark.parametrize("checker", CHECKERS)
def test_each_wrong_line_is_found(checker, tmp_path):
    found = errors(checker, tmp_path, "\n".join(WRONG))
    first = PROGRAM.count("\n") - 1
    lines = {
        int(each.partition(f"{tmp_path.name}/program_of_a_user.py:")[2].split(":")[0])
        for each in found
    }
    assert lines == set(range(first + 1, first + 1 + len(WRONG)))
