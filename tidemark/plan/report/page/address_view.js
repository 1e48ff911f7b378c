// The address map: each buffer a rectangle, from its first to its last step and from its first to its last byte. The
// picture of all of them is kept; what is chosen is drawn over it.
class AddressView {
  constructor(state, axis, memory) {
    this.state = state;
    this.axis = axis;
    this.memory = memory;
    this.sheet = new Sheet(memory === 0 ? 250 : 120, "", (pen, width, height) => this.paint(pen, width, height),
      { key: () => [axis.key(), state.colourBy, this.showInputs].join(), over: (pen, width, height) => this.paintOver(pen, width, height) });
    this.caption = make("span");
    const name = this.plan.memories[memory].name;
    this.element = make("div", { class: "band", "data-view": `addresses-${memory}` },
      make("h3", {}, `Addresses in ${name}`, this.caption), this.sheet.canvas);
    this.showInputs = this.plan.memories[memory].input_bytes < 0.6 * this.plan.memories[memory].peak;
  }
  get plan() {
    return this.state.plan;
  }
  get bottom() {
    return this.showInputs ? 0 : this.plan.memories[this.memory].input_bytes;
  }
  get top() {
    return Math.max(1, this.plan.memories[this.memory].peak);
  }
  y(address, height) {
    return height - 20 - ((address - this.bottom) / Math.max(1, this.top - this.bottom)) * (height - 26);
  }
  address(y, height) {
    return this.bottom + ((height - 20 - y) / (height - 26)) * (this.top - this.bottom);
  }

  update() {
    if (this.memory >= this.plan.memories.length) return;
    const { plan } = this;
    let count = 0;
    for (let b = 0; b < plan.bufferCount; ++b) count += plan.memory[b] === this.memory && plan.hasMemory(b);
    this.caption.textContent = `${countText(count)} buffers; click one to follow who makes and reads it`;
    this.sheet.canvas.setAttribute("aria-label",
      `Addresses in ${plan.memories[this.memory].name} against the run: ${count} buffers`);
    this.sheet.pictureOf = "";
  }

  rectangle(buffer, height) {
    const { plan, axis } = this;
    const x = axis.x(plan.from(buffer));
    const y = this.y(plan.base[buffer] + plan.bytes[buffer], height);
    return [x, y, axis.x(plan.to(buffer)) - x, this.y(plan.base[buffer], height) - y];
  }
  shown(buffer) {
    const { plan } = this;
    return plan.memory[buffer] === this.memory && plan.hasMemory(buffer) &&
      (this.showInputs || plan.binding[buffer] !== BINDING.argument);
  }

