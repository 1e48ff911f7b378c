// Copies between memories as arrows from one address map to the other, over all bands.
const MOST_ARROWS = 600;

class TransferArrows {
  constructor(state, axis, host, addressViews) {
    this.state = state;
    this.axis = axis;
    this.host = host;
    this.views = addressViews;
    this.canvas = make("canvas", { "aria-hidden": "true",
      style: "position:absolute;inset:0;pointer-events:none;height:100%;width:100%" });
    host.append(this.canvas);
  }

  draw() {
    const { plan } = this.state;
    const box = this.host.getBoundingClientRect();
    const scale = devicePixelRatio || 1;
    const views = this.views();
    if (views.length < 2) {
      this.canvas.width = this.canvas.height = 0;
      return;
    }
    this.canvas.width = Math.round(box.width * scale);
    this.canvas.height = Math.round(box.height * scale);
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    const tops = views.map((view) => view.sheet.canvas.getBoundingClientRect().top - box.top);
    const left = views[0].sheet.canvas.getBoundingClientRect().left - box.left;
    const chosen = this.state.buffer;
    let drawn = 0;
    for (let s = 0; s < plan.stepCount && drawn < MOST_ARROWS; ++s) {
      if (plan.kind[s] !== STEP.copy && plan.kind[s] !== STEP.encode && plan.kind[s] !== STEP.decode) continue;
      const from = plan.inBuffer[plan.firstIn[s]];
      const to = plan.outBuffer[plan.firstOut[s]];
      if (plan.memory[from] === plan.memory[to]) continue;
      const x0 = this.axis.xOfTime(plan.stepBegin[s]);
      const x1 = this.axis.xOfTime(plan.stepEnd[s]);
      if (x1 < MARGIN.left || x0 > MARGIN.left + this.axis.width) continue;
      const y = (buffer) => {
        const view = views[plan.memory[buffer]];
        return tops[plan.memory[buffer]] + view.y(plan.base[buffer] + plan.bytes[buffer] / 2, view.sheet.height);
      };
      const strong = chosen >= 0 && (from === chosen || to === chosen || (plan.value[from] >= 0 && plan.value[from] === plan.value[chosen]));
      this.arrow(pen, left + x0, y(from), left + x1, y(to), strong);
      ++drawn;
    }
  }

  arrow(pen, x0, y0, x1, y1, strong) {
    pen.strokeStyle = pen.fillStyle = strong ? css("--mark") : css("--accent");
    pen.globalAlpha = strong ? 1 : 0.3;
    pen.lineWidth = strong ? 2 : 1;
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
    const angle = Math.atan2(y1 - y0, x1 - x0);
    const size = strong ? 8 : 5;
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x1 - size * Math.cos(angle - 0.4), y1 - size * Math.sin(angle - 0.4));
    pen.lineTo(x1 - size * Math.cos(angle + 0.4), y1 - size * Math.sin(angle + 0.4));
    pen.fill();
    pen.globalAlpha = 1;
  }
}
