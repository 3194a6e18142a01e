"""Timelines, memory, and what was fused."""

import gzip
import json

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax, visualize
from plugjax.profiler.sessions import measured_memory
from plugjax.visualize.compiled_text import kernels_of_hlo, kernels_of_python
from plugjax.visualize.flow_text import kernels_of_flow
from plugjax.visualize.fusion import picture_of_text
from plugjax.visualize.liveness import liveness
from plugjax.visualize.timelines import picture_of_events
from tests.visualize.trees import elements, parsed, words


def test_a_recorded_run(on_backend):
    with visualize.record() as run:
        assert run.picture is None
        with plugjax.profiler.TraceAnnotation("my <work>"):
            plugjax.jit(lambda x: jnp.sin(x) + 1)(jnp.ones(5)).block_until_ready()
    drawing, page = map(words, parsed(run.picture))
    for text in ("my <work>", "tracing", "compiling", "execution"):
        assert text in drawing
        assert text in page
    assert run._repr_html_() == run.picture.html


def test_a_run_that_fails_raises_its_error():
    with pytest.raises(ZeroDivisionError), visualize.record():
        1 / 0  # noqa: B018  # it raises
    with visualize.record() as run:
        pass
    assert run.picture is not None


def test_measured_memory_has_arrays_and_what_calls_allocate():
    kept = jnp.ones((100, 1000), jnp.float32, device="numpy:0")
    with visualize.record_memory() as run:
        assert run.picture is None
        x = jnp.ones((250, 1000), jnp.float32, device="numpy:0")
        total = plugjax.jit(lambda x: jnp.sum(jnp.sin(x) + jnp.cos(x)))(x)
        x = jnp.sin(x)
    drawing, page = map(words, parsed(run.picture))
    assert "float32[250,1000]" in page
    assert "before the recording" in page
    assert "test_runs.py" in page
    assert "sin" in drawing
    assert total.shape == ()
    assert kept.shape == (100, 1000)


def test_memory_of_calls_is_measured():
    size = 4 * 250_000
    with measured_memory() as found:
        x = plugjax.device_put(np.ones(250_000, np.float32), "numpy:0")
        first = jnp.exp(x)
        plugjax.jit(lambda x: jnp.sum(jnp.sin(x) + jnp.cos(x)))(x)
        del first
        jnp.exp(x[:10])
    calls = {call.name: call for call in found.calls}
    whole = calls["<lambda>"]
    # The compiled function holds at least one of its intermediate arrays, and frees all.
    assert size <= whole.temporary < 3.5 * size
    assert whole.arrays >= found.first + size
    assert found.calls[-1].arrays < whole.arrays - size // 2
    assert size in [held.size for held in found.holders if held.made_by == "exp"]
    with measured_memory(), pytest.raises(RuntimeError, match="measured already"):
        measured_memory().__enter__()


def test_memory_and_a_timeline_can_be_recorded_together(on_backend):
    with visualize.record_memory() as memory, visualize.record() as run:
        plugjax.jit(lambda x: x * 2 + 1)(jnp.ones(5))
    assert "execution" in words(parsed(run.picture)[0])
    assert "calls in their order" in words(parsed(memory.picture)[0])
    assert not plugjax.config.read("profiling")


def test_a_folder_without_a_trace(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no \*.trace.json.gz in"):
        visualize.timeline(tmp_path)


def test_spans_within_spans_have_rows_of_their_own(tmp_path):
    events = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "worker"}},
        {
            "ph": "X",
            "name": "outer",
            "cat": "annotation",
            "pid": 1,
            "tid": 2,
            "ts": 0.0,
            "dur": 10.0,
        },
        {"ph": "X", "name": "inner", "cat": "execution", "pid": 1, "tid": 2, "ts": 2.0, "dur": 5.0},
        {"ph": "X", "name": "after", "cat": "strange", "pid": 1, "tid": 2, "ts": 20.0, "dur": 5.0},
        {"ph": "i", "name": "moment", "cat": "transfer", "pid": 1, "tid": 2, "ts": 21.0},
    ]
    file = tmp_path / "host.trace.json.gz"
    with gzip.open(file, "wt") as stream:
        json.dump({"traceEvents": events}, stream)
    drawing, _ = parsed(visualize.timeline(file))
    assert "worker" in words(drawing)
    hinted = [r for r in elements(drawing, "rect") if elements(r, "title")]
    place = {words(elements(r, "title")[0]).split("\n")[0]: float(r.get("y")) for r in hinted}
    assert place["inner"] > place["outer"] == place["after"]
    assert place["moment"] > place["after"]


