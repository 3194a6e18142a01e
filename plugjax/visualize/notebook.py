"""What notebooks show of arrays, programs, stages of compilation, devices, configuration and registry.

``plugjax`` gives the classes of the table below a method ``_repr_html_`` that calls :func:`html_of`; this module is loaded when
a notebook first shows one of their objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from plugjax.extend.backend import Backend
from plugjax.extend.core import (
    Array,
    ClosedJaxpr,
    Config,
    Device,
    Jaxpr,
    Sharding,
    Tracer,
)
from plugjax.extend.execution import CompiledFunction, Lowered, Traced
from plugjax.extend.meshes import AbstractMesh, Mesh, NamedSharding
from plugjax.extend.registry import Registry
from plugjax.visualize.arrays import picture_of_array
from plugjax.visualize.elements import (
    bytes_words,
    drawing,
    folded,
    note,
    plain_text,
    preformatted,
    table,
)
from plugjax.visualize.fusion import picture_of_text
from plugjax.visualize.picture import Picture
from plugjax.visualize.programs import picture_of_program
from plugjax.visualize.spreading import mesh as picture_of_mesh

# Arguments and results of a program that are written out.
_MOST = 100


def html_of(x: object) -> str | None:
    """An object as HTML; ``None`` if there is no picture of it, and its text is shown."""
    picture = picture_of(x)
    return None if picture is None else picture.html


def picture_of(x: object) -> Picture | None:
    """An object as a picture; ``None`` if there is none."""
    for kind, make in _PICTURES.items():
        if isinstance(x, kind):
            return make(x)
    return None


def _of_tracer(x: Tracer) -> Picture:
    text = f"{x.aval.str_short()}, traced: it has no values yet"
    svg = drawing(max(len(text) * 7.5, 100), 22, [plain_text(4, 15, text)], text)
    return Picture(f"tracer {x.aval.str_short()}", svg)


def _of_program(x: ClosedJaxpr | Jaxpr) -> Picture:
    inner = x.jaxpr if isinstance(x, ClosedJaxpr) else x
    return picture_of_program(x, f"jaxpr of {inner.debug_name or 'a program'}")


def _of_traced(x: Traced) -> Picture:
    return picture_of_program(x.jaxpr, f"traced {x.fun_name}")


def _signature(in_avals: Any, results: Any) -> str:
    # Avals are no pytrees: what holds them prints itself.
    rows = [("arguments", in_avals), ("results", results)]
    return table(("", ""), [(name, _cut(str(found))) for name, found in rows])


def _cut(text: str, length: int = 2000) -> str:
    return text if len(text) <= length else f"{text[:length]} …"


def _of_lowered(x: Lowered) -> Picture:
    name = x._traced.fun_name
    program = picture_of_program(x._traced.jaxpr, f"lowered {name}")
    body = _signature(x.in_avals, x.out_info)
    body += folded("graph and equations", program.body)
    body += folded("text for the compiler", preformatted(x.as_text()))
    return Picture(program.title, program.svg, body)


def _of_compiled(x: CompiledFunction) -> Picture:
    name = x._lowered._traced.fun_name
    found = picture_of_text(x.as_text(), name)
    memory = [(key, bytes_words(size)) for key, size in x.memory_analysis().items() if size]
    costs = [(key, f"{value:,.0f}") for key, value in dict(x.cost_analysis()).items()][:_MOST]
    body = _signature(x.in_avals, x.out_info)
    body += folded("memory", table(("", "size"), memory)) + folded("cost", table(("", ""), costs))
    body += folded(f"kernels: {found.title}", found.body)
    return Picture(f"compiled {name}", found.svg, body)


def _facts(title: str, rows: list[tuple[str, object]]) -> Picture:
    shapes = [plain_text(4, 15 + 16 * i, f"{k}: {v}") for i, (k, v) in enumerate(rows)]
    width = max((len(f"{k}: {v}") for k, v in rows), default=10) * 7.5 + 8
    svg = drawing(width, 8 + 16 * len(rows), shapes, title)
    return Picture(title, svg, table(("", ""), rows))


def _of_device(x: Device) -> Picture:
    return _facts(
        f"device {x}",
        [
            ("backend", x.backend.name),
            ("hardware", x.hardware),
            ("description", x.device_kind),
            ("process", x.process_index),
            ("memory is the host's", "yes" if x.host_visible else "no"),
        ],
    )


def _of_backend(x: Backend) -> Picture:
    devices = ", ".join(map(str, x.devices()))
    forms = ", ".join(x.dialects) or "none"
    return _facts(f"backend {x.name}", [("devices", devices), ("forms of programs", forms)])


def _of_sharding(x: Sharding) -> Picture:
    if isinstance(x, NamedSharding):
        shown = picture_of_mesh(x.mesh)
        rows = [("spec", x.spec), ("memory", x.memory_kind)]
        return Picture(f"sharding {x.spec}", shown.svg, shown.body + table(("", ""), rows))
    devices = ", ".join(map(str, x.devices[:_MOST]))
    return _facts(type(x).__name__, [("devices", devices)])


def _of_config(x: Config) -> Picture:
    rows = []
    for name, value in sorted(x.values.items()):
        option = x.option(name)
        changed = "" if value == option.default else "changed"
        rows.append((name, repr(value), changed, option.help))
    changes = [row for row in rows if row[2]]
    found = _facts(
        f"{len(rows)} options, {len(changes)} changed", [(row[0], row[1]) for row in changes]
    )
    heads = ("option", "value", "", "what it does")
    return Picture(
        found.title, found.svg, table(heads, changes) + folded("all", table(heads, rows))
    )


def _of_registry(x: Registry) -> Picture:
    rules = x.rules()
    by_kind = Counter(rule.kind.name for rule in rules).most_common()
    plugins = [(p.name, _state(p)) for p in x.plugins]
    title = f"registry: {len(plugins)} plugins, {len(rules):,} rules"
    found = _facts(title, [(name, count) for name, count in by_kind[:20]])
    backends = note(f"backends: {', '.join(x.backends())}")
    body = backends + folded("plugins", table(("plugin", "state"), plugins))
    body += folded("rules by kind", table(("kind", "rules"), by_kind))
    return Picture(title, found.svg, body)


def _state(plugin: Any) -> str:
    if plugin.error:
        return f"broken: {plugin.error}"
    return "blocked" if plugin.blocked else "in force"


# Tracers are before arrays: to ``isinstance`` they are arrays too.
_PICTURES: dict[Any, Callable[[Any], Picture]] = {
    Tracer: _of_tracer,
    Array: picture_of_array,
    (ClosedJaxpr, Jaxpr): _of_program,
    Traced: _of_traced,
    Lowered: _of_lowered,
    CompiledFunction: _of_compiled,
    Device: _of_device,
    Backend: _of_backend,
    (Mesh, AbstractMesh): picture_of_mesh,
    Sharding: _of_sharding,
    Config: _of_config,
    Registry: _of_registry,
}

__all__ = ["html_of", "picture_of"]
