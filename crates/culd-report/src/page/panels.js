// The panels that the tabs show.

const tableHeight = () => Math.max(260, innerHeight - 250);

function overview(unit) {
  const kernels = unit.functions.filter((f) => f.kernel);
  const others = unit.functions.filter((f) => !f.kernel);
  const code = sum(unit.functions, (f) => f.code);
  const most = (of) => kernels.reduce((best, f) => (of(f) > (best ? of(best) : -1) ? f : best), null);
  const card = (label, value, note) => el("div", { class: "card" }, el("div", { class: "label" }, label), el("div", { class: "value" }, value), el("div", { class: "note" }, note || ""));
  const global = sum(unit.spaces.filter((s) => s.name.startsWith("global")), (s) => s.size);
  const constant = sum(unit.spaces.filter((s) => s.name === "constant bank 3"), (s) => s.size);
  const [heavy, deep, wide] = [most((f) => f.registers || 0), most((f) => f.stack || 0), most((f) => f.shared)];
  const unknown = kernels.filter((f) => f.stack_unknown).length;
  return el("div", {},
    el("div", { class: "cards" },
      card("file", bytes(unit.size), unit.relocatable ? "not linked yet" : "linked"),
      card("code", bytes(code), `${percent(code, unit.size)} of the file`),
      card("kernels", number(kernels.length), bytes(sum(kernels, (f) => f.code))),
      card("functions", number(others.length), bytes(sum(others, (f) => f.code))),
      unit.inputs.length ? card("inputs", number(unit.inputs.length), `dropped: ${number(unit.dropped.length)}`) : null,
      card("global memory", bytes(global), `constants: ${bytes(constant)}`),
      heavy ? card("most registers", number(heavy.registers), heavy.family) : null,
      deep ? card("deepest stack", bytes(deep.stack || 0), unknown ? `unknown for ${number(unknown)}` : deep.family) : null,
      wide ? card("most shared", bytes(wide.shared), wide.family) : null),
    el("div", { class: "panel" }, el("h2", {}, "Where the code is"), treemap(unit, openFunction)));
}