def test_long_traces_are_cut():
    events = [
        {"ph": "X", "name": f"e{i}", "pid": 1, "tid": 1, "ts": 2.0 * i, "dur": 1.0}
        for i in range(20_000)
    ]
    picture = picture_of_events(events)
    assert "18,500 shorter events are not drawn" in picture.html
    assert len(picture.html) < 500_000
    parsed(picture)
    parsed(picture_of_events([]))


def peaked(x):
    y = x @ x
    z = jnp.tanh(y) + x
    return jnp.concatenate([z, y]), z.sum()


def test_memory_and_what_holds_it():
    x = plugjax.ShapeDtypeStruct((64, 64), jnp.float32)
    size = 64 * 64 * 4
    found = liveness(plugjax.make_jaxpr(peaked)(x))
    # x; x y; x y tanh; x y z; then the result of two sizes besides.
    assert found.labels == ["dot_general", "tanh", "add", "concatenate", "reduce_sum"]
    assert found.sizes == [2 * size, 3 * size, 4 * size, 5 * size, 4 * size + 4]
    assert [(h.kind, h.made_by) for h in found.holders] == [
        ("float32[128,64]", "concatenate"),
        ("float32[64,64]", "argument"),
        ("float32[64,64]", "dot_general"),
        ("float32[64,64]", "add"),
    ]
    assert all("test_runs.py" in h.source for h in found.holders if h.made_by != "argument")
    drawing, page = map(words, parsed(visualize.memory(peaked, x)))
    assert "concatenate" in drawing
    assert "80.0 KiB" in drawing
    assert "float32[128,64]" in page


def test_memory_of_a_jitted_function_is_that_of_its_program():
    x = jnp.ones((8, 8))
    inner = liveness(plugjax.make_jaxpr(peaked)(x)).sizes
    assert liveness(plugjax.make_jaxpr(plugjax.jit(peaked))(x)).sizes == inner


def test_memory_within_nested_programs_counts():
    def f(x):
        return lax.cond(x.sum() > 0, lambda x: jnp.sin(jnp.outer(x, x)).sum(), lambda x: x.sum(), x)

    found = liveness(plugjax.make_jaxpr(f)(jnp.ones(100)))
    assert found.peak > 2 * 100 * 100 * 4
    assert any(h.kind == "within cond" for h in found.holders)


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_memory_of_long_and_short_programs(count):
    def f(x):
        for _ in range(count):
            x = x + 1.0
        return x

    picture = visualize.memory(f, jnp.ones(4))
    parsed(picture)
    assert len(picture.svg) < 100_000


def test_memory_of_keys_and_no_arguments():
    parsed(visualize.memory(lambda k: plugjax.random.normal(k, (3,)), plugjax.random.key(0)))
    parsed(visualize.memory(lambda: ()))


def test_live_arrays():
    x = jnp.ones((3, 5, 11))
    picture = visualize.live_arrays()
    parsed(picture)
    assert x.aval.str_short() in picture.html


def chain(x):
    return jnp.sum(jnp.tanh(x) * 2 + 1)


def test_what_xla_fused():
    with plugjax.default_device("xla"):
        picture = visualize.explain(chain, np.ones((16, 16), np.float32))
        drawing, page = map(words, parsed(picture))
        assert all(name in drawing for name in ("tanh", "mul", "add", "reduce_sum"))
        assert "fused" in page
        assert "test_runs.py:" in page
        compiled = plugjax.jit(chain).lower(np.ones(3, np.float32)).compile()
        parsed(visualize.explain(compiled))


def test_what_numpy_calls():
    with plugjax.default_device("numpy"):
        picture = visualize.explain(plugjax.jit(chain), np.ones((4, 4), np.float32))
    _, page = map(words, parsed(picture))
    assert picture.title == "chain: 4 equations in 4 kernels"
    assert "fuses nothing" in page
    assert "into the memory of" in page


def test_the_dispatches_of_iree():
    with plugjax.default_device("iree"):
        picture = visualize.explain(chain, np.ones((4, 4), np.float32))
    drawing, page = map(words, parsed(picture))
    assert "main_dispatch_0" in drawing
    assert "fused" in page
    assert "test_runs.py:" in page
    assert {"tanh", "mul", "add", "reduce_sum"} <= {*drawing.split()}


def test_text_of_which_no_kernels_are_known():
    picture = picture_of_text("module { %0 = stablehlo.sine %x\n %1 = stablehlo.sine %0 }", "f")
    drawing, _ = map(words, parsed(picture))
    assert picture.title == "f: 2 operations, kernels not known"
    assert "does not tell which" in drawing


