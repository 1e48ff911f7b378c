// Memory over the run: what is live at each step, stacked by what it is, with the budget and the peak.
class MemoryView {
  constructor(state, axis, memory) {
    this.state = state;
    this.axis = axis;
    this.memory = memory;
    this.sheet = new Sheet(memory === 0 ? 200 : 100, "", (pen, width, height) => this.paint(pen, width, height),
      { key: () => axis.key(), over: (pen, width, height) => paintMoment(pen, axis, state, 3, height - 20) });
    this.caption = make("span");
    const name = this.plan.memories[memory].name;
    this.legend = make("div", { class: "legend" });
    this.element = make("div", { class: "band", "data-view": `memory-${memory}` },
      make("h3", {}, memory === 0 ? `Memory in use (${name})` : `Memory in use: ${name}`, this.caption), this.legend,
      this.sheet.canvas);
  }
  get plan() {
    return this.state.plan;
  }
  get figures() {
    return this.plan.memories[this.memory];
  }
  get top() {
    const { peak, budget } = this.figures;
    const shown = budget > 0 && budget < 3 * Math.max(1, peak) ? budget : 0;
    return 1.08 * Math.max(1, peak, shown, this.plan.load(this.memory).most);
  }
  y(bytes, height) {
    return height - 20 - (bytes / this.top) * (height - 48);
  }

  update() {
    const { plan } = this;
    if (this.memory >= plan.memories.length) return;
    const load = plan.load(this.memory);
    const used = STACK_ORDER.filter((name) => {
      const values = load.roles[plan.page.roles.indexOf(name)];
      return values.subarray(0, plan.stepCount).some((bytes) => bytes > 0);
    });
    this.legend.replaceChildren(...used.map((name) =>
      make("span", {}, chip(ROLE_STYLES[name].colour), ROLE_STYLES[name].label)));
    const { peak, budget } = this.figures;
    this.caption.textContent = budget > 0 ? `${bytesText(peak)} of ${bytesText(budget)}` : bytesText(peak);
    this.sheet.canvas.setAttribute("aria-label",
      `Memory of ${this.figures.name} over the run; the most is ${bytesText(load.most)} at step ${plan.peakStep}`);
  }

  paint(pen, width, height) {
    this.axis.resize(width);
    if (this.plan.stepCount === 0) return;
    this.paintGrid(pen, height);
    this.paintStack(pen, height);
    this.paintLimits(pen, width, height);
    this.paintPasses(pen, height);
    if (this.memory === 0) this.paintPeak(pen, width, height);
    this.axis.drawTicks(pen, height);
  }

  paintGrid(pen, height) {
    pen.font = FONT;
    pen.textAlign = "right";
    const step = tickStep(this.top, (height - 48) / 42, true);
    for (let bytes = 0; bytes <= this.top; bytes += step) {
      const y = Math.round(this.y(bytes, height)) + 0.5;
      pen.strokeStyle = css("--line");
      pen.beginPath();
      pen.moveTo(MARGIN.left, y);
      pen.lineTo(MARGIN.left + this.axis.width, y);
      pen.stroke();
      pen.fillStyle = css("--soft");
      pen.fillText(byteTick(bytes), MARGIN.left - 6, y + 4);
    }
  }

  // Of each column of pixels, the step in it that holds the most.
  paintStack(pen, height) {
    const { plan } = this;
    const load = plan.load(this.memory);
    const at = [];
    this.axis.columns((x, first, last) => {
      let best = first;
      for (let s = first + 1; s <= last; ++s) if (load.total[s] > load.total[best]) best = s;
      at.push(best);
    });
    const floor = new Float64Array(at.length);
    for (const name of STACK_ORDER) {
      const role = plan.page.roles.indexOf(name);
      const values = load.roles[role];
      const upper = floor.map((below, i) => below + values[at[i]]);
      if (!upper.some((value, i) => value > floor[i])) continue;
      pen.fillStyle = ROLE_STYLES[name].colour;
      pen.beginPath();
      for (let i = 0; i < at.length; ++i) {
        const y = this.y(upper[i], height);
        if (i === 0) pen.moveTo(MARGIN.left, y);
        pen.lineTo(MARGIN.left + i, y);
        pen.lineTo(MARGIN.left + i + 1, y);
      }
      for (let i = at.length - 1; i >= 0; --i) {
        const y = this.y(floor[i], height);
        pen.lineTo(MARGIN.left + i + 1, y);
        pen.lineTo(MARGIN.left + i, y);
      }
      pen.fill();
      floor.set(upper);
    }
  }