function kernelsPanel(unit) {
  const filter = el("input", { type: "search", placeholder: "name or input", "aria-label": "Filter by name or input" });
  const everything = el("input", { type: "checkbox", id: "everything" });
  const block = el("input", { type: "number", min: 1, max: 1024, step: 32, value: state.block, id: "block" });
  const dynamic = el("input", { type: "number", min: 0, step: 1024, value: state.dynamic, id: "dynamic" });
  const arch = el("select", { id: "arch" }, state.report.architectures.map((l) => el("option", { value: l.sm }, `sm_${l.sm}`)));
  arch.value = String(state.sm);
  const side = el("div", {});
  const has = (of) => unit.functions.some(of);
  const columns = [
    { title: "name", get: (r) => r.f.demangled, text: (r) => r.f.demangled.replace(/^void /, ""), names: true, width: "minmax(190px, 3fr)" },
    { title: "code", get: (r) => r.f.code, num: true, width: "74px" },
    { title: "regs", get: (r) => r.f.registers, num: true, width: "54px", help: "registers per thread" },
    { title: "stack", get: (r) => (r.f.stack_unknown ? Infinity : r.f.stack), text: (r) => stackText(r.f), num: true, width: "72px", help: "bytes with everything that is called" },
    innerWidth < 1100 ? null : { title: "local", get: (r) => (r.f.local_access ? r.f.local_access[0] + r.f.local_access[1] : null), num: true, width: "56px", help: "instructions that access local memory: spills, arrays" },
    { title: "shared", get: (r) => r.f.shared, text: (r) => number(r.f.shared) + (r.f.dynamic_shared ? "+" : ""), num: true, width: "72px", help: "static bytes; + for dynamic shared memory" },
    { title: "const", get: (r) => constantBytes(r.f), num: true, width: "58px", help: "bytes in constant banks, parameters included" },
    innerWidth < 1100 ? null : { title: "bar", get: (r) => r.f.barriers, num: true, width: "46px", help: "named barriers" },
    { title: "occupancy", get: (r) => (r.o ? r.o.percent : null), num: true, width: "96px", text: (r) => (r.o ? el("span", { class: r.o.blocks ? "" : "bad" }, `${r.o.percent} %${r.o.threads < state.block ? ` @${r.o.threads}` : ""}`) : "–") },
    { title: "limited by", get: (r) => (r.o ? r.o.limited_by.join(", ") : null), text: (r) => (r.o ? r.o.limited_by.join(", ") : ""), width: "minmax(100px, 1fr)" },
    innerWidth >= 1500 && has((f) => f.input !== null) ? { title: "input", get: (r) => inputName(unit, r.f), text: (r) => inputName(unit, r.f) || "", width: "minmax(90px, 1fr)" } : null,
  ].filter(Boolean);
  const table = grid({ columns, label: "Kernels", height: tableHeight, sort: { at: 1, down: true }, least: 700, onOpen: (r) => open(r.at) });

  function rows() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (f) => words.every((w) => f.demangled.toLowerCase().includes(w) || f.name.toLowerCase().includes(w) || (inputName(unit, f) || "").toLowerCase().includes(w));
    const list = [];
    unit.functions.forEach((f, at) => {
      if ((f.kernel || everything.checked) && fits(f)) list.push({ f, at, o: occupancyOf(f) });
    });
    count.textContent = `${number(list.length)} of ${number(unit.functions.length)}`;
    table.show(list);
    const chosen = list.find((r) => r.at === state.selected);
    if (chosen) table.select(chosen);
  }
  function open(at) {
    state.selected = at;
    side.replaceChildren(detail(unit, at, open));
  }
  const count = el("span", { class: "soft", id: "shown", role: "status" });
  filter.addEventListener("input", rows);
  everything.addEventListener("change", rows);
  const change = () => {
    state.block = Math.max(1, Math.min(1024, Number(block.value) || 1));
    state.dynamic = Math.max(0, Number(dynamic.value) || 0);
    state.sm = Number(arch.value);
    rows();
    if (state.selected !== null) open(state.selected);
  };
  [block, dynamic, arch].forEach((input) => input.addEventListener("change", change));
  if (state.selected !== null && !unit.functions[state.selected].kernel) everything.checked = true;
  if (!has((f) => f.kernel)) everything.checked = true;
  const element = el("div", {},
    el("div", { class: "tools" }, filter, el("label", {}, everything, "functions too"), count, el("span", { class: "grow" }),
      el("label", {}, "threads per block", block), el("label", {}, "dynamic shared", dynamic), el("label", {}, "on", arch)),
    el("div", { class: "two detail" }, table.element, side));
  const first = state.selected ?? unit.functions.reduce((best, f, at) => (f.kernel && (best === null || f.code > unit.functions[best].code) ? at : best), null);
  if (first !== null) open(first);
  else side.append(el("div", { class: "panel soft" }, "There are no kernels."));
  rows();
  return element;
}

function memoryPanel(unit) {
  const rows = unit.spaces.flatMap((s) => s.variables.map((v) => ({ s, v })));
  const table = grid({ label: "Variables", height: () => Math.max(240, innerHeight - 420), sort: { at: 1, down: true }, least: 640, columns: [
    { title: "variable", get: (r) => r.v.demangled, text: (r) => r.v.demangled, names: true, width: "minmax(160px, 2fr)" },
    { title: "bytes", get: (r) => r.v.size, num: true, width: "100px" },
    { title: "offset", get: (r) => r.v.offset, text: (r) => `0x${r.v.offset.toString(16)}`, num: true, width: "100px" },
    { title: "memory", get: (r) => r.s.name, text: (r) => r.s.name, width: "minmax(120px, 1fr)" },
    { title: "input", get: (r) => inputName(unit, r.v), text: (r) => inputName(unit, r.v) || "", width: "minmax(90px, 1fr)" },
  ] });
  table.show(rows);
  const spaces = grid({ label: "Memory spaces", height: 220, sort: { at: 1, down: true }, least: 500, columns: [
    { title: "memory", get: (s) => s.name, text: (s) => s.name, width: "minmax(200px, 2fr)" },
    { title: "bytes", get: (s) => s.size, num: true, width: "120px" },
    { title: "variables", get: (s) => s.variables.length, num: true, width: "100px" },
    { title: "section", get: (s) => s.section, text: (s) => s.section, width: "minmax(140px, 1fr)" },
  ] });
  spaces.show(unit.spaces);
  return el("div", {}, el("h2", {}, "Memory spaces"), spaces.element, el("h2", { style: "margin-top:16px" }, "Variables"), table.element);
}

