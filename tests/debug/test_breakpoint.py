"""The debugger, driven through its streams, against JAX's where both give the same output."""

import io
import threading

import jax
import numpy as np
import pytest

import plugjax

jitted = pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])


def session(m, commands, program, *args, jitted=True, **options):
    """The debugger's output for ``commands`` at the breakpoint in ``program``."""
    out = io.StringIO()

    def stop():
        return lambda **more: m.debug.breakpoint(
            stdin=io.StringIO("\n".join(commands) + "\n"), stdout=out, **options, **more
        )

    function = program(m, stop())
    (m.jit(function) if jitted else function)(*args)
    m.effects_barrier()
    return out.getvalue()


def simple(m, stop):
    def inner(x, word):
        y = x * 2
        pair = {"y": y, "other": [x, word]}
        stop()
        return pair["y"]

    return lambda x: inner(x, "text")


@pytest.mark.spread(8)
@jitted
@pytest.mark.parametrize(
    "commands",
    [
        ["p y", "c"],
        ["p pair", "pp pair", "continue"],
        ["word", "y + 1", "[y.shape, word]", "cont"],
        ["p nonsense", "p 1 +", "1 / 0", "c"],
    ],
    ids=lambda commands: commands[0],
)
def test_values(on_backend, commands, jitted):
    x = np.float32(1.5)
    found = session(plugjax, commands, simple, plugjax.numpy.asarray(x), jitted=jitted)
    expected = session(jax, commands, simple, jax.numpy.asarray(x), jitted=jitted)
    # JAX's frames start with the lambda of `session`, which is not a frame of the framework either.
    assert found.replace("plugjax", "jax") == expected


@jitted
def test_moving_between_frames(on_backend, jitted):
    lines = []

    def program(m, stop):
        def inner(x):
            local = x + 1
            stop()
            return local

        def outer(x):
            around = x * 10
            return inner(around)

        lines.extend(f.__code__.co_firstlineno for f in (inner, outer))
        return outer

    # The innermost frame is the lambda of `session`.
    commands = ["up", "p local", "args", "list", "up", "p around", "d", "d", "down", "where", "c"]
    one = plugjax.numpy.asarray(np.float32(1))
    said = session(plugjax, commands, program, one, jitted=jitted)
    inner, outer = (line + 2 for line in lines)
    answers = [answer.strip().splitlines() for answer in said.split("(jdb) ")]
    here = f"test_breakpoint.py({inner})"
    assert [
        answer[0].rpartition("/")[2].replace(", weak_type=True", "") for answer in answers[:8]
    ] == [
        "Entering jdb:",
        here,
        "Array(11., dtype=float32)",
        "x = Array(10., dtype=float32)",
        here,
        f"test_breakpoint.py({outer})",
        "Array(10., dtype=float32)",
        here,
    ]
    assert "->              stop()" in answers[1]
    assert answers[4][-1].strip() == "return local"
    assert answers[9][0] == "At bottommost frame."
    assert f'  File "{__file__}", line {inner}' in answers[10]


def test_inside_transformations(on_backend):
    said = []

    def f(x):
        out = io.StringIO()
        said.append(out)
        y = plugjax.lax.sin(x)
        plugjax.debug.breakpoint(stdin=io.StringIO("p x\nc\n" * 3), stdout=out)
        return y

    plugjax.vmap(plugjax.grad(f))(np.arange(3, dtype=np.float32))
    (out,) = said
    for value in ("0.", "1.", "2."):
        assert f"Array({value}, dtype=float32)" in out.getvalue()


def test_in_a_loop_it_stops_in_every_step(on_backend):
    out = io.StringIO()
    stdin = io.StringIO("p c\nc\n" * 3)

    @plugjax.jit
    def f(x):
        def step(c, a):
            plugjax.debug.breakpoint(ordered=True, stdin=stdin, stdout=out)
            return c * a, None

        return plugjax.lax.scan(step, x, np.array([2, 3, 4], np.float32))[0]

    f(np.float32(1))
    answers = [line for line in out.getvalue().splitlines() if "Array(" in line]
    assert [a.removeprefix("(jdb) ") for a in answers] == [
        f"Array({v}., dtype=float32)" for v in (1, 2, 6)
    ]


@pytest.mark.spread(2)
@pytest.mark.parametrize("command", ["q", "quit", "exit", ""])
def test_quitting_ends_the_program(on_backend, command):
    with pytest.raises(SystemExit):
        session(plugjax, [command] if command else [], simple, np.float32(1))


def test_a_token_decides_when(on_backend):
    out = io.StringIO()

    @plugjax.jit
    def f(x):
        x = plugjax.debug.breakpoint(
            token=x, stdin=io.StringIO("p x\nc\n"), stdout=out, num_frames=1
        )
        plugjax.debug.breakpoint(token=x, stdin=io.StringIO("p x\nc\n"), stdout=out)  # unused
        return x * 2

    assert float(f(np.float32(2))) == 4
    assert out.getvalue().count("Array(2., dtype=float32)") == 1


def test_mistakes():
    for m in (jax, plugjax):
        with pytest.raises(ValueError, match="exclusive"):
            m.debug.breakpoint(token=m.numpy.ones(2), ordered=True)
    with pytest.raises(ValueError, match="no debugger 'none'"):
        plugjax.debug.breakpoint(backend="none")


def test_frames_are_those_of_the_user():
    def program(m, stop):
        return lambda x: (stop(), x)[1]

    filtered = session(plugjax, ["bt", "c"], program, np.float32(1))
    whole = session(plugjax, ["bt", "c"], program, np.float32(1), filter_frames=False)
    one = session(plugjax, ["bt", "c"], program, np.float32(1), num_frames=1)
    assert "plugjax/core" not in filtered
    assert "plugjax/execution/jit/function.py" in whole
    assert one.count("File") == 1


def test_standard_streams(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("p y\nc\n"))

    @plugjax.jit
    def f(x):
        y = x * 2
        plugjax.debug.breakpoint()
        return y

    f(np.float32(4))
    assert "Array(8., dtype=float32)" in capsys.readouterr().out


def test_variables_that_are_no_pytrees_do_no_harm(on_backend):
    def program(m, stop):
        def f(x):
            strange = {1: x, "a": x}  # Keys without an order.
            lock = threading.Lock()
            stop()
            return strange[1], lock.locked()

        return f

    assert "lock" in session(plugjax, ["p type(lock)", "c"], program, np.float32(1))
