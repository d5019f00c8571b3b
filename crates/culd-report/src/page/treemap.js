// Code as a map: input, template family, function. The area is the size.

/** The tree of a unit; without inputs its first level is the family. */
function codeTree(unit) {
  const root = { name: unit.name, size: 0, children: new Map(), kind: "all" };
  const child = (node, name, kind) => {
    let next = node.children.get(name);
    if (!next) {
      next = { name, size: 0, children: new Map(), kind, parent: node };
      node.children.set(name, next);
    }
    return next;
  };
  const hasInputs = unit.functions.some((f) => f.input !== null);
  unit.functions.forEach((f, at) => {
    let node = root;
    if (hasInputs) node = child(node, inputName(unit, f) || "(the linker)", "input");
    node = child(node, f.family, "family");
    // Functions of the same C++ name are shown one by one.
    const leaf = { name: f.demangled.replace(/^void /, ""), size: f.code, children: new Map(), kind: f.kernel ? "kernel" : "function", parent: node, at };
    node.children.set(`${f.demangled}\0${at}`, leaf);
    for (let up = leaf.parent; up; up = up.parent) up.size += f.code;
  });
  const finish = (node) => {
    node.list = [...node.children.values()].sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1));
    node.list.forEach(finish);
    // A family with one function is that function.
    node.list = node.list.map((c) => (c.kind === "family" && c.list.length === 1 ? Object.assign(c.list[0], { parent: node }) : c));
    node.count = node.list.length ? sum(node.list, (c) => c.count) : 1;
  };
  finish(root);
  return root;
}

/** Squarified layout (Bruls, Huizing, van Wijk): rows are filled while their worst aspect ratio gets better. */
function squarify(list, x, y, w, h, put) {
  const items = list.filter((n) => n.size > 0);
  let total = sum(items, (n) => n.size);
  let from = 0;
  while (from < items.length && w > 0.5 && h > 0.5) {
    const side = Math.min(w, h);
    const scale = (w * h) / total;
    let to = from;
    let row = 0;
    let worst = Infinity;
    while (to < items.length) {
      const next = row + items[to].size * scale;
      const thick = next / side;
      const ratio = Math.max(thick / ((items[from].size * scale) / thick), ((items[from].size * scale) / thick) / thick,
        thick / ((items[to].size * scale) / thick), ((items[to].size * scale) / thick) / thick);
      if (ratio > worst) break;
      worst = ratio;
      row = next;
      to += 1;
    }
    const thick = row / side;
    let along = 0;
    for (let i = from; i < to; i += 1) {
      const length = (items[i].size * scale) / thick;
      if (w >= h) put(items[i], x, y + along, thick, length);
      else put(items[i], x + along, y, length, thick);
      along += length;
      total -= items[i].size;
    }
    if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    from = to;
  }
}

/** Hues by size of inputs and families: neighbours in size are far apart on the circle. */
function hues(unit) {
  const sizes = new Map();
  const add = (name, size) => sizes.set(name, (sizes.get(name) || 0) + size);
  for (const f of unit.functions) {
    add(f.family, f.code);
    add(inputName(unit, f) || "(the linker)", f.code);
  }
  const order = [...sizes].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return new Map(order.map(([name], i) => [name, Math.round(210 + i * 137.508) % 360]));
}