function sectionsPanel(unit) {
  const table = grid({ label: "Sections", height: tableHeight, sort: { at: 1, down: true }, least: 480, columns: [
    { title: "section", get: (s) => s.name, text: (s) => s.name, width: "minmax(200px, 3fr)" },
    { title: "bytes", get: (s) => s.size, num: true, width: "120px" },
    { title: "share", get: (s) => s.size, text: (s) => el("span", { class: "bar", style: `width:${Math.max(1, (140 * s.size) / largest)}px` }), width: "160px" },
    { title: "in the file", get: (s) => (s.in_file ? 1 : 0), text: (s) => (s.in_file ? "yes" : "no"), width: "90px" },
  ] });
  const largest = Math.max(1, ...unit.sections.map((s) => s.size));
  table.show(unit.sections);
  return table.element;
}

function droppedPanel(unit) {
  const why = new Map();
  for (const d of unit.dropped) why.set(d.why, (why.get(d.why) || 0) + d.size);
  const table = grid({ label: "Dropped", height: tableHeight, sort: { at: 1, down: true }, least: 640, columns: [
    { title: "name", get: (d) => d.demangled, text: (d) => d.demangled, names: true, width: "minmax(180px, 2fr)" },
    { title: "bytes", get: (d) => d.size, num: true, width: "90px" },
    { title: "input", get: (d) => d.input, text: (d) => shortInput(unit, d.input), width: "minmax(160px, 1fr)" },
    { title: "why", get: (d) => d.why, text: (d) => d.why, width: "minmax(180px, 2fr)" },
  ] });
  table.show(unit.dropped);
  return el("div", {}, el("p", {}, `${number(unit.dropped.length)} functions, variables and sections of the inputs are not in the output, ${bytes(sum(unit.dropped, (d) => d.size))}.`), table.element);
}

function messagesPanel() {
  const classes = { error: "bad", fatal: "bad", warning: "warn", info: "soft" };
  return el("ul", { class: "messages panel" }, state.report.messages.map((m) => el("li", {},
    el("span", { class: `severity ${classes[m.severity] || ""}` }, m.severity), m.text, el("span", { class: "soft" }, `  ${m.code}`))));
}

function growthPanel() {
  const growth = state.report.growth;
  const delta = (a, b) => (b - a === 0 ? "0" : `${b > a ? "+" : "−"}${number(Math.abs(b - a))}`);
  const field = (key) => (c) => {
    const value = (n) => (n ? n[key] : undefined);
    const [a, b] = [value(c.before), value(c.after)];
    if (a === b) return number(a === undefined ? null : a);
    const show = (v) => (v === undefined ? "–" : v === null ? "unknown" : number(v));
    const worse = b === null || (b || 0) > (a || 0);
    return el("span", { class: worse ? "bad" : (b || 0) < (a || 0) ? "good" : "soft" }, `${show(a)} → ${show(b)}`);
  };
  const change = (c) => (c.after ? c.after.code : 0) - (c.before ? c.before.code : 0);
  const table = grid({ label: "Changes", height: tableHeight, sort: { at: 2, down: true }, least: 820, columns: [
    { title: "name", get: (c) => c.name, text: (c) => c.name, names: true, width: "minmax(200px, 3fr)" },
    { title: "change", get: (c) => (c.before ? (c.after ? "changed" : "gone") : "new"), text: (c) => (c.before ? (c.after ? "changed" : "gone") : "new"), width: "80px" },
    { title: "delta", get: (c) => Math.abs(change(c)), text: (c) => el("span", { class: change(c) > 0 ? "bad" : "good" }, delta(0, change(c))), num: true, width: "90px" },
    { title: "code", get: (c) => (c.after || c.before).code, text: field("code"), num: true, width: "150px" },
    { title: "registers", get: (c) => (c.after || c.before).registers, text: field("registers"), num: true, width: "100px" },
    { title: "stack", get: (c) => (c.after || c.before).stack, text: field("stack"), num: true, width: "120px" },
    { title: "shared", get: (c) => (c.after || c.before).shared, text: field("shared"), num: true, width: "130px" },
    { title: "arch", get: (c) => c.arch, text: (c) => c.arch, width: "76px" },
  ] });
  table.show(growth.changes);
  const total = ([a, b]) => `${bytes(a)} → ${bytes(b)} (${delta(a, b)}${a ? `, ${(((b - a) / a) * 100).toFixed(1).replace("-", "−")} %` : ""})`;
  return el("div", {},
    el("p", {}, `${growth.names[0]} → ${growth.names[1]}: cubins ${total(growth.size)}, code ${total(growth.code)}. ${number(growth.same)} functions have the same numbers.`),
    growth.unpaired.map((text) => el("p", { class: "warn" }, text)), table.element);
}