def test_texts_of_iree():
    text = """#loc = loc(unknown)
#loc1 = loc("/a.py":7:0)
#loc2 = loc("f/tanh"(#loc1))
#loc3 = loc(fused[#loc, #loc2])
module @f {
  flow.executable private @main_dispatch_0 {
    flow.executable.export public @main_dispatch_0_elementwise_4_f32 workgroups() -> (index, index, index) {
    }
    builtin.module {
      func.func @main_dispatch_0_elementwise_4_f32(%arg0: !d.tensor<readonly:tensor<4xf32>>, %arg1: !d.tensor<writeonly:tensor<4xf32>> loc("f/tanh"(#loc1))) {
        %1 = tensor.empty() : tensor<4xf32> loc(#loc2)
        %2 = linalg.generic {} ins(%0 : tensor<4xf32>) {
        ^bb0(%in: f32):
          %3 = math.tanh %in : f32 loc(#loc3)
          %4 = arith.addf %3, %3 : f32 loc(#loc)
          linalg.yield %3 : f32 loc(#loc2)
        } -> tensor<4xf32> loc(#loc2)
      } loc(#loc2)
    } loc(#loc2)
  } loc(#loc2)
  util.func public @main() {
    %2 = flow.dispatch @main_dispatch_0::@main_dispatch_0_elementwise_4_f32(%0) : () loc(#loc2)
    %3 = flow.dispatch @main_dispatch_0::@main_dispatch_0_elementwise_4_f32(%2) : () loc(#loc2)
  }
}
"""
    (kernel,) = kernels_of_flow(text)
    assert (kernel.name, kernel.kind) == ("main_dispatch_0_elementwise_4_f32", "fused")
    assert (kernel.makes, kernel.detail) == ("tensor<4xf32>", "dispatched at 2 places")
    assert (kernel.equations, kernel.lines) == (["tanh", "arith.addf"], ["/a.py:7"])


def test_loops_and_branches_on_every_backend(on_backend):
    def f(x):
        def body(c, _):
            return lax.cond(c.sum() > 0, jnp.sin, lambda c: c * 2 + 1, c), None

        return lax.scan(body, x, None, length=3)[0]

    picture = visualize.explain(f, np.ones(4, np.float32))
    drawing, _ = parsed(picture)
    assert len(elements(drawing, "rect")) > 1
    if on_backend == "xla":
        assert {"sin", "mul", "add"} <= {*words(drawing).split()}


def test_texts_of_compilers():
    hlo = """HloModule m

FileNames
1 "/a <b>.py"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%fused (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %t = f32[4]{0} tanh(%p), metadata={op_name="jit_f/tanh" stack_frame_id=1}
  ROOT %a = f32[4]{0} add(%t, %t), metadata={op_name="jit_f/add" source_file="/c.py" source_line=9}
}

%yes (p: f32[4]) -> f32[4] {
  %p.1 = f32[4]{0} parameter(0)
  ROOT %neg = f32[4]{0} negate(%p.1)
}

ENTRY %main (x: f32[4]) -> (f32[4], f32[4]) {
  %x = f32[4]{0} parameter(0)
  %f = f32[4]{0} fusion(%x), kind=kLoop, calls=%fused
  %c = f32[4]{0} conditional(%x, %x, %x), branch_computations={%yes, %yes}
  ROOT %r = (f32[4]{0}, f32[4]{0}) tuple(%f, %c)
}
"""
    first, second = kernels_of_hlo(hlo)
    assert (first.name, first.kind, first.makes) == ("f", "fused", "f32[4]")
    assert first.equations == ["tanh", "add"]
    assert first.lines == ["/a <b>.py:7", "/c.py:9"]
    assert (second.equations, second.within) == (["negate"], "yes")
    python = "def run_f(v0):\n    v1 = sin_0(v0)\n    del v0\n    v2, v3 = scan_2(v1, c0)\n    print_3(v2)\n    return (v1, )"  # fmt: skip
    assert [(k.name, k.equations) for k in kernels_of_python(python)] == [
        ("v1", ["sin"]),
        ("v2, v3", ["scan"]),
        ("", ["print"]),
    ]


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match=r"visualize\.explain: expected a function"):
        visualize.explain(3)
    compiled = plugjax.jit(jnp.sin).lower(1.0).compile()
    with pytest.raises(TypeError, match="takes no arguments here"):
        visualize.explain(compiled, 1.0)
