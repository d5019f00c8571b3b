// One function: its numbers, occupancy over block sizes, the calls that set registers and stack, callers and callees.

const LIMITER_WORDS = {
  warps: "warps per multiprocessor", blocks: "blocks per multiprocessor", registers: "registers", shared: "shared memory", barriers: "named barriers",
  launch_bounds: "its launch bounds",
};

function pair(title, value, help) {
  return value === null || value === undefined ? [] : [el("dt", { title: help || null }, title), el("dd", {}, value)];
}

function detail(unit, at, onOpen) {
  const f = unit.functions[at];
  const local = f.local_access && (f.local_access[0] || f.local_access[1])
    ? `${number(f.local_access[0])} loads, ${number(f.local_access[1])} stores` : f.local_access ? "none" : null;
  return el("section", { class: "panel", id: "detail", "aria-label": `Details of ${f.demangled}` },
    el("div", {}, el("span", { class: f.kernel ? "pill kernel" : "pill" }, f.kernel ? "kernel" : "function"), " ", el("strong", { class: "name" }, f.demangled)),
    f.name === f.demangled ? null : el("div", { class: "soft name mono" }, f.name),
    el("h3", {}, "Resources"),
    el("dl", {},
      pair("code", `${number(f.code)} bytes`),
      pair("registers", f.registers === null ? null : number(f.registers) + (f.own_registers !== null && f.own_registers !== f.registers ? ` (${number(f.own_registers)} of its own)` : "")),
      pair("register limit", f.max_registers === null ? null : number(f.max_registers)),
      pair("stack", f.stack_unknown ? el("span", { class: "warn" }, "unknown: recursion or calls through pointers") : f.stack === null ? null : `${number(f.stack)} bytes`),
      pair("own frame", f.frame === null ? null : `${number(f.frame)} bytes`),
      pair("local memory accesses", local, "Instructions that load and store local memory: spilled registers, arrays, calls"),
      pair("static shared", f.kernel ? `${number(f.shared)} bytes` : null),
      pair("dynamic shared", f.dynamic_shared ? "used, the launch sets its size" : null),
      f.constants.flatMap(([bank, size]) => pair(`constant bank ${bank}`, `${number(size)} bytes`)),
      pair("parameters", f.parameters === null ? null : `${number(f.parameters)} bytes`),
      pair("barriers", f.kernel || f.barriers ? number(f.barriers) : null),
      pair("threads per block", f.required_threads ? `exactly ${number(f.required_threads)}` : f.max_threads ? `at most ${number(f.max_threads)}` : null),
      pair("from", f.input === null ? null : unit.inputs[f.input]),
      pair("family", f.family === f.demangled ? null : f.family)),
    f.kernel ? occupancyChart(f) : null,
    pathList(unit, f.registers_path, "Calls that set its registers", (g) => `${number(g.own_registers ?? g.registers)} registers`, onOpen),
    pathList(unit, f.stack_path, "Calls that set its stack", (g) => `frame ${number(g.frame)}`, onOpen),
    callTree(unit, at, onOpen),
    callers(unit, at, onOpen));
}

function pathList(unit, path, title, words, onOpen) {
  if (!path.length) return null;
  return el("div", {}, el("h3", {}, title), el("ol", { class: "path" }, path.map((at, level) => el("li", { style: `--level:${Math.min(level, 10)}` },
    el("button", { class: "link", onclick: () => onOpen(at) }, unit.functions[at].demangled), el("span", { class: "soft" }, ` · ${words(unit.functions[at])}`)))));
}

function functionLine(unit, at, onOpen, onPath) {
  const f = unit.functions[at];
  return [el("button", { class: onPath ? "link onpath" : "link", onclick: () => onOpen(at) }, f.demangled),
    el("span", { class: "soft" }, ` · ${number(f.own_registers ?? f.registers)} regs, frame ${number(f.frame)}`)];
}

