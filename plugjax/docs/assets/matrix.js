// The table of rules: drawn from JSON in the page, sorted by a click on a heading, filtered by words, state and provider.
"use strict";
(function () {
  const place = document.getElementById("matrix");
  if (!place) return;
  const data = JSON.parse(document.getElementById("matrix-data").textContent);
  const words = document.getElementById("matrix-words");
  const column = document.getElementById("matrix-column");
  const state = document.getElementById("matrix-state");
  const provider = document.getElementById("matrix-provider");
  const all = document.getElementById("matrix-all");
  const count = document.getElementById("matrix-count");
  const order = { column: -1, down: false };

  function option(select, value) {
    const item = document.createElement("option");
    item.value = item.textContent = value;
    select.append(item);
  }
  data.columns.forEach((name) => option(column, name));
  data.states.forEach((name) => option(state, name));
  const providers = new Set();
  data.rows.forEach((row) => row.cells.forEach((cell) => cell.provider && providers.add(cell.provider)));
  [...providers].sort().forEach((name) => option(provider, name));

  function shown() {
    return all.checked ? data.columns.length : data.main;
  }
  function matches(row) {
    if (!row.primitive.includes(words.value.trim().toLowerCase())) return false;
    if (!state.value && !provider.value) return true;
    return row.cells.some(
      (cell, i) =>
        (i < shown() || data.columns[i] === column.value) &&
        (!column.value || data.columns[i] === column.value) &&
        (!state.value || cell.state === state.value) &&
        (!provider.value || cell.provider === provider.value)
    );
  }
  function key(row) {
    return order.column < 0 ? row.primitive : data.states.indexOf(row.cells[order.column].state);
  }
  function compare(a, b) {
    const x = key(a), y = key(b);
    const found = x < y ? -1 : x > y ? 1 : a.primitive < b.primitive ? -1 : 1;
    return order.down ? -found : found;
  }
  function drawnCell(cell) {
    const box = document.createElement("td");
    box.className = "state-" + cell.state.replace(" ", "-");
    box.title = [cell.provider, cell.because].filter(Boolean).join(": ");
    const shown = document.createElement(cell.source ? "a" : "span");
    if (cell.source) shown.href = place.dataset.root + cell.source;
    shown.textContent = cell.state === "none" ? "-" : cell.state;
    box.append(shown);
    if (cell.state === "absent" && cell.because) {
      const why = document.createElement("small");
      why.className = "because";
      why.textContent = "because " + cell.because;
      box.append(why);
    }
    if (cell.provider) {
      const by = document.createElement("small");
      by.textContent = cell.provider;
      box.append(by);
    }
    return box;
  }
  function draw() {
    const rows = data.rows.filter(matches).sort(compare);
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    ["primitive", ...data.columns.slice(0, shown())].forEach((name, i) => {
      const cell = document.createElement("th");
      const button = document.createElement("button");
      button.textContent = name + (order.column === i - 1 ? (order.down ? " ▾" : " ▴") : "");
      button.addEventListener("click", () => {
        order.down = order.column === i - 1 && !order.down;
        order.column = i - 1;
        draw();
      });
      cell.append(button);
      head.append(cell);
    });
    const body = table.createTBody();
    rows.forEach((row) => {
      const line = body.insertRow();
      const name = document.createElement("th");
      name.scope = "row";
      name.textContent = row.primitive;
      line.append(name, ...row.cells.slice(0, shown()).map(drawnCell));
    });
    place.replaceChildren(table);
    count.textContent = rows.length + " of " + data.rows.length + " primitives";
  }
  column.addEventListener("input", () => {
    // A column that is chosen is seen.
    if (data.columns.indexOf(column.value) >= data.main) all.checked = true;
  });
  [words, column, state, provider, all].forEach((input) => input.addEventListener("input", draw));
  draw();
})();
