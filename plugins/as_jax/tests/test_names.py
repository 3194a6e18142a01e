"""Names: what is shown, what is missing, who asked for it and where."""

import textwrap

import jax
import numpy as np
import pytest

from plugjax_as_jax.table import TABLE


def test_modules_of_jax_have_a_row_or_are_known_to_be_absent():
    import pkgutil

    found = {m.name for m in pkgutil.walk_packages(jax.__path__, "jax.", onerror=lambda name: None)}
    # Kernels for other compilers, and tools of JAX itself.
    absent = (
        "jax._src", "jax.collect_profile", "jax.tools.", "jax.jaxlib", "jax.experimental.jax2tf", "jax.experimental.mosaic",
        "jax.experimental.pallas.", "jax.experimental.source_mapper", "jax.extend.lowering",
        "jax.extend.pallas", "jax.extend.mlir.dialects.", "jax.experimental.array_serialization.", "jax.experimental.colocated_python.",
        "jax.experimental.key_reuse._core", "jax.experimental.roofline.", "jax.experimental.sparse._", "jax.experimental.sparse.util",
        "jax.experimental.sparse.test_util",
    )  # fmt: skip
    assert sorted(m for m in found - set(TABLE) if not m.startswith(absent)) == []


def test_public_names_of_jax_are_there(run):
    names = [name for name in dir(jax) if not name.startswith("_")]
    assert run(f"import jax; tell([n for n in {names} if not hasattr(jax, n)])") == []


def test_parts_of_arrays_are_read_on_xla(run):
    told = run(
        """
        import jax, jax.numpy as jnp, numpy as np
        mesh = jax.make_mesh((4,), ("x",))
        x = jax.device_put(np.arange(8.0, dtype="float32"), jax.NamedSharding(mesh, jax.P("x")))
        y = jax.jit(lambda x: 2 * x)(x)
        part = y.addressable_shards[1]
        tell([part.data.tolist(), str(part.data.sharding.device_set == {jax.devices()[1]}), np.asarray(y).tolist()])
        """,
        PLUGJAX_BACKEND="xla",
        PLUGJAX_NUM_CPU_DEVICES="4",
    )
    assert told == [[4.0, 6.0], "True", [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]]


def test_the_modules_are_plugjax_s(run):
    told = run(
        """
        import jax, jax.numpy as jnp, plugjax, jax.scipy.stats.norm as norm
        from jax.experimental import sparse
        from jax import lax, tree_util
        import jax._src.core
        tell([
            jnp.sin is plugjax.numpy.sin, jax.jit is plugjax.jit, jax.numpy is jnp, jnp.__name__, norm.logpdf.__module__,
            sparse.BCOO is plugjax.experimental.sparse.BCOO, jax.lax.linalg.__name__, jax.core.Tracer is jax._src.core.Tracer,
            jax.errors.JaxRuntimeError is plugjax.errors.JaxRuntimeError, jax.version.__version__, list(jax.__version_info__),
            jax.devices("cpu")[0].platform, jax.default_backend(),
        ])
        """
    )
    assert told == [
        True, True, True, "jax.numpy", "plugjax.scipy.stats.norm", True, "jax.lax.linalg", True, True, "0.10.2", [0, 10, 2], "cpu", "cpu",
    ]  # fmt: skip


def test_what_jax_has_removed_or_never_had_is_absent(run):
    told = run(
        """
        import jax, warnings
        names = {
            "jax": ["guard", "stablehlo", "cli", "testing"],
            "jax.core": ["get_aval", "mapped_aval", "Array", "registry", "jaxpr", "config"],
            "jax.extend": ["Primitive", "registry", "rules"],
            "jax.numpy": ["indexing", "creation"],
        }
        import importlib
        tell([f"{m}.{n}" for m, ns in names.items() for n in ns if hasattr(importlib.import_module(m), n)])
        """
    )
    assert told == []