/** The map with its breadcrumbs and the list beside it. */
function treemap(unit, onOpen) {
  const root = codeTree(unit);
  const hue = hues(unit);
  const view = { node: root, rects: [], focus: 0, colour: "family" };
  const canvas = el("canvas", { tabindex: "0", role: "application", "aria-describedby": "map-help",
    "aria-label": "Treemap of code. Arrow keys choose a part, Enter opens it, Escape goes back." });
  const crumbs = el("nav", { class: "crumbs", "aria-label": "Place in the map" });
  const list = el("div", { class: "panel", "aria-label": "Parts of this level" });

  // Queried once per drawing: both calls are slow.
  let isDark = false;
  const dark = () => isDark;
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const mostRegisters = Math.max(1, ...unit.functions.map((f) => f.registers || 0));

  function fill(node) {
    if (view.colour === "registers" && node.at !== undefined) {
      const share = (unit.functions[node.at].registers || 0) / mostRegisters;
      return `hsl(${Math.round(140 - 140 * share)} 55% ${dark() ? 36 : 74}%)`;
    }
    const of = node.kind === "input" ? node.name : node.at !== undefined ? unit.functions[node.at].family : node.name;
    return `hsl(${hue.get(of) ?? 0} ${node.at === undefined ? 30 : 48}% ${dark() ? (node.at === undefined ? 24 : 34) : (node.at === undefined ? 90 : 80)}%)`;
  }

  function place(node, x, y, w, h, depth) {
    view.rects.push({ node, x, y, w, h, depth });
    if (!node.list.length || w < 12 || h < 12) return;
    const head = w > 60 && h > 34 ? 17 : 2;
    squarify(node.list, x + 2, y + head, w - 4, h - head - 2, (c, cx, cy, cw, ch) => {
      if (cw * ch >= 1.5) place(c, cx, cy, cw, ch, depth + 1);
    });
  }

  function draw() {
    const width = canvas.parentElement ? canvas.parentElement.clientWidth : 800;
    const height = Math.max(320, Math.min(innerHeight - 340, 720));
    const scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const colours = { text: style("--text"), soft: isDark ? "#d0d6dc" : style("--soft") };
    view.rects = [];
    squarify(view.node.list.length ? view.node.list : [view.node], 0, 0, width, height, (n, x, y, w, h) => place(n, x, y, w, h, 1));
    pen.fillStyle = style("--card");
    pen.fillRect(0, 0, width, height);
    pen.textBaseline = "top";
    pen.lineWidth = 1;
    for (const { node, x, y, w, h } of view.rects) {
      pen.fillStyle = fill(node);
      pen.fillRect(x + 0.5, y + 0.5, Math.max(0.5, w - 1), Math.max(0.5, h - 1));
      if (node.list.length ? w > 60 && h > 34 : w > 38 && h > 15) {
        pen.fillStyle = colours.text;
        pen.font = `${node.list.length ? 600 : 400} 11.5px system-ui, sans-serif`;
        label(pen, node.name, x + 5, y + 3, w - 10);
        if (!node.list.length && h > 32) {
          pen.fillStyle = colours.soft;
          pen.font = "11px system-ui, sans-serif";
          label(pen, bytes(node.size), x + 5, y + 17, w - 10);
        }
      }
    }
    const chosen = top()[view.focus];
    if (chosen && document.activeElement === canvas) {
      pen.strokeStyle = style("--accent");
      pen.lineWidth = 3;
      pen.strokeRect(chosen.x + 1.5, chosen.y + 1.5, chosen.w - 3, chosen.h - 3);
    }
  }

  /** Text cut to a width. */
  function label(pen, text, x, y, width) {
    if (pen.measureText(text).width > width) {
      let low = 0;
      let high = Math.min(text.length, 200);
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (pen.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle; else high = middle - 1;
      }
      text = low > 1 ? `${text.slice(0, low)}…` : "";
    }
    pen.fillText(text, x, y);
  }

  const top = () => view.rects.filter((r) => r.depth === 1);
  const words = (node) => `${node.name}\n${node.kind}, ${bytes(node.size)}, ${percent(node.size, root.size)} of all code`
    + (node.at === undefined ? `, ${number(node.count)} functions` : `, ${number(unit.functions[node.at].registers)} registers`);

  function go(node) {
    if (node.at !== undefined) { onOpen(node.at); return; }
    view.node = node;
    view.focus = 0;
    refresh();
  }

  function refresh() {
    const path = [];
    for (let n = view.node; n; n = n.parent) path.unshift(n);
    crumbs.replaceChildren(...path.map((n, i) => el("button", { "aria-current": i === path.length - 1 ? "location" : null, onclick: () => go(n), title: n.name },
      n === root ? "all code" : n.name)), el("span", { class: "soft" }, `${bytes(view.node.size)}, ${number(view.node.count)} functions`));
    const rows = view.node.list.slice(0, 200);
    list.replaceChildren(...[el("h2", {}, "Largest here"), ...rows.map((n) => el("div", { style: "margin:4px 0" },
      el("button", { class: "link", onclick: () => go(n), title: n.name }, n.name),
      el("div", { class: "soft" }, el("span", { class: "bar", style: `width:${(90 * n.size) / Math.max(1, rows[0].size)}px` }), ` ${bytes(n.size)} · ${percent(n.size, view.node.size)}`))),
      view.node.list.length > rows.length ? el("p", { class: "soft" }, `and ${number(view.node.list.length - rows.length)} more`) : null].filter(Boolean));
    draw();
  }

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    for (let i = view.rects.length - 1; i >= 0; i -= 1) {
      const r = view.rects[i];
      if (x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h) return r;
    }
    return null;
  };
  canvas.addEventListener("mousemove", (event) => {
    const hit = at(event);
    tip(hit ? words(hit.node) : "", event.clientX, event.clientY);
  });
  canvas.addEventListener("mouseleave", () => tip(""));
  canvas.addEventListener("click", (event) => {
    let hit = at(event);
    if (!hit) return;
    // A click opens the part of this level that was hit, a function at once.
    let node = hit.node;
    while (node.at === undefined && node.parent && node.parent !== view.node) node = node.parent;
    tip("");
    go(node);
  });
  canvas.addEventListener("keydown", (event) => {
    const parts = top();
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) view.focus = (view.focus + step + parts.length) % Math.max(1, parts.length);
    else if (event.key === "Enter" && parts[view.focus]) go(parts[view.focus].node);
    else if ((event.key === "Escape" || event.key === "Backspace") && view.node.parent) go(view.node.parent);
    else return;
    event.preventDefault();
    draw();
    const chosen = top()[view.focus];
    const box = canvas.getBoundingClientRect();
    if (chosen && document.activeElement === canvas) tip(words(chosen.node), box.left + chosen.x, box.top + chosen.y);
  });
  canvas.addEventListener("focus", draw);
  canvas.addEventListener("blur", () => { tip(""); draw(); });
  const colour = el("select", { onchange: (e) => { view.colour = e.target.value; draw(); } },
    el("option", { value: "family" }, "family"), el("option", { value: "registers" }, "registers"));
  const element = el("div", {},
    el("div", { class: "tools" }, crumbs, el("span", { class: "grow" }), el("label", {}, "colour by", colour)),
    el("div", { class: "two" }, el("div", { class: "map" }, canvas, el("p", { class: "soft", id: "map-help" }, "Area is code size. Click or Enter opens a part, Escape goes back; a function opens its details.")), list));
  const observer = new ResizeObserver(() => draw());
  requestAnimationFrame(() => { observer.observe(canvas.parentElement); refresh(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  return element;
}
