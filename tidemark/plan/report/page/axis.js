// From steps to pixels, for all bands of the timeline: by program order, or by the predicted time.
const MARGIN = { left: 66, right: 10 };

class Axis {
  constructor(state) {
    this.state = state;
    this.width = 600;
  }
  resize(width) {
    this.width = Math.max(100, width - MARGIN.left - MARGIN.right);
  }
  get plan() {
    return this.state.plan;
  }
  // Of what is drawn along it.
  key() {
    return [this.state.planNumber, this.state.byTime, this.state.low, this.state.high].join();
  }
  get whole() {
    return this.state.byTime ? this.plan.clock[this.plan.stepCount] : Math.max(1, this.plan.stepCount);
  }
  position(step) {
    return this.state.byTime ? this.plan.clock[step] : step;
  }
  x(step) {
    return this.ofPosition(this.position(step));
  }
  ofPosition(position) {
    const share = position / this.whole;
    return MARGIN.left + ((share - this.state.low) / (this.state.high - this.state.low)) * this.width;
  }
  share(x) {
    return this.state.low + ((x - MARGIN.left) / this.width) * (this.state.high - this.state.low);
  }
  // The step that is under way at a pixel.
  step(x) {
    const position = this.share(x) * this.whole;
    const last = Math.max(0, this.plan.stepCount - 1);
    if (!this.state.byTime) return Math.min(last, Math.max(0, Math.floor(position)));
    return Math.min(last, Math.max(0, this.stepAtTime(position)));
  }
  // The last step that is reached by then.
  stepAtTime(nanoseconds) {
    const { clock, stepCount } = this.plan;
    let low = 0;
    let high = stepCount;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (clock[middle] <= nanoseconds) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
  // Of a moment in time, in either order.
  xOfTime(nanoseconds) {
    if (this.state.byTime) return this.ofPosition(nanoseconds);
    const { clock, stepCount } = this.plan;
    const step = Math.min(stepCount - 1, Math.max(0, this.stepAtTime(nanoseconds)));
    const width = clock[step + 1] - clock[step];
    const part = width > 0 ? Math.min(1, (nanoseconds - clock[step]) / width) : 0;
    return this.ofPosition(step + part);
  }

  // Steps that each column of pixels shows: calls visit(x, first, last), last included.
  columns(visit) {
    const right = MARGIN.left + this.width;
    let first = this.step(MARGIN.left);
    for (let x = MARGIN.left; x < right; ++x) {
      const last = Math.max(first, this.step(x + 1));
      visit(x, first, last);
      first = last;
    }
  }

  drawTicks(pen, height, label) {
    const from = this.state.low * this.whole;
    const to = this.state.high * this.whole;
    const scale = this.state.byTime ? 1e-6 : 1;
    const round = tickStep((to - from) * scale, this.width / 90);
    const step = (this.state.byTime ? round : Math.max(1, round)) / scale;
    const digits = this.state.byTime ? Math.max(0, -Math.floor(Math.log10(step * scale))) : 0;
    pen.fillStyle = css("--soft");
    pen.strokeStyle = css("--line");
    pen.lineWidth = 1;
    pen.font = FONT;
    pen.textAlign = "center";
    for (let k = Math.ceil(from / step); k * step <= to; ++k) {
      const x = this.ofPosition(k * step);
      pen.beginPath();
      pen.moveTo(Math.round(x) + 0.5, height - 18);
      pen.lineTo(Math.round(x) + 0.5, height - 14);
      pen.stroke();
      if (x > MARGIN.left + this.width - 60) continue;
      pen.fillText(this.state.byTime ? `${(k * step * scale).toFixed(digits)} ms` : countText(k * step), x, height - 3);
    }
    pen.textAlign = "right";
    pen.fillText(label ?? (this.state.byTime ? "time" : "step"), MARGIN.left + this.width, height - 3);
  }
}