def test_a_missing_name_names_library_name_and_where_to_report(run, tmp_path):
    (tmp_path / "library.py").write_text(
        textwrap.dedent(
            """
            import jax

            def looks_up():
                return jax.lax.no_such_operation

            def imports():
                from jax.numpy import no_such_function

            def imports_a_module():
                import jax.no_such_module

            def asks():
                return getattr(jax, "no_such_option", None)
            """
        )
    )
    told = run(
        """
        import sys; sys.path.insert(0, ".")
        import library
        said = []
        for call in (library.looks_up, library.imports, library.imports_a_module):
            try:
                call()
            except Exception as error:
                said.append([type(error).__name__, str(error)])
        library.asks()
        rows = plugjax_as_jax.report().missing
        tell([said, sorted([r.name, r.library, r.line] for r, _ in rows), str(plugjax_as_jax.report())])
        """
    )
    kinds, texts = zip(*told[0], strict=True)
    assert kinds == ("AttributeError", "ImportError", "ModuleNotFoundError")
    for text, name in zip(
        texts, ("no_such_operation", "no_such_function", "no_such_module"), strict=True
    ):
        assert name in text
        assert "library asks for it" in text
        assert "library.py:" in text
        assert "issue of plugjax" in text
    assert told[1] == [
        ["jax.lax.no_such_operation", "library", 5],
        ["jax.no_such_module", "library", 11],
        ["jax.no_such_option", "library", 14],
        ["jax.numpy.no_such_function", "library", 8],
    ]
    assert "Missing names: 4." in told[2]
    assert "jax 0.10.2" in told[2]


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_what_differs_by_intent(run, backend):
    told = run(
        """
        import jax, jax.numpy as jnp, numpy as np
        x = jnp.arange(3.0)
        answers = [type(f).__name__ for f in (np.zeros_like(x), np.stack([x]), np.add(np.ones(3), x), np.ones(3) + x, np.float32(2) * x)]
        def refused(f):
            try:
                f()
            except jax.errors.TracerArrayConversionError:
                return True
        answers.append(refused(lambda: jax.jit(np.sin)(x)))
        def fails(y):
            raise ValueError("no answer")
        call = lambda y: jax.pure_callback(fails, jax.ShapeDtypeStruct((3,), "float32"), y)
        for run in (call, jax.jit(call)):
            try:
                jax.block_until_ready(run(x))
            except jax.errors.JaxRuntimeError as error:
                answers.append("ValueError: no answer" in str(error) and str(error).startswith("INTERNAL"))
        tell(answers)
        """,
        PLUGJAX_BACKEND=backend,
    )
    assert told == ["ndarray", "ndarray", "ndarray", "Array", "Array", True, True, True]


def test_numpy_arrays_keep_their_kind_where_jax_keeps_it(run):
    program = """
        import jax, jax.numpy as jnp, numpy as np
        seen = []
        def look(x):
            seen.extend(type(jnp.reshape(v, (4,), order="F")).__name__ for v in (np.ones((2, 2)), x))
            return x
        look(np.ones((2, 2)))
        jax.jit(look)(np.ones((2, 2)))
        tell([seen[0], seen[1], seen[2], jnp.reshape(jnp.ones((2, 2)), 4).shape])
        """
    assert run(program) == ["ndarray", "ndarray", "ndarray", [4]]
    kept = [jax.numpy.reshape(np.ones((2, 2)), (4,)), jax.numpy.ravel(np.ones((2, 2)))]
    assert [isinstance(x, np.ndarray) for x in kept] == [True, False]


def test_a_compilation_can_be_refused_by_a_library(run):
    # What chex.restrict_backends does.
    told = run(
        """
        import jax
        from jax._src import compiler
        class Refused(RuntimeError):
            pass
        def refuse(backend, *args, **options):
            raise Refused(f"not on {backend.platform}")
        compiler.backend_compile_and_load = refuse
        try:
            jax.jit(lambda x: x * 2 + 1)(3.0)
        except Refused as error:
            tell(str(error))
        """,
        PLUGJAX_BACKEND="xla",
    )
    assert "not on cpu" in told


def test_pallas_is_refused_where_it_is_called(run):
    told = run(
        """
        from jax.experimental import pallas as pl
        from jax.experimental.pallas import triton
        try:
            pl.pallas_call(lambda: None)
        except NotImplementedError as error:
            tell([repr(triton.CompilerParams), str(error)])
        """
    )
    assert told[0] == "<CompilerParams of pallas, absent>"
    assert "jax.experimental.pallas.pallas_call" in told[1]