  paintLimits(pen, width, height) {
    const { budget } = this.figures;
    if (budget <= 0 || budget > this.top) return;
    const y = Math.round(this.y(budget, height)) + 0.5;
    pen.save();
    pen.strokeStyle = css("--alarm");
    pen.lineWidth = 1.5;
    pen.setLineDash([6, 4]);
    pen.beginPath();
    pen.moveTo(MARGIN.left, y);
    pen.lineTo(MARGIN.left + this.axis.width, y);
    pen.stroke();
    pen.restore();
    paintLabel(pen, `budget ${bytesText(budget)}`, MARGIN.left + this.axis.width - 4, y - 4, "right", css("--alarm"));
  }

  // Where the forward pass ends and the backward pass begins.
  paintPasses(pen, height) {
    const { backwardBegin } = this.plan;
    const x = Math.round(this.axis.x(backwardBegin)) + 0.5;
    if (!backwardBegin || x < MARGIN.left || x > MARGIN.left + this.axis.width) return;
    pen.save();
    pen.strokeStyle = css("--ink");
    pen.setLineDash([2, 3]);
    pen.beginPath();
    pen.moveTo(x, 16);
    pen.lineTo(x, height - 20);
    pen.stroke();
    pen.restore();
    paintLabel(pen, "forward", x - 6, 25, "right", css("--soft"));
    paintLabel(pen, "backward", x + 6, 25, "left", css("--soft"));
  }

  paintPeak(pen, width, height) {
    const { plan } = this;
    const x = (this.axis.x(plan.peakStep) + this.axis.x(plan.peakStep + 1)) / 2;
    if (x < MARGIN.left || x > MARGIN.left + this.axis.width) return;
    const bytes = plan.load(0).total[plan.peakStep];
    const y = this.y(bytes, height);
    pen.fillStyle = css("--mark");
    pen.beginPath();
    pen.moveTo(x, y - 1);
    pen.lineTo(x - 5, y - 9);
    pen.lineTo(x + 5, y - 9);
    pen.fill();
    const text = `peak: ${plan.stepTitle(plan.peakStep)}, step ${countText(plan.peakStep)}`;
    const left = x > MARGIN.left + this.axis.width / 2;
    paintLabel(pen, text, left ? x - 6 : x + 6, 11, left ? "right" : "left", css("--ink"));
  }

  hover(event, step) {
    const { plan } = this;
    const load = plan.load(this.memory);
    const rows = STACK_ORDER.map((name) => [name, load.roles[plan.page.roles.indexOf(name)][step]])
      .filter(([, bytes]) => bytes > 0).reverse();
    showCard(event, make("b", {}, `${bytesText(load.total[step])} in use`), make("p", {}, `step ${countText(step)}: ${plan.stepTitle(step)}`),
      ...rows.map(([name, bytes]) => make("p", {}, chip(ROLE_STYLES[name].colour), `${ROLE_STYLES[name].label} ${bytesText(bytes)}`)));
    return -1;
  }
  bufferAt() {
    return -1;
  }
}

// Text that can be read on any colour.
function paintLabel(pen, text, x, y, align, colour) {
  pen.font = FONT;
  pen.textAlign = align;
  pen.lineWidth = 3;
  pen.lineJoin = "round";
  pen.strokeStyle = css("--paper");
  pen.strokeText(text, x, y);
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}

// The moment that was clicked, and the one under the pointer.
function paintMoment(pen, axis, state, top, bottom) {
  const line = (step, colour, width) => {
    const x = (axis.x(step) + axis.x(step + 1)) / 2;
    if (x < MARGIN.left - 1 || x > MARGIN.left + axis.width + 1) return;
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    pen.moveTo(x, top);
    pen.lineTo(x, bottom);
    pen.stroke();
  };
  if (state.hoverStep >= 0) line(state.hoverStep, css("--faint"), 1);
  line(state.moment, css("--mark"), 1.5);
}
