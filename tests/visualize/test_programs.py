"""Graphs of programs."""

import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax, visualize
from plugjax.visualize.elements import shortened
from plugjax.visualize.outline import outline
from tests.visualize.trees import elements, parsed, words

HOSTILE = '<script>alert("x")</script>&\x00\x1b]\ud800'


def steps(x, w):
    def body(carry, row):
        chosen = lax.cond(
            carry.sum() > 0,
            lambda c: jnp.tanh(c @ row) + 1,
            lambda c: jnp.where(c > 0, c, 0.0),
            carry,
        )
        return chosen, jnp.sum(carry)

    y, sums = lax.scan(body, x, w)
    return jnp.sin(y).sum() * 2 + sums.max()


ARGS = (jnp.ones((4, 4)), jnp.ones((3, 4, 4)))


def primitives(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for inner in plugjax.extend.programs_in(eqn.params):
            yield from primitives(inner.jaxpr)


def test_all_equations_and_names_are_shown():
    program = plugjax.make_jaxpr(steps)(*ARGS)
    drawing, page = map(words, parsed(visualize.jaxpr(program)))
    for name in primitives(program.jaxpr):
        assert name in drawing
        assert name in page

    def variables(found):
        for value in (*found.inputs, *found.constants, *(v for s in found.steps for v in s.makes)):
            yield f"{value.name}:{value.kind}"
        for step in found.steps:
            for _, inner in step.programs:
                yield from variables(inner)

    for text in variables(outline(program, 1000)):
        assert text in drawing
        assert text in page


def test_names_are_those_of_the_printed_program():
    program = plugjax.make_jaxpr(lambda x, y: jnp.sin(x) * y + 1.0)(1.0, 2.0)
    page = words(parsed(visualize.jaxpr(program))[1])
    printed = [line.strip() for line in str(program).splitlines()]
    assert all(line in page for line in printed[1:-1])


def test_nested_programs_fold():
    _, page = parsed(visualize.jaxpr(steps, *ARGS))
    folds = elements(page, "details")
    titles = [words(elements(fold, "summary")[0]) for fold in folds]
    assert [t.split(":")[0] for t in titles if t.endswith("equations")] == ["jaxpr", "branches[0]", "branches[1]"]  # fmt: skip
    scan = next(fold for fold, title in zip(folds, titles, strict=True) if "scan[" in title)
    assert "{…}" in words(elements(scan, "summary")[0])
    # The branches are within the body of the loop.
    assert sum("branches" in words(s) for s in elements(scan, "summary")) >= 2
    assert "tanh" in words(scan)


def test_the_line_of_an_equation_is_in_its_hint():
    drawing, _ = parsed(visualize.jaxpr(steps, *ARGS))
    hints = [words(title) for title in elements(drawing, "title")]
    assert any("tanh" in hint and "test_programs.py:" in hint for hint in hints)


def test_hostile_names_are_escaped():
    def f(x):
        return jnp.sin(x)

    f.__name__ = HOSTILE
    for picture in (visualize.jaxpr(plugjax.jit(f), 1.0), visualize.jaxpr(f, 1.0)):
        for tree in parsed(picture):
            assert not elements(tree, "script")
        assert "<script" not in picture.svg + picture.html
        assert "alert" in picture.html


def test_a_long_program_is_cut_and_says_so():
    def f(x):
        for _ in range(10_000):
            x = x + 1.0
        return x

    picture = visualize.jaxpr(f, 1.0)
    drawing, page = map(words, parsed(picture))
    assert "9,880 more equations" in drawing
    assert "9,000 more equations" in page
    assert len(picture.svg) < 100_000
    assert len(picture.html) < 400_000


def test_a_wide_program_is_cut():
    values = [jnp.float32(i) for i in range(3000)]
    picture = visualize.jaxpr(lambda *xs: xs[0] + xs[-1], *values)
    parsed(picture)
    assert "more inputs" in picture.svg
    assert len(picture.svg) < 60_000


def test_deep_programs_are_bounded():
    def f(x):
        return jnp.sin(x)

    for _ in range(12):
        f = plugjax.jit(lambda x, f=f: f(f(x)) + 1)
    picture = visualize.jaxpr(f, 1.0)
    parsed(picture)
    assert len(picture.html) < 1_000_000


@pytest.mark.parametrize("f", [lambda: (), lambda x: x, lambda x: 3.0])
def test_programs_without_equations(f):
    args = () if f.__code__.co_argcount == 0 else (1.0,)
    parsed(visualize.jaxpr(f, *args))


def test_what_is_no_program_is_refused():
    with pytest.raises(
        TypeError, match=r"visualize.jaxpr: expected a function or a program, got 3"
    ):
        visualize.jaxpr(3)
    with pytest.raises(TypeError, match="takes no arguments"):
        visualize.jaxpr(plugjax.make_jaxpr(jnp.sin)(1.0), 1.0)


def test_files(tmp_path):
    picture = visualize.jaxpr(jnp.sin, 1.0)
    picture.save(tmp_path / "p.svg")
    picture.save(str(tmp_path / "p.html"))
    assert (tmp_path / "p.svg").read_text(encoding="utf-8") == picture.svg
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert picture.html in page
    assert "color-scheme:light dark" in page
    with pytest.raises(ValueError, match=r"ends neither in .svg nor in .html"):
        picture.save(tmp_path / "p.png")


def test_bundles_for_notebooks():
    picture = visualize.jaxpr(jnp.sin, 1.0)
    assert set(picture._repr_mimebundle_()) == {"text/plain", "image/svg+xml", "text/html"}
    assert set(picture._repr_mimebundle_(include=["text/html"])) == {"text/html"}
    assert picture._repr_html_() == picture.html


def test_pictures_need_nothing_else():
    picture = visualize.jaxpr(steps, *ARGS)
    for text in (picture.svg, picture.html):
        outside = text.replace("http://www.w3.org/2000/svg", "")
        assert "http" not in outside
        assert "<script" not in text
        assert "@import" not in text


def test_shortened():
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("abc", 4) == "abc"
