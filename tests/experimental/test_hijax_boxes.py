"""Mutable values of a program's own types, and boxes, hold after each program what they hold in JAX."""

import dataclasses
import gc
import importlib
import weakref
from functools import partial
from typing import Any

import jax
import jax._src.hijax
import numpy as np
import pytest

import plugjax


class Names:
    """What programs are written in."""

    def __init__(self, framework):
        self.jax, self.lax = framework, framework.lax
        self.np = importlib.import_module(f"{framework.__name__}.numpy")
        self.hijax = importlib.import_module(f"{framework.__name__}.experimental.hijax")
        boxes = jax._src.hijax if framework is jax else self.hijax
        self.Box, self.new_box = boxes.Box, boxes.new_box
        self.box_set, self.box_get = boxes.box_set, boxes.box_get
        self.cur_qdd = jax._src.core.cur_qdd if framework is jax else self.hijax.cur_qdd


OURS, THEIRS = Names(plugjax), Names(jax)
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def plain_and_jitted(function):
    PROGRAMS[function.__name__] = lambda j: function(j, lambda f: f)
    PROGRAMS[f"{function.__name__}_jitted"] = lambda j: function(j, j.jax.jit)
    return function


@plain_and_jitted
def types_are_known_at_each_point(j, jit):
    first, second = 1.0, j.np.arange(3)
    outer, passed, seen = j.Box(first), j.Box(first), []

    def f(box):
        def note(b):
            seen.append([a.str_short() for a in j.cur_qdd(b).leaf_avals])

        note(box)
        box.set(second)
        note(box)
        own = j.new_box()
        own.set(second)
        own.set(first)
        note(own)
        outer.set((second, second))
        note(outer)

    jit(f)(passed)
    return seen[-4:], passed.get(), outer.get()


@plain_and_jitted
def tracers_of_boxes_are_boxes(j, jit):
    return jit(lambda x: x + isinstance(j.Box(x), j.Box))(1.0)


@program
def box_in_a_tree_of_arguments(j):
    f = j.jax.jit(lambda d, x: d["box"].set(d["box"].get() + x))
    box = j.Box(1.0)
    f({"box": box, "a": 1.0}, 1.0)
    f({"a": 2.0, "box": box}, 2.0)
    return box.get()


@program
def closed_over_is_read_at_each_call(j):
    box, traces = j.Box(1.0), []

    @j.jax.jit
    def f(x):
        traces.append(x)
        box.set(box.get() + x)

    f(2.0)
    before = len(traces)
    f(5.0)
    return box.get(), len(traces) == before


@program
def jit_in_jit(j):
    box = j.new_box()

    @j.jax.jit
    def outer(x):
        box.set(x)

        @j.jax.jit
        def inner(x):
            box.set(box.get() + x)

        inner(1.0)
        inner(1.0)
        return box.get()

    return outer(2.0), box.get()


@plain_and_jitted
def forward_derivative_around_a_box(j, jit):
    box = j.Box(1.0)

    def f(x):
        y = 2 * x
        box.set(box.get() + j.lax.stop_gradient(y))
        return y

    return j.jax.jvp(jit(f), (1.0,), (1.0,)), box.get()


@plain_and_jitted
def forward_derivative_of_a_box(j, jit):
    def f(box, x):
        box.set(box.get() * x)
        return x * 2

    box, box_dot = j.Box(5.0), j.Box(1.0)
    return j.jax.jvp(jit(f), (box, 2.0), (box_dot, 1.0)), box.get(), box_dot.get()


@plain_and_jitted
def gradient_around_a_box(j, jit):
    box = j.Box(j.np.float32(2.0))

    def f(x, box):
        box.set(j.lax.stop_gradient(x * 2))
        return x**2 + box.get()

    return j.jax.grad(jit(f))(3.0, box), box.get()


@plain_and_jitted
def box_as_residual(j, jit):
    box = j.Box(0.0)

    @j.jax.custom_vjp
    def tapped(box, x):
        return x

    def backward(box, g):
        box.set(g)
        return None, g

    tapped.defvjp(lambda box, x: (x, box), backward)
    return j.jax.grad(partial(jit(lambda box, x: 2 * tapped(box, 2 * x)), box))(1.0), box.get()