  paintOver(pen, width, height) {
    if (this.plan.stepCount === 0) return;
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, 0, this.axis.width, height);
    pen.clip();
    this.paintChoice(pen, height);
    pen.restore();
    paintMoment(pen, this.axis, this.state, 2, height - 20);
  }

  paint(pen, width, height) {
    const { plan, axis } = this;
    axis.resize(width);
    if (plan.stepCount === 0) return;
    pen.font = FONT;
    pen.textAlign = "right";
    const tick = tickStep(this.top - this.bottom, (height - 26) / 40, true);
    for (let bytes = Math.ceil(this.bottom / tick) * tick; bytes <= this.top; bytes += tick) {
      pen.fillStyle = css("--soft");
      pen.fillText(byteTick(bytes), MARGIN.left - 6, this.y(bytes, height) + 4);
    }
    axis.drawTicks(pen, height);
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, 0, axis.width, height - 19);
    pen.clip();
    const first = axis.step(MARGIN.left);
    const last = axis.step(MARGIN.left + axis.width);
    const byColour = new Map();
    for (let b = 0; b < plan.bufferCount; ++b) {
      if (!this.shown(b) || plan.to(b) <= first || plan.from(b) > last) continue;
      const colour = this.state.colourBy === "value" ? valueColour(plan, b) ?? css("--line")
        : ROLE_STYLES[plan.page.roles[plan.role[b]]].colour;
      const list = byColour.get(colour) ?? [];
      list.push(b);
      byColour.set(colour, list);
    }
    const marked = [];
    const changes = plan.changesByBuffer();
    for (const [colour, list] of byColour) {
      pen.fillStyle = colour;
      for (const b of list) {
        const x = axis.x(plan.from(b));
        const y = this.y(plan.base[b] + plan.bytes[b], height);
        const w = axis.x(plan.to(b)) - x;
        const h = this.y(plan.base[b], height) - y;
        const gap = w > 3 && h > 3 ? 0.5 : 0;
        pen.fillRect(x, y, Math.max(0.7, w - gap), Math.max(0.7, h - gap));
        if ((w >= 5 && h >= 5) || changes.has(b)) marked.push(b);
      }
    }
    for (const b of marked) this.paintMarks(pen, b, height);
    pen.restore();
  }

  // What it turns into later in its life, forms, names.
  paintMarks(pen, buffer, height) {
    const { plan, axis } = this;
    if (this.state.colourBy === "role") {
      for (const at of plan.changesByBuffer().get(buffer) ?? []) {
        const [, y, , h] = this.rectangle(buffer, height);
        const x = axis.x(plan.changes[at + 1]);
        pen.fillStyle = ROLE_STYLES[plan.page.roles[plan.changes[at + 2]]].colour;
        pen.fillRect(x, y, Math.max(0.7, axis.x(plan.to(buffer)) - x), Math.max(0.7, h));
      }
    }
    const [x, y, w, h] = this.rectangle(buffer, height);
    if (w < 5 || h < 5) return;
    if (plan.codec[buffer] >= 0) hatch(pen, x, y, w, h);
    const left = Math.max(x, MARGIN.left);
    if (x + w - left < 70 || h < 13) return;
    const room = Math.floor((x + w - left - 8) / 6);
    const title = plan.bufferTitle(buffer);
    pen.font = FONT;
    pen.textAlign = "left";
    pen.fillStyle = "rgba(0,0,0,0.75)";
    const dark = ["parameters", "results", "activations"].includes(plan.page.roles[plan.role[buffer]]);
    if (dark && this.state.colourBy === "role") pen.fillStyle = "#ffffff";
    if (this.state.colourBy === "value" && !valueColour(plan, buffer)) pen.fillStyle = css("--soft");
    pen.fillText(title.length > room ? `${title.slice(0, Math.max(1, room - 1))}…` : title, left + 4, y + h / 2 + 4);
  }

  // The chosen buffer; others that hold the same value, joined by a line; what its maker reads, what its readers make.
  paintChoice(pen, height) {
    const { plan } = this;
    const outline = (buffer, colour, width, dash = []) => {
      if (!this.shown(buffer)) return null;
      const [x, y, w, h] = this.rectangle(buffer, height);
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.setLineDash(dash);
      pen.strokeRect(x, y, Math.max(2, w), Math.max(2, h));
      pen.setLineDash([]);
      return [x + w / 2, y + h / 2, x, y, w, h];
    };
    const family = (buffer, strong) => {
      const value = plan.value[buffer];
      const places = (value < 0 ? [buffer] : plan.places(value)).sort((a, b) => plan.begin[a] - plan.begin[b]);
      let before = null;
      for (const other of places) {
        const box = outline(other, css("--mark"), other === buffer ? 2.5 : 1.5);
        if (!box) continue;
        if (before) {
          pen.strokeStyle = css("--mark");
          pen.lineWidth = strong ? 1.5 : 1;
          pen.setLineDash([3, 3]);
          pen.beginPath();
          pen.moveTo(before[2] + before[4], before[1]);
          pen.lineTo(box[2], box[1]);
          pen.stroke();
          pen.setLineDash([]);
        }
        before = box;
      }
    };
    const { hovered, buffer } = this.state;
    if (hovered >= 0 && hovered !== buffer) family(hovered, false);
    if (buffer < 0) return;
    const { writers, readers } = plan.uses();
    for (const s of writers(buffer)) {
      for (let k = plan.firstIn[s]; k < plan.firstIn[s + 1]; ++k) outline(plan.inBuffer[k], css("--accent"), 1.5, [2, 2]);
    }
    for (const s of readers(buffer)) {
      for (let k = plan.firstOut[s]; k < plan.firstOut[s + 1]; ++k) outline(plan.outBuffer[k], css("--alarm"), 1.5, [2, 2]);
    }
    family(buffer, true);
    if (!this.shown(buffer)) return;
    const [, y, , h] = this.rectangle(buffer, height);
    pen.fillStyle = css("--mark");
    for (const s of readers(buffer)) {
      const x = (this.axis.x(s) + this.axis.x(s + 1)) / 2;
      pen.beginPath();
      pen.arc(x, y + h / 2, 2.5, 0, 7);
      pen.fill();
    }
  }

  bufferAt(x, y) {
    const { plan } = this;
    const step = this.axis.step(x);
    const index = plan.timeIndex(this.memory);
    for (const dy of [0, -1.5, 1.5, -3, 3]) {
      const buffer = index.find(step, this.address(y + dy, this.sheet.height));
      if (buffer >= 0 && this.shown(buffer)) return buffer;
    }
    return -1;
  }
  hover(event, step, x, y) {
    const buffer = this.bufferAt(x, y);
    if (buffer < 0) hideCard();
    else showCard(event, ...bufferLines(this.plan, buffer, step));
    return buffer;
  }
}

function hatch(pen, x, y, w, h) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, w, h);
  pen.clip();
  pen.strokeStyle = "rgba(0,0,0,0.45)";
  pen.lineWidth = 1;
  pen.beginPath();
  for (let d = -h; d < w; d += 6) {
    pen.moveTo(x + d, y + h);
    pen.lineTo(x + d + h, y);
  }
  pen.stroke();
  pen.restore();
}

function bufferLines(plan, buffer, step) {
  const role = plan.page.roles[plan.roleAt(buffer, step)];
  const value = plan.valueAt(buffer, step);
  const where = plan.bufferWhere(buffer, value);
  const lines = [make("b", {}, plan.bufferTitle(buffer, value)),
    make("p", {}, chip(ROLE_STYLES[role].colour), `${ROLE_STYLES[role].label}, ${bytesText(plan.bytes[buffer])}`)];
  if (value >= 0) lines.push(make("p", {}, plan.texts[plan.graph.type[value]]));
  if (where) lines.push(make("p", {}, where));
  lines.push(make("p", {}, plan.binding[buffer] === BINDING.argument ? "the caller's memory, there throughout"
    : `steps ${countText(plan.begin[buffer])} to ${countText(plan.end[buffer] - 1)}`));
  if (plan.codec[buffer] >= 0) lines.push(make("p", {}, `in the form ${plan.texts[plan.codec[buffer]]}`));
  return lines;
}
