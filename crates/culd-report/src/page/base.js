// Elements, numbers and the state of the page.

const state = { report: null, unit: null, tab: "overview", block: 256, dynamic: 0, sm: 0, selected: null };

/** Makes an element; text children become text nodes, so that names are never read as markup. */
function el(tag, attributes, ...children) {
  const svg = tag.startsWith("svg:");
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "textContent") node[key] = value;
    else if (key === "style") node.style.cssText = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

const numberFormat = new Intl.NumberFormat("en-US");
const number = (n) => (n === null || n === undefined ? "–" : numberFormat.format(n));

/** Bytes for a heading: 12.3 KiB. */
function bytes(n) {
  if (n < 10240) return `${number(n)} B`;
  const units = ["KiB", "MiB", "GiB"];
  let at = -1;
  do { n /= 1024; at += 1; } while (n >= 1024 && at < units.length - 1);
  return `${n.toFixed(n < 100 ? 1 : 0)} ${units[at]}`;
}

const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "–");
const sum = (list, of) => list.reduce((total, item) => total + of(item), 0);
const stackText = (f) => (f.stack_unknown ? "unknown" : number(f.stack));
const constantBytes = (f) => sum(f.constants, (b) => b[1]);

/** Inputs with as few directories as tell them apart. */
function inputNames(unit) {
  if (!unit.shortInputs) {
    const depths = unit.inputs.map(() => 1);
    let names = [];
    for (let clash = true; clash;) {
      names = unit.inputs.map((name, i) => lastParts(name, depths[i]));
      const count = new Map();
      names.forEach((n) => count.set(n, (count.get(n) || 0) + 1));
      clash = false;
      names.forEach((n, i) => {
        if (count.get(n) > 1 && n !== unit.inputs[i]) {
          depths[i] += 1;
          clash = true;
        }
      });
    }
    Object.defineProperty(unit, "shortInputs", { value: names, enumerable: false });
  }
  return unit.shortInputs;
}

/** The last parts of a path; the member of an archive stays whole. */
function lastParts(name, depth) {
  const at = name.indexOf(".a:");
  const path = at < 0 ? name : name.slice(0, at);
  return path.split("/").slice(-depth).join("/") + name.slice(path.length);
}
const inputName = (unit, f) => (f.input === null ? null : inputNames(unit)[f.input]);
const shortInput = (unit, name) => {
  const at = unit.inputs.indexOf(name);
  return at < 0 ? lastParts(name, 1) : inputNames(unit)[at];
};

/** Text with its middle left out: the ends of C++ names tell them apart. */
function middle(text, most) {
  if (text.length <= most || most < 8) return text;
  const tail = Math.floor((most - 1) * 0.6);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}

/** A C++ name of at most this length: the parameters go first, then the middle. */
function brief(text, most) {
  if (text.length <= most || !text.endsWith(")")) return middle(text, most);
  let [at, depth] = [text.length - 1, 0];
  for (; at > 0; at -= 1) {
    if (text[at] === ")") depth += 1;
    else if (text[at] === "(" && (depth -= 1) === 0) break;
  }
  return at > 0 ? middle(`${text.slice(0, at)}(…)`, most) : middle(text, most);
}

/** Shows a text beside the pointer or an element. */
function tip(text, x, y) {
  const box = document.getElementById("tip");
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
  box.style.top = `${y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18}px`;
}

/** Callees and callers of every function, made once per unit. */
function graphOf(unit) {
  if (!unit.graph) {
    const lists = () => unit.functions.map(() => []);
    const graph = { callees: lists(), callers: lists() };
    for (const [from, to] of unit.calls) {
      graph.callees[from].push(to);
      graph.callers[to].push(from);
    }
    Object.defineProperty(unit, "graph", { value: graph, enumerable: false });
  }
  return unit.graph;
}
