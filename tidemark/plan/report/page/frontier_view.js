// Time against memory: each plan of the slider a point, the one that is shown filled.
class FrontierView {
  constructor(state) {
    this.state = state;
    this.picture = make("div");
    this.element = make("section", { id: "frontier-section" },
      make("div", { class: "head" }, make("h2", {}, "Time against memory")),
      make("p", { class: "lead" }, "Each point is a plan that the verifier has accepted. Less memory costs time; the slider above goes over them."),
      this.picture);
  }

  update() {
    const { json } = this.state.page;
    const plans = json.plans.map((plan) => plan.figures);
    const width = Math.max(400, this.element.clientWidth - 34);
    const height = 240;
    const pad = { left: 70, right: 24, top: 14, bottom: 34 };
    const peaks = plans.map((plan) => plan.peak);
    const times = plans.map((plan) => 1e3 * plan.predicted_seconds);
    const spread = (values) => {
      const low = Math.min(...values);
      const high = Math.max(...values);
      const gap = (high - low) * 0.08 || Math.max(1e-9, high * 0.02);
      return [Math.max(0, low - gap), high + gap];
    };
    const [x0, x1] = spread(peaks);
    const [y0, y1] = spread(times);
    const x = (bytes) => pad.left + ((bytes - x0) / (x1 - x0)) * (width - pad.left - pad.right);
    const y = (ms) => height - pad.bottom - ((ms - y0) / (y1 - y0)) * (height - pad.top - pad.bottom);
    const svg = makeSvg("svg", { width, height, role: "img", "aria-label": `Time against memory: ${plans.length} plans` });
    const text = (content, at, up, anchor, strong) => {
      const element = makeSvg("text", { x: at, y: up, "text-anchor": anchor, class: strong ? "strong halo" : "" });
      element.textContent = content;
      svg.append(element);
    };
    const tick = tickStep(y1 - y0, 5);
    for (let ms = Math.ceil(y0 / tick) * tick; ms <= y1; ms += tick) {
      svg.append(makeSvg("line", { x1: pad.left, x2: width - pad.right, y1: y(ms), y2: y(ms), stroke: "var(--line)" }));
      text(timeText(ms / 1e3), pad.left - 6, y(ms) + 4, "end");
    }
    const byteStep = tickStep(x1 - x0, 7, true);
    for (let bytes = Math.ceil(x0 / byteStep) * byteStep; bytes <= x1; bytes += byteStep) {
      svg.append(makeSvg("line", { x1: x(bytes), x2: x(bytes), y1: height - pad.bottom, y2: height - pad.bottom + 4, stroke: "var(--faint)" }));
      text(byteTick(bytes), x(bytes), height - pad.bottom + 16, "middle");
    }
    text("memory at the peak →", width - pad.right, height - 4, "end");
    const path = plans.map((plan, i) => `${i === 0 ? "M" : "L"}${x(peaks[i]).toFixed(1)} ${y(times[i]).toFixed(1)}`).join("");
    svg.append(makeSvg("path", { d: path, fill: "none", stroke: "var(--accent)", "stroke-width": 1.5 }));
    plans.forEach((plan, i) => {
      const isShown = i === this.state.planNumber;
      const isAsked = i === json.current;
      svg.append(makeSvg("circle", { cx: x(peaks[i]), cy: y(times[i]), r: isShown ? 7 : 4.5, tabindex: 0, role: "button",
        "aria-label": `${bytesText(plan.peak)}, ${timeText(plan.predicted_seconds)}`, "data-plan": i, style: "cursor:pointer",
        fill: isShown ? "var(--accent)" : "var(--paper)", stroke: isAsked ? "var(--mark)" : "var(--accent)", "stroke-width": isAsked ? 2.5 : 1.5,
        onclick: () => this.state.setPlan(i), onkeydown: (event) => event.key === "Enter" && this.state.setPlan(i) }));
      if (isShown) {
        text(`shown: ${bytesText(plan.peak)}, ${timeText(plan.predicted_seconds)} (${percentText(plan.overhead_percent)})`,
          width - pad.right, pad.top + 6, "end", true);
      }
    });
    this.picture.replaceChildren(svg);
  }
}
