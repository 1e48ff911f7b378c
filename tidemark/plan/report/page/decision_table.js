// The decisions as a table to sort and to search. Of a long one only the rows in sight exist.
const ROW_HEIGHT = 26;

class DecisionTable {
  constructor(state) {
    this.state = state;
    this.sortBy = "bytes";
    this.falling = true;
    this.search = make("input", { type: "search", id: "search", placeholder: "Search name, op, line…", "aria-label": "Search decisions",
      oninput: () => this.refilter() });
    this.filter = make("select", { "aria-label": "Show decisions", onchange: () => this.refilter() });
    this.count = make("span");
    this.columns = [
      { key: "title", name: "value", width: "24%" },
      { key: "decision", name: "what becomes of it", width: "19%" },
      { key: "bytes", name: "size", width: "9%", number: true },
      { key: "runs", name: "computed", width: "8%", number: true },
      { key: "seconds", name: "extra time", width: "9%", number: true },
      { key: "steps", name: "steps in memory", width: "11%", number: true },
      { key: "where", name: "line", width: "20%" },
    ];
    this.header = make("tr");
    this.body = make("tbody");
    this.why = make("p", { class: "why", "aria-live": "polite" });
    this.scroller = make("div", { class: "rows", id: "decisions", tabindex: 0, onscroll: () => this.paintRows(),
      onkeydown: (event) => this.key(event) },
    make("table", {}, make("colgroup", {}, ...this.columns.map((c) => make("col", { style: `width:${c.width}` }))),
      make("thead", {}, this.header), this.body));
    this.element = make("section", { id: "decisions-section" },
      make("div", { class: "head" }, make("h2", {}, "What became of each value"),
        make("div", { class: "tools" }, this.count, this.filter, this.search)),
      make("p", { class: "lead" }, "One row per value that has memory or is made inside a kernel. Click a heading to sort, a row to see the value above."),
      this.scroller, this.why);
  }

  update() {
    this.all = decisionsOf(this.state.plan, this.state.page.json.explanation);
    const counts = new Map();
    for (const row of this.all) counts.set(row.decision, (counts.get(row.decision) ?? 0) + 1);
    const chosen = this.filter.value;
    this.filter.replaceChildren(make("option", { value: "" }, "all decisions"),
      ...[...counts].map(([name, count]) => make("option", { value: name }, `${DECISION_TEXTS[name] ?? name} (${countText(count)})`)));
    this.filter.value = counts.has(chosen) ? chosen : "";
    this.refilter();
  }

  refilter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter((word) => word);
    const wanted = this.filter.value;
    this.rows = this.all.filter((row) => {
      if (wanted && row.decision !== wanted) return false;
      if (words.length === 0) return true;
      row.haystack ??= `${row.title} ${row.type} ${row.where} ${row.op} ${DECISION_TEXTS[row.decision]}`.toLowerCase();
      return words.every((word) => row.haystack.includes(word));
    });
    this.sort();
  }

  sort() {
    const { sortBy: key } = this;
    const sign = this.falling ? -1 : 1;
    const order = (a, b) => (a < b ? -sign : a > b ? sign : 0);
    this.rows.sort((a, b) => order(a[key], b[key]) || a.value - b.value);
    this.header.replaceChildren(...this.columns.map((c) => {
      const mark = this.sortBy === c.key ? (this.falling ? " ↓" : " ↑") : "";
      return make("th", { class: c.number ? "num" : "", "aria-sort": mark ? (this.falling ? "descending" : "ascending") : "none" },
        make("button", { type: "button", "data-sort": c.key, onclick: () => this.sortOn(c) }, c.name + mark));
    }));
    this.count.textContent = `${countText(this.rows.length)} of ${countText(this.all.length)}`;
    this.scroller.scrollTop = 0;
    this.paintRows();
  }
  sortOn(c) {
    this.falling = this.sortBy === c.key ? !this.falling : Boolean(c.number);
    this.sortBy = c.key;
    this.sort();
  }

  paintRows() {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - 10);
    const last = Math.min(this.rows.length, first + Math.ceil(this.scroller.clientHeight / ROW_HEIGHT) + 30);
    const space = (rows) => make("tr", { style: `height:${rows * ROW_HEIGHT}px` }, make("td", { colspan: 7, style: "padding:0;border:0;height:0" }));
    this.body.replaceChildren(space(first), ...this.rows.slice(first, last).map((row) => this.row(row)), space(this.rows.length - last));
    this.mark();
  }

  row(row) {
    const choose = () => this.choose(row);
    return make("tr", { class: "row", "data-value": row.value, onclick: choose },
      make("td", { title: `${row.title} ${row.type}` }, `${row.title} ${row.type}`),
      make("td", {}, chip(DECISION_COLOURS[row.decision] ?? "#888"), DECISION_TEXTS[row.decision] ?? row.decision),
      make("td", { class: "num" }, bytesText(row.bytes)),
      make("td", { class: "num" }, row.runs > 0 ? `${row.runs} ×` : "–"),
      make("td", { class: "num" }, row.seconds > 0 ? timeText(row.seconds) : "–"),
      make("td", { class: "num" }, row.steps > 0 ? countText(row.steps) : "–"),
      make("td", { title: row.where }, row.where));
  }

  choose(row) {
    this.chosen = row;
    const told = row.told;
    const texts = [`${row.title} ${row.type}, made by ${row.op}: ${DECISION_TEXTS[row.decision] ?? row.decision}.`];
    if (told?.why && !told.alternatives.some((other) => other.why === told.why)) texts.push(told.why);
    for (const other of told?.alternatives ?? []) {
      const prices = [];
      if (other.peak_change !== null) prices.push(`peak ${other.peak_change < 0 ? "−" : "+"}${bytesText(Math.abs(other.peak_change))}`);
      if (other.seconds_change !== null) prices.push(`time ${other.seconds_change < 0 ? "−" : "+"}${timeText(Math.abs(other.seconds_change))}`);
      const change = prices.length > 0 ? `: ${prices.join(", ")}` : "";
      texts.push(`Instead ${DECISION_TEXTS[other.decision] ?? other.decision}${change}${other.why ? ` (${other.why})` : ""}.`);
    }
    this.why.replaceChildren(...texts.flatMap((text) => [text, make("br")]));
    if (row.places.length > 0) this.state.choose(row.places[0]);
    else this.mark();
  }
  key(event) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    event.stopPropagation();
    const at = this.rows.indexOf(this.chosen) + (event.key === "ArrowDown" ? 1 : -1);
    const row = this.rows[Math.min(this.rows.length - 1, Math.max(0, at))];
    if (!row) return;
    const y = this.rows.indexOf(row) * ROW_HEIGHT;
    if (y < this.scroller.scrollTop || y > this.scroller.scrollTop + this.scroller.clientHeight - 2 * ROW_HEIGHT) this.scroller.scrollTop = y;
    this.choose(row);
  }
  mark() {
    const { buffer, plan } = this.state;
    const value = buffer >= 0 ? plan.value[buffer] : this.chosen?.value ?? -1;
    for (const row of this.body.children) row.classList.toggle("chosen", row.dataset.value !== undefined && Number(row.dataset.value) === value);
  }
}