/** Callees as a tree; a level is made when it is opened. A function that is already above is recursion and has no level of its own. */
function callTree(unit, at, onOpen) {
  const { callees } = graphOf(unit);
  const f = unit.functions[at];
  if (!callees[at].length && !f.indirect) return null;
  const onPath = new Set([...f.registers_path, ...f.stack_path]);
  const level = (of, above) => el("ul", { role: "group" }, callees[of].slice(0, 200).map((to) => {
    const recursive = above.includes(to);
    const item = el("li", { role: "treeitem" });
    const open = !recursive && callees[to].length > 0;
    const show = (expanded) => {
      item.setAttribute("aria-expanded", String(expanded));
      item.querySelector(".twist").textContent = expanded ? "▾" : "▸";
      const inner = item.querySelector("ul");
      if (expanded && !inner) item.append(level(to, [...above, to]));
      else if (inner) inner.hidden = !expanded;
    };
    item.append(el("button", { class: "twist", "aria-label": "callees", style: open ? "" : "visibility:hidden",
      onclick: () => show(item.getAttribute("aria-expanded") !== "true") }, "▸"), ...functionLine(unit, to, onOpen, onPath.has(to)));
    if (recursive) item.append(el("span", { class: "warn" }, " recursion"));
    if (open) {
      item.setAttribute("aria-expanded", "false");
      if (onPath.has(to) || above.length < 2) show(true);
    }
    return item;
  }), callees[of].length > 200 ? el("li", { class: "soft" }, `and ${number(callees[of].length - 200)} more`) : null);
  const tree = level(at, [at]);
  tree.className = "tree";
  tree.setAttribute("role", "tree");
  return el("div", {}, el("h3", {}, "Calls"), tree, f.indirect ? el("p", { class: "warn" }, "It also calls through pointers.") : null);
}

function callers(unit, at, onOpen) {
  const list = graphOf(unit).callers[at];
  if (!list.length) return null;
  return el("div", {}, el("h3", {}, `Called by (${number(list.length)})`), el("ul", { class: "tree" }, list.slice(0, 50).map((from) => el("li", {}, functionLine(unit, from, onOpen, false)))),
    list.length > 50 ? el("p", { class: "soft" }, `and ${number(list.length - 50)} more`) : null);
}

/** Bars for all block sizes of whole warps. */
function occupancyChart(f) {
  const limits = limitsOf(state.sm);
  if (!limits || f.registers === null) return el("p", { class: "soft" }, "Occupancy is not known for this architecture.");
  const sizes = Array.from({ length: 32 }, (_, i) => (i + 1) * 32);
  const results = sizes.map((threads) => occupancyOf(f, threads));
  const now = occupancyOf(f);
  const best = Math.max(...results.map((r) => r.percent));
  const [width, height] = [412, 110];
  const bars = results.map((r, i) => {
    const tall = (r.percent / 100) * 80;
    const words = `${r.threads} threads: ${r.percent} %, ${r.blocks} blocks, limited by ${r.limited_by.join(", ")}`;
    return el("svg:rect", { x: 4 + i * 12.3, y: 90 - tall, width: 10, height: Math.max(1, tall), rx: 1.5, fill: "var(--accent)",
      opacity: r.threads === state.block ? 1 : r.percent === best ? 0.75 : 0.4 }, el("svg:title", {}, words));
  });
  const ticks = [32, 256, 512, 768, 1024].map((t) => el("svg:text", { x: 4 + (t / 32 - 1) * 12.3 + 5, y: 104, "text-anchor": "middle" }, String(t)));
  const text = now.blocks
    ? `${now.percent} % with ${number(now.threads)} threads per block: ${number(now.blocks)} blocks, ${number(now.warps)} of ${limits.warps} warps, limited by ${now.limited_by.map((l) => LIMITER_WORDS[l]).join(", ")}.`
    : `It cannot be launched with ${number(now.threads)} threads per block: ${now.limited_by.map((l) => LIMITER_WORDS[l]).join(", ")}.`;
  const bestSizes = results.filter((r) => r.percent === best).map((r) => r.threads);
  return el("div", {}, el("h3", {}, `Occupancy on sm_${state.sm} by threads per block`),
    el("svg:svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": `${text} Best: ${best} % with ${bestSizes.join(", ")} threads.` }, bars, ticks),
    el("p", { id: "occupancy-words", class: now.blocks ? "" : "bad", style: "margin:4px 0" }, text),
    el("p", { class: "soft", style: "margin:4px 0" }, `Best: ${best} % with ${bestSizes.length > 6 ? `${bestSizes.slice(0, 6).join(", ")}, …` : bestSizes.join(", ")} threads per block.`));
}
