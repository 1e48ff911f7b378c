// What runs side by side: one strip for each lane, in predicted time. Stalls are red; what moves values or changes their
// form has colours of its own; arrows say which memory they go to.
class LaneView {
  constructor(state, axis) {
    this.state = state;
    this.axis = axis;
    this.sheet = new Sheet(40, "", (pen, width, height) => this.paint(pen, width, height),
      { key: () => axis.key(), over: (pen, width, height) => paintMoment(pen, axis, state, 2, height - 20) });
    this.caption = make("span");
    this.legend = make("div", { class: "legend" });
    this.element = make("div", { class: "band", "data-view": "lanes" },
      make("h3", {}, "What runs side by side", this.caption), this.legend, this.sheet.canvas);
  }
  get plan() {
    return this.state.plan;
  }

  update() {
    const { plan } = this;
    this.element.hidden = plan.lanes.length < 2 && plan.memories.length < 2;
    this.sheet.height = 24 * plan.lanes.length + 24;
    this.sheet.canvas.style.height = `${this.sheet.height}px`;
    const stalled = plan.lanes.filter((lane) => lane.computes).reduce((sum, lane) => sum + lane.stalled, 0);
    this.caption.textContent = `computing waits ${timeText(stalled)} for transfers`;
    const entry = (colour, text) => make("span", {}, chip(colour), text);
    this.legend.replaceChildren(entry("#8c96a3", "compute"), entry(ROLE_STYLES.recomputed.colour, "compute again"),
      entry("#7a5230", "undo"), entry(KIND_COLOURS.copy, "copy between memories (↓ out, ↑ back)"),
      entry("#8e6bbf", "change of form"), entry(css("--alarm"), "stall"));
    this.sheet.canvas.setAttribute("aria-label", `${plan.lanes.length} lanes side by side, in predicted time`);
    this.makeSpans();
  }

  // Kernels of each lane in order, with whether a node has run before.
  makeSpans() {
    const { plan } = this;
    const ran = new Uint8Array(plan.graph.nodeCount);
    this.spans = plan.lanes.map(() => []);
    for (let s = 0; s < plan.stepCount; ++s) {
      const node = plan.node[s];
      const again = node >= 0 && ran[node] === 1;
      if (node >= 0) ran[node] = 1;
      const list = this.spans[plan.lane[s]];
      const sameGroup = list.length > 0 && plan.group[s] >= 0 && plan.group[list.at(-1).step] === plan.group[s];
      if (sameGroup) continue;
      list.push({ step: s, begin: plan.stepBegin[s], end: plan.stepEnd[s], again });
    }
  }

  colour(span) {
    const { plan } = this;
    const kind = plan.kind[span.step];
    if (kind === STEP.copy) return KIND_COLOURS.copy;
    if (kind !== STEP.compute) return "#8e6bbf";
    const flags = plan.graph.flags[plan.node[span.step]];
    if (flags & FLAG.undoes) return "#7a5230";
    if (flags & FLAG.unpacks) return "#8e6bbf";
    return span.again ? ROLE_STYLES.recomputed.colour : "#8c96a3";
  }

  paint(pen, width, height) {
    const { plan, axis } = this;
    axis.resize(width);
    pen.font = FONT;
    plan.lanes.forEach((lane, l) => {
      const y = 4 + 24 * l;
      pen.textAlign = "right";
      pen.fillStyle = css("--soft");
      pen.fillText(lane.name.slice(0, 11), MARGIN.left - 6, y + 14);
      pen.fillStyle = css("--ground");
      pen.fillRect(MARGIN.left, y, axis.width, 20);
      pen.save();
      pen.beginPath();
      pen.rect(MARGIN.left, y, axis.width, 20);
      pen.clip();
      let free = 0;
      for (const span of this.spans[l]) {
        const x = axis.xOfTime(span.begin);
        const to = axis.xOfTime(span.end);
        if (lane.computes && span.begin > free) {
          pen.fillStyle = css("--alarm");
          const stall = axis.xOfTime(free);
          pen.fillRect(stall, y + 2, Math.max(0.7, x - stall), 16);
        }
        free = Math.max(free, span.end);
        if (to < MARGIN.left || x > MARGIN.left + axis.width) continue;
        pen.fillStyle = this.colour(span);
        pen.fillRect(x, y + 2, Math.max(0.7, to - x - (to - x > 2 ? 0.5 : 0)), 16);
        if (plan.kind[span.step] === STEP.copy && to - x > 8) {
          const target = plan.outBuffer[plan.firstOut[span.step]];
          pen.fillStyle = "#10202c";
          pen.textAlign = "center";
          pen.fillText(plan.memory[target] > 0 ? "↓" : "↑", (x + to) / 2, y + 14);
        }
      }
      pen.restore();
    });
    axis.drawTicks(pen, height);
  }

  spanAt(x, y) {
    const lane = Math.floor((y - 4) / 24);
    const list = this.spans[lane];
    if (!list) return null;
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.axis.xOfTime(list[middle].begin) <= x) low = middle + 1;
      else high = middle;
    }
    return low > 0 && this.axis.xOfTime(list[low - 1].end) >= x - 1 ? list[low - 1] : null;
  }
  bufferAt(x, y) {
    const span = this.spanAt(x, y);
    if (!span || this.plan.firstOut[span.step] === this.plan.firstOut[span.step + 1]) return -1;
    return this.plan.outBuffer[this.plan.firstOut[span.step]];
  }
  hover(event, step, x, y) {
    const span = this.spanAt(x, y);
    if (!span) {
      hideCard();
      return -1;
    }
    showCard(event, make("b", {}, this.plan.stepTitle(span.step)),
      make("p", {}, `step ${countText(span.step)}${span.again ? ", computed again" : ""}`),
      make("p", {}, `${timeText((span.end - span.begin) / 1e9)} predicted, from ${timeText(span.begin / 1e9)} on`));
    return this.bufferAt(x, y);
  }
}
