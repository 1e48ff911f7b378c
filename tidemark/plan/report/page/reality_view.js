// By which factor predictions may be off before a reader is told what to do about it.
const FAR_OFF = 1.5;
function isFarOff(profile) {
  return Math.max(profile.measured / profile.predicted, profile.predicted / profile.measured) > FAR_OFF;
}

// The plan beside runs of it: memory as planned and as measured, and of each kind of kernel the time predicted and taken.
// A profile stands in the page, or is read from a file.
class RealityView {
  constructor(state) {
    this.state = state;
    this.profile = null;
    this.file = make("input", { type: "file", id: "profile-file", accept: ".json", "aria-label": "Profile of runs of this plan",
      onchange: (event) => this.read(event.target.files[0]) });
    this.message = make("p", { class: "lead" });
    this.sheet = new Sheet(240, "Memory as planned and as measured, over time", (pen, width, height) => this.paint(pen, width, height));
    this.body = make("tbody");
    this.result = make("div", { class: "split", hidden: true },
      make("div", {}, make("h3", {}, "Memory over time"), this.sheet.canvas),
      make("div", { class: "scroll", style: "max-height:300px" }, make("table", { id: "reality-table" }, make("thead", {}, make("tr", {},
        make("th", {}, "what runs"), ...["kernels", "predicted", "measured", "measured / predicted"].map((name) => make("th", { class: "num" }, name)))), this.body)));
    this.element = make("section", { id: "reality-section" },
      make("div", { class: "head" }, make("h2", {}, "Plan against reality"),
        make("div", { class: "tools" }, make("label", { for: "profile-file" }, "Profile"), this.file)),
      this.message, this.result);
    this.say("Open a profile (.json) of runs of this plan, which step.profile().write(\"profile.json\") writes.");
    if (state.page.json.profile) this.show(state.page.json.profile);
  }
  say(text) {
    this.message.textContent = text;
  }

  async read(file) {
    if (!file) return;
    try {
      const json = JSON.parse(await file.text());
      if (json.format !== "tidemark-profile") throw new Error("it is of another format");
      this.show(json);
    } catch (error) {
      this.profile = null;  // else every change of the page would stumble over it again
      this.result.hidden = true;
      this.say(`${file.name} is no profile: ${error.message}`);
    }
  }

  show(profile) {
    this.profile = profile;
    this.result.hidden = false;
    this.update();
  }

  update() {
    const { profile } = this;
    if (!profile) return;
    const same = profile.plan_hash === this.state.plan.figures.plan_hash;
    const memory = profile.memories[0];
    this.say(`${countText(profile.runs.length)} runs: ${timeText(profile.measured)} measured, ${timeText(profile.predicted)} predicted; ` +
      `${bytesText(memory.input_bytes + memory.high_water)} used, ${bytesText(memory.input_bytes + memory.arena_bytes)} planned.` +
      (same ? "" : ` They are runs of another plan, ${profile.plan_hash}.`) +
      (isFarOff(profile) ? " The times are predicted for another machine, or a busy one: `tidemark machine --from` this file fits a machine to them." : ""));
    const kinds = new Map();
    for (const kernel of profile.kernels) {
      const ops = [...new Set(profile.steps.slice(kernel.first, kernel.last).map((step) => step.op))];
      const name = ops.length > 3 ? `${ops.slice(0, 3).join(" ")} …` : ops.join(" ");
      const kind = kinds.get(name) ?? { name, runs: 0, predicted: 0, measured: 0 };
      ++kind.runs;
      kind.predicted += kernel.predicted;
      kind.measured += kernel.measured;
      kinds.set(name, kind);
    }
    const rows = [...kinds.values()].sort((a, b) => b.measured - a.measured);
    this.body.replaceChildren(...rows.map((kind) => make("tr", {}, make("td", { class: "text" }, kind.name), make("td", { class: "num" }, countText(kind.runs)),
      make("td", { class: "num" }, timeText(kind.predicted)), make("td", { class: "num" }, timeText(kind.measured)),
      make("td", { class: "num" }, kind.predicted > 0 ? (kind.measured / kind.predicted).toFixed(2) : "–"))));
    this.sheet.draw();
  }

  // Both over their own seconds: where the times differ, so do the curves' lengths.
  paint(pen, width, height) {
    const { profile } = this;
    if (!profile) return;
    const { plan } = this.state;
    const curve = profile.memories[0].curve;
    const { total } = plan.load(0);
    const seconds = Math.max(profile.measured, plan.makespan, ...curve.slice(-1).map(([time]) => time));
    const top = 1.1 * curve.reduce((most, [, bytes]) => Math.max(most, bytes), plan.load(0).most);
    if (!Number.isFinite(1e3 * seconds) || !Number.isFinite(top)) return;  // 1e999 of a file would have ticks without end
    const x = (time) => MARGIN.left + (time / seconds) * (width - MARGIN.left - MARGIN.right);
    const y = (bytes) => height - 20 - (bytes / top) * (height - 40);
    pen.font = FONT;
    const step = tickStep(top, 5, true);
    for (let bytes = 0; bytes <= top; bytes += step) {
      pen.strokeStyle = css("--line");
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(MARGIN.left, y(bytes));
      pen.lineTo(width - MARGIN.right, y(bytes));
      pen.stroke();
      pen.textAlign = "right";
      pen.fillStyle = css("--soft");
      pen.fillText(byteTick(bytes), MARGIN.left - 6, y(bytes) + 4);
    }
    const along = tickStep(1e3 * seconds, width / 100);
    pen.textAlign = "center";
    for (let ms = 0; ms <= 1e3 * seconds; ms += along) pen.fillText(`${fourDigits(ms)} ms`, x(ms / 1e3), height - 4);
    const line = (colour, dash, points) => {
      pen.strokeStyle = colour;
      pen.lineWidth = 1.6;
      pen.setLineDash(dash);
      pen.beginPath();
      let before = null;
      for (const [time, bytes] of points) {
        if (before !== null) pen.lineTo(x(time), y(before));
        pen.lineTo(x(time), y(bytes));
        before = bytes;
      }
      pen.stroke();
      pen.setLineDash([]);
    };
    const planned = [];
    for (let s = 0; s < plan.stepCount; ++s) planned.push([plan.clock[s] / 1e9, total[s]]);
    line(css("--soft"), [4, 3], planned);
    line(css("--accent"), [], curve);
    paintLabel(pen, "planned, in predicted time", MARGIN.left + 6, 12, "left", css("--soft"));
    paintLabel(pen, "measured", MARGIN.left + 190, 12, "left", css("--accent"));
  }
}
