// A table of any length: only the rows in sight are elements.

const ROW = 28;

/**
 * columns: { title, get, text, num, width, help }; text makes a string or a node of a row, get a value to sort by.
 * Returns { element, show(rows), select(row) }.
 */
function grid({ columns, label, onOpen, sort, height, least }) {
  const view = { rows: [], sort: sort || { at: 0, down: false }, on: -1, all: [] };
  const template = columns.map((c) => c.width || "minmax(80px, 1fr)").join(" ");
  const heads = columns.map((c, at) => el("div", { role: "columnheader", class: c.num ? "num" : "", title: c.help || null },
    el("button", { onclick: () => order(at) }, c.title)));
  const head = el("div", { class: "head", role: "row", style: `grid-template-columns:${template}` }, heads);
  const filler = el("div", { role: "presentation" });
  const body = el("div", { class: "body", tabindex: "0", role: "rowgroup", "aria-label": `${label}: arrow keys choose a row, Enter opens it` }, filler);
  const element = el("div", { class: "grid", role: "grid", "aria-label": label, style: `--min:${least || 0}px` }, head, body);

  function order(at) {
    view.sort = { at, down: view.sort.at === at ? !view.sort.down : Boolean(columns[at].num) };
    arrange();
  }

  function arrange() {
    const { get } = columns[view.sort.at];
    const sign = view.sort.down ? -1 : 1;
    const keyed = view.all.map((row, i) => [get(row), i, row]);
    // What is not known comes last in both directions.
    keyed.sort(([a, i], [b, j]) => {
      if (a === null || b === null || a === undefined || b === undefined) return (a === null || a === undefined) - (b === null || b === undefined) || i - j;
      return (a < b ? -sign : a > b ? sign : i - j);
    });
    const on = view.rows[view.on];
    view.rows = keyed.map((k) => k[2]);
    view.on = on ? view.rows.indexOf(on) : -1;
    heads.forEach((h, i) => h.setAttribute("aria-sort", i === view.sort.at ? (view.sort.down ? "descending" : "ascending") : "none"));
    element.setAttribute("aria-rowcount", view.rows.length + 1);
    draw();
  }

  function draw() {
    const room = typeof height === "function" ? height() : height;
    body.style.height = `${Math.min(room, Math.max(1, view.rows.length) * ROW + 14)}px`;
    filler.style.height = `${view.rows.length * ROW}px`;
    const from = Math.max(0, Math.floor(body.scrollTop / ROW) - 8);
    const to = Math.min(view.rows.length, Math.ceil((body.scrollTop + room) / ROW) + 8);
    const shown = [];
    const widths = heads.map((h) => h.clientWidth);
    for (let i = from; i < to; i += 1) {
      const row = view.rows[i];
      shown.push(el("div", { class: i === view.on ? "row on" : "row", role: "row", "aria-rowindex": i + 2, "aria-selected": i === view.on ? "true" : "false",
        style: `top:${i * ROW}px;grid-template-columns:${template}`, onclick: () => choose(i, true) },
        columns.map((c, at) => {
          const content = c.text ? c.text(row) : number(c.get(row));
          const short = c.names ? brief(content, Math.floor((widths[at] - 16) / 8.6)) : content;
          return el("div", { role: "gridcell", class: c.num ? "num" : "", title: typeof content === "string" && !c.num ? content : null }, short);
        })));
    }
    if (!view.rows.length) shown.push(el("div", { class: "empty" }, "nothing to show"));
    filler.replaceChildren(...shown);
  }

  function choose(at, open) {
    if (!view.rows.length) return;
    view.on = Math.max(0, Math.min(view.rows.length - 1, at));
    const top = view.on * ROW;
    if (top < body.scrollTop) body.scrollTop = top;
    else if (top + ROW > body.scrollTop + body.clientHeight) body.scrollTop = top + ROW - body.clientHeight;
    draw();
    if (open && onOpen) onOpen(view.rows[view.on]);
  }

  body.addEventListener("scroll", () => draw(), { passive: true });
  body.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(body.clientHeight / ROW) - 1);
    const to = { ArrowDown: view.on + 1, ArrowUp: view.on - 1, PageDown: view.on + page, PageUp: view.on - page, Home: 0, End: view.rows.length - 1 }[event.key];
    if (to !== undefined) choose(to, false);
    else if (event.key === "Enter" && view.on >= 0) choose(view.on, true);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => draw()).observe(body);
  return {
    element,
    show(rows) { view.all = rows; arrange(); },
    select(row) { const at = view.rows.indexOf(row); if (at >= 0) choose(at, false); },
  };
}