@plain_and_jitted
def scan_of_a_body_that_sets(j, jit):
    box, other = j.Box(1.0), j.Box(j.np.arange(2.0))

    def f(xs):
        def body(c, x):
            box.set(box.get() * 2)
            other.set(other.get() + x)
            return c + 1, c * x

        return j.lax.scan(body, 0.0, xs)

    return jit(f)(j.np.arange(4.0)), box.get(), other.get()


@plain_and_jitted
def loop_of_a_body_that_sets(j, jit):
    box = j.Box(1.0)

    def f(n):
        def body(i):
            box.set(box.get() * 2.0)
            return i + 1

        return j.lax.while_loop(lambda i: i < n, body, 0)

    return jit(f)(5), box.get()


@program
def counted_loop(j):
    box = j.Box(j.np.float32(1.0))

    def body(i, c):
        box.set(box.get() + i)
        return c + 1

    return j.lax.fori_loop(0, 5, body, 0), box.get()


@plain_and_jitted
def branches_that_set(j, jit):
    def f(x):
        box = j.Box(1.0)
        j.lax.cond(x > 0.0, lambda _: box.set(box.get() + 1.0), lambda _: None, 1.0)
        return box.get()

    return jit(f)(1.0), jit(f)(-1.0)


@program
def box_as_operand_of_branches(j):
    def f(x):
        box = j.new_box()
        box.set(x)
        j.lax.cond(x > 0, lambda box: box.set(box.get() + 1), lambda _: None, box)
        return box.get()

    return j.jax.jit(f)(1.0)


@program
def another_type_at_each_call(j):
    box = j.Box(j.np.arange(1))
    f = j.jax.jit(lambda b, x: j.box_set(b, x))
    f(box, j.np.arange(3))
    first = j.box_get(box)
    f(box, j.np.arange(4))
    return first, j.box_get(box)


@program
def another_structure_at_each_call(j):
    box, other, seen = j.Box(None), j.Box(None), []

    @j.jax.jit
    def f():
        x = box.get()
        if x is None:
            box.set(0)
        elif type(x) is dict:
            box.set(dict(x, a=5))
            other.set(3)
        else:
            box.set(x + 1)

    for _ in range(3):
        f()
        seen.append(box.get())
    box.set(None)
    f()
    seen += [box.get(), other.get() is None]
    box.set({"b": 3})
    f()
    return seen, box.get(), other.get()


@program
def box_of_a_growing_list(j):
    box = j.Box([])

    @j.jax.jit
    def f():
        @j.jax.jit
        def g():
            box.set([*box.get(), 1])

        g()
        g()

    f()
    return box.get()


@program
def batch_of_a_function_with_a_box_of_its_own(j):
    return j.jax.vmap(lambda: j.Box(j.np.array(0)).get(), axis_size=2)()


@plain_and_jitted
def operation_with_a_derivative_that_sets(j, jit):
    class Tap(j.hijax.HiPrimitive):
        def abstract_eval(self, box, x):
            return x, set()

        def is_high(self, *_):
            return True

        def to_lojax(self, box, x):
            return x

        def jvp(self, primals, tangents):
            j.box_set(primals[0], tangents[1])
            return primals[1], tangents[1]

    tap, box = Tap("tap"), j.Box(0.0)
    f = jit(lambda box, x: tap.bind(box, x))
    return j.jax.jvp(partial(f, box), (3.0,), (5.0,)), box.get()


