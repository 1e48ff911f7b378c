// What is live at the moment: a table, the largest first.
const MOST_LIVE = 200;

class LiveTable {
  constructor(state) {
    this.state = state;
    this.title = make("h3");
    this.lead = make("p", { class: "lead" });
    this.body = make("tbody");
    this.peakButton = make("button", { type: "button", onclick: () => state.setMoment(state.plan.peakStep) }, "Go to the peak");
    this.element = make("div", {}, make("div", { class: "head" }, this.title, make("div", { class: "tools" }, this.peakButton)), this.lead,
      make("div", { class: "scroll", id: "live", tabindex: 0, "aria-label": "Buffers that are live at the moment" },
        make("table", {}, make("thead", {}, make("tr", {}, make("th", { class: "num" }, "size"), make("th", {}, "value"),
          make("th", {}, "line"))), this.body)));
  }

  update() {
    const { plan, moment } = this.state;
    if (plan.stepCount === 0) return;
    const live = plan.liveAt(moment).sort((a, b) => plan.bytes[b] - plan.bytes[a] || a - b);
    const first = live.filter((b) => plan.memory[b] === 0);
    const sum = first.reduce((bytes, b) => bytes + plan.bytes[b], 0);
    const isPeak = moment === plan.peakStep;
    this.peakButton.hidden = isPeak;
    this.title.textContent = isPeak ? `Live at the peak, step ${countText(moment)}` : `Live at step ${countText(moment)}`;
    this.lead.textContent = `${plan.stepTitle(moment)}: ${countText(first.length)} buffers, ${bytesText(sum)}` +
      (isPeak && bytesText(sum) !== bytesText(plan.memories[0].peak) ? `, with gaps between them ${bytesText(plan.memories[0].peak)}` : "");
    const rows = live.slice(0, MOST_LIVE).map((b) => this.row(b, moment));
    if (live.length > MOST_LIVE) {
      const rest = live.slice(MOST_LIVE).reduce((bytes, b) => bytes + plan.bytes[b], 0);
      rows.push(make("tr", {}, make("td", { class: "num" }, bytesText(rest)),
        make("td", { class: "text", colspan: 2 }, `in ${countText(live.length - MOST_LIVE)} smaller ones`)));
    }
    this.body.replaceChildren(...rows);
    this.mark();
  }

  row(buffer, step) {
    const { plan } = this.state;
    const role = plan.page.roles[plan.roleAt(buffer, step)];
    const value = plan.valueAt(buffer, step);
    const place = plan.memory[buffer] > 0 ? ` (${plan.memories[plan.memory[buffer]].name})` : "";
    const choose = () => this.state.choose(buffer);
    return make("tr", { class: "row", tabindex: 0, "data-buffer": buffer, onclick: choose,
      onkeydown: (event) => event.key === "Enter" && choose() },
    make("td", { class: "num" }, bytesText(plan.bytes[buffer])),
    make("td", { class: "text", title: ROLE_STYLES[role].label }, chip(ROLE_STYLES[role].colour), `\u2060${plan.bufferTitle(buffer, value)}${place}`),
    make("td", { class: "line", title: plan.bufferWhere(buffer, value) }, plan.bufferWhere(buffer, value)));
  }
  mark() {
    for (const row of this.body.children) row.classList?.toggle("chosen", Number(row.dataset.buffer) === this.state.buffer);
  }
}
