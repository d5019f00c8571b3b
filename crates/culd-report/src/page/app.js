// Start: a page with data shows it; a page without is the viewer, which asks for files.

function tabs() {
  const { report, unit } = state;
  const list = [];
  if (report.growth) list.push(["growth", "Difference", report.growth.changes.length, growthPanel]);
  if (unit) {
    list.push(["overview", "Overview", null, () => overview(unit)]);
    list.push(["kernels", "Kernels", unit.functions.filter((f) => f.kernel).length, () => kernelsPanel(unit)]);
    list.push(["memory", "Memory", sum(unit.spaces, (s) => s.variables.length), () => memoryPanel(unit)]);
    list.push(["sections", "Sections", unit.sections.length, () => sectionsPanel(unit)]);
    if (unit.dropped.length) list.push(["dropped", "Dropped", unit.dropped.length, () => droppedPanel(unit)]);
  }
  if (report.messages.length || !unit) list.push(["messages", "Messages", report.messages.length, messagesPanel]);
  return list;
}

function show(tab, focus) {
  const list = tabs();
  const entry = list.find((t) => t[0] === tab) || list[0];
  state.tab = entry[0];
  const buttons = list.map(([id, title, count]) => el("button", { role: "tab", id: `tab-${id}`, "aria-selected": String(id === state.tab), "aria-controls": "main",
    tabindex: id === state.tab ? "0" : "-1", onclick: () => show(id), onkeydown: (event) => turn(event, id) }, title, count === null ? null : el("span", { class: "count" }, number(count))));
  document.getElementById("top").replaceChildren(heading(), el("div", { class: "tabs", role: "tablist", "aria-label": "Parts of the report" }, buttons));
  const main = document.getElementById("main");
  main.setAttribute("role", "tabpanel");
  main.setAttribute("aria-labelledby", `tab-${state.tab}`);
  main.replaceChildren(entry[3]());
  if (focus) document.getElementById(`tab-${state.tab}`).focus();
  try { history.replaceState(null, "", `#${state.tab}`); } catch (error) { /* pages without an address keep none */ }
}

function turn(event, id) {
  const ids = tabs().map((t) => t[0]);
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  show(ids[(ids.indexOf(id) + step + ids.length) % ids.length], true);
}

function heading() {
  const { report, unit } = state;
  const choice = report.units.length > 1 ? el("select", { id: "unit", "aria-label": "Cubin", onchange: (e) => { choose(report.units[Number(e.target.value)]); show(state.tab); } },
    report.units.map((u, i) => el("option", { value: i }, `${u.name} (${u.arch})`))) : null;
  if (choice) choice.value = String(report.units.indexOf(unit));
  const status = report.status && report.status !== "linked" ? el("span", { class: "bad" }, report.status === "errors" ? "the link has errors" : "the link failed") : null;
  return el("div", { class: "heading" }, el("h1", {}, report.title || "culd"), unit ? el("span", { class: "sub" }, `${unit.arch}${unit.relocatable ? ", not linked" : ""}`) : null, status, choice,
    el("span", { class: "grow", style: "flex:1" }), window.culdReader ? el("button", { onclick: () => location.reload() }, "Other files") : null, el("span", { class: "sub" }, `culd ${report.culd}`));
}

function choose(unit) {
  state.unit = unit || null;
  state.selected = null;
  if (!unit) return;
  state.sm = limitsOf(unit.sm) ? unit.sm : state.report.architectures[0].sm;
}

/** Shows a function in the table of kernels. */
function openFunction(at) {
  state.selected = at;
  show("kernels");
}

function start(report) {
  state.report = report;
  choose(report.units.reduce((best, u) => (!best || u.functions.length > best.functions.length ? u : best), null));
  show(report.growth ? "growth" : location.hash.slice(1) || "overview");
  requestAnimationFrame(() => performance.mark("ready"));
}

const embedded = JSON.parse(document.getElementById("data").textContent);
if (embedded) start(embedded);
else if (window.culdReader) window.culdReader(start);
