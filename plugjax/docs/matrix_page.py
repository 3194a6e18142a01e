"""The page of the matrix: filters, a table that a script draws, and the data in the page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from plugjax.docs import matrix
from plugjax.docs.pages import Page, heading, table

_TEXT = """\
Rows are primitives, columns are what can be asked of them. A cell names its state and the plugin that provides it, and links to the line
of source. Point at a cell to see why it is empty or what it is made from. Click on a heading to sort.

* **native**: a rule for this primitive.
* **decomposed**: the primitive stands for others, which have rules.
* **derived**: made from other rules of the primitive.
* **host call**: the compiled program calls the host kernel.
* **absent**: declared to be empty, with the reason.
* **-**: no rule. An operation that is not linear needs no `transpose`; elsewhere any plugin may supply a rule.
"""
_PLATFORMS = """\
The columns `numpy`, `xla` and `iree` are the backends: the host kernel, and the lowering that the backend takes. A backend has the same rules on each hardware that it runs on. Where IREE's
compiler needs another program on a Vulkan device, that is a workaround, which `plugjax doctor --workarounds` lists, and not a rule. [Devices](../howto/devices.md) says which hardware is tested.

*All rule kinds* adds a column for each other kind, such as `spread` (how results lie on a mesh) or `dce` (what of an equation is needed). Most primitives need no rule there.
"""
_INPUTS = """\
```{raw} html
<div class="matrix-inputs">
<label>primitive <input id="matrix-words" type="search"></label>
<label>column <select id="matrix-column"><option value="">any</option></select></label>
<label>state <select id="matrix-state"><option value="">any</option></select></label>
<label>provider <select id="matrix-provider"><option value="">any</option></select></label>
<label><input id="matrix-all" type="checkbox"> all rule kinds</label>
<output id="matrix-count"></output>
</div>
<div id="matrix" data-root="../"></div>
<script type="application/json" id="matrix-data">%s</script>
<script src="../_static/matrix.js" defer></script>
```
"""


def pages(cells: Mapping[str, Mapping[str, matrix.Cell]], root: Path) -> Iterator[Page]:
    """One page."""
    text = json.dumps(matrix.data(cells, root), separators=(",", ":")).replace("</", "<\\/")
    counts = {
        title: Counter(row[title].state for row in cells.values())
        for title in next(iter(cells.values()))
    }
    rows = [
        (f"`{title}`", *(str(found[state] or "") for state in matrix.STATES))
        for title, found in counts.items()
    ]
    summary = table(("column", *matrix.STATES), rows)
    yield Page(
        "reference/matrix",
        f"{heading('The matrix')}\n\n{_TEXT}\n{_INPUTS % text}\n{heading('Backends and hardware', 2)}\n\n{_PLATFORMS}\n{heading('Counts', 2)}\n\n{summary}\n",
    )
