// The picture of the packages: a click on a room shows what it is for, its files, and who imports it.
"use strict";
(function () {
  const house = document.getElementById("house");
  if (!house) return;
  const facts = JSON.parse(document.getElementById("house-data").textContent);
  const panel = document.getElementById("house-room");
  const rooms = [...house.querySelectorAll(".room")];

  function element(tag, text, parent) {
    const made = document.createElement(tag);
    made.textContent = text;
    parent.append(made);
    return made;
  }
  function neighbours(title, counts, kind) {
    element("h3", title, panel);
    const list = document.createElement("p");
    list.className = "neighbours " + kind;
    for (const [name, count] of Object.entries(counts)) {
      const button = element("button", name + " " + count, list);
      button.title = count + (count === 1 ? " file" : " files");
      button.addEventListener("click", () => choose(name));
    }
    if (!list.children.length) list.textContent = "none";
    panel.append(list);
  }
  function files(fact) {
    const box = document.createElement("details");
    box.open = fact.files.length <= 16;
    element("summary", fact.files.length + (fact.files.length === 1 ? " file" : " files"), box);
    const list = document.createElement("ul");
    for (const file of fact.files) {
      const item = document.createElement("li");
      const name = element(file.page ? "a" : "code", file.path, item);
      if (file.page) name.href = "../source/" + file.path + ".html";
      if (file.says) item.append(" " + file.says);
      list.append(item);
    }
    box.append(list);
    panel.append(box);
  }
  function choose(name) {
    const fact = facts[name];
    for (const room of rooms) {
      const other = room.dataset.room;
      room.classList.toggle("chosen", other === name);
      room.classList.toggle("user", other in fact.users);
      room.classList.toggle("used", other in fact.imports);
      room.setAttribute("aria-pressed", String(other === name));
    }
    panel.replaceChildren();
    element("h2", fact.title, panel);
    element("p", fact.purpose, panel);
    element("h3", "What may be changed there", panel);
    element("p", fact.changes, panel);
    neighbours("Imported by, with the number of files", fact.users, "user");
    neighbours("Imports", fact.imports, "used");
    files(fact);
  }
  for (const room of rooms) {
    room.addEventListener("click", () => choose(room.dataset.room));
    room.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(room.dataset.room);
    });
  }
})();