@plain_and_jitted
def mutable_type_of_a_program(j, jit):
    """A register that counts how often it was written."""

    @dataclasses.dataclass(frozen=True)
    class State:
        shape: tuple[int, ...]

        def to_tangent_qdd(self):
            return self

    class RegisterTy(j.hijax.MutableHiType):
        def __hash__(self):
            return hash(RegisterTy)

        def __eq__(self, other):
            return isinstance(other, RegisterTy)

        def str_short(self, short_dtypes=False, **_):
            return "Register"

        def lo_ty_qdd(self, state):
            float32 = j.hijax.ShapedArray(state.shape, np.dtype("float32"))
            return [float32, j.hijax.ShapedArray((), np.dtype("int32"))]

        def new_from_loval(self, state, value, count):
            return Register(value, count)

        def read_loval(self, state, register):
            return [register.value, register.count]

        def update_from_loval(self, state, register, value, count):
            register.value, register.count = value, count

        def to_tangent_aval(self):
            return RegisterTy()

        value = j.hijax.aval_property(lambda x: load.bind(x))

    class Register:
        def __init__(self, value, count):
            self.value, self.count = value, count

        def cur_qdd(self):
            return State(self.value.shape)

    class Load(j.hijax.HiPrimitive):
        def abstract_eval(self, register):
            shape = register.mutable_qdd.cur_val.shape
            return j.hijax.ShapedArray(shape, np.dtype("float32")), set()

        def to_lojax(self, register):
            return register.value

    class Store(j.hijax.HiPrimitive):
        multiple_results = True

        def abstract_eval(self, register, x):
            register.mutable_qdd.update(State(x.shape))
            return [], set()

        def to_lojax(self, register, x):
            register.value, register.count = x, register.count + 1
            return []

    load, store = Load("load"), Store("store")
    j.hijax.register_hitype(Register, lambda _: RegisterTy())
    register = Register(j.np.zeros(2), j.np.int32(0))

    def f(register, x):
        store.bind(register, load.bind(register) + x)
        store.bind(register, j.np.append(load.bind(register), x))

    jit(f)(register, 1.5)
    jit(f)(register, 2.0)
    return register.value, register.count


@program
def shapes_of_results_leave_a_box_as_it_is(j):
    box, other = j.Box(1.0), j.Box(j.np.zeros(2))

    def f(box, x):
        box.set(box.get() + x)
        other.set(other.get() + box.get())
        return other.get()

    shapes = [j.jax.eval_shape(f, box, j.np.ones(n)).shape for n in (1, 2)]
    shapes.append(j.jax.eval_shape(lambda x: f(other, x), j.np.ones(2)).shape)
    return shapes, box.get(), other.get()


def described(tree: Any) -> Any:
    leaves, structure = jax.tree.flatten(tree)
    return str(structure), [np.asarray(x).tolist() if not isinstance(x, str) else x for x in leaves]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_programs_leave_what_they_leave_in_jax(name):
    assert described(PROGRAMS[name](OURS)) == described(PROGRAMS[name](THEIRS))


@pytest.mark.parametrize("platform", ["xla", "iree"])
def test_programs_on_other_backends(platform):
    with plugjax.default_device(plugjax.devices(platform)[0]):
        for name in ("scan_of_a_body_that_sets_jitted", "another_structure_at_each_call"):
            assert described(PROGRAMS[name](OURS)) == described(PROGRAMS[name](THEIRS))


def _typechange(j):
    box = j.Box(1)

    def body(i):
        box.set([box.get() * 2])
        return i + 1

    j.lax.while_loop(lambda i: i < 5, body, 0)


def _differentiated(j):
    box = j.Box(0.0)
    j.jax.grad(lambda x: (box.set(x), x)[1])(1.0)


def _batched(j):
    box = j.Box(j.np.zeros(3))
    j.jax.vmap(box.set)(j.np.arange(3.0))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (_typechange, TypeError, "type-changing mutations not allowed"),
        (_differentiated, Exception, "can't differentiate Box.set operation"),
        (_batched, NotImplementedError, "box_set"),
    ],
)
def test_refused_as_in_jax(call, error, words):
    for j in (OURS, THEIRS):
        with pytest.raises(error, match=words):
            call(j)


def test_refused_here():
    box = OURS.Box(1.0)

    def use(x):
        box.set(box.get() + x)
        return x

    with pytest.raises(NotImplementedError, match="met a mutable value of type BoxTy from outside"):
        plugjax.grad(plugjax.checkpoint(use))(1.0)
    with pytest.raises(ValueError, match="passed twice"):
        plugjax.jit(lambda a, b: a.set(b.get()))(box, box)
    with pytest.raises(TypeError, match="cannot be returned"):
        plugjax.jit(lambda: OURS.Box(1.0))()
    with pytest.raises(TypeError, match="is an argument only of jit"):
        plugjax.jit(lambda b: b.set(1.0)).lower(box)
    assert box.get() == 1.0


def test_boxes_of_arguments_are_let_go():
    f = plugjax.jit(lambda box, x: box.set(box.get() + x))
    box = OURS.Box(1.0)
    f(box, 1.0)
    gone = weakref.ref(box)
    del box
    gc.collect()
    assert gone() is None
