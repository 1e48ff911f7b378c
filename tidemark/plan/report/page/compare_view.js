// This plan beside another: one of the slider's, or that of another page, read from a file.
class CompareView {
  constructor(state) {
    this.state = state;
    this.other = null;
    this.file = make("input", { type: "file", id: "compare-file", accept: ".html,.json", "aria-label": "Page to compare with",
      onchange: (event) => this.read(event.target.files[0]) });
    this.message = make("p", { class: "lead" });
    this.tableBody = make("tbody");
    this.head = make("tr");
    this.sheet = new Sheet(200, "Memory of both plans over the run", (pen, width, height) => this.paint(pen, width, height));
    this.result = make("div", { class: "split", hidden: true }, make("div", {}, make("table", { id: "compare-table" }, make("thead", {}, this.head), this.tableBody)),
      make("div", {}, make("h3", {}, "Memory over the run, from its begin to its end"), this.sheet.canvas));
    this.element = make("section", { id: "compare-section" },
      make("div", { class: "head" }, make("h2", {}, "Compare with another plan"),
        make("div", { class: "tools" }, make("label", { for: "compare-file" }, "Page of another plan"), this.file)),
      this.message, this.result);
    this.say("Open the page (.html) of another plan, of the same program or of another: nothing leaves this computer.");
  }
  say(text) {
    this.message.textContent = text;
  }

  async read(file) {
    if (!file) return;
    try {
      this.show(pageDataOf(await file.text()), file.name);
    } catch (error) {
      this.other = null;  // else every change of the page would stumble over it again
      this.result.hidden = true;
      this.say(`${file.name} is no page of a plan: ${error.message}`);
    }
  }
  show(json, name) {
    const page = new PageModel(json);
    if (page.planCount === 0) throw new Error("it has no plan");
    if (!(json.current in json.plans)) throw new Error("the plan that was asked for is missing");
    this.other = page.plan(json.current);
    this.otherName = json.title === this.state.page.json.title ? name : json.title;
    this.say("");
    this.result.hidden = false;
    this.update();
  }

  update() {
    if (!this.other) return;
    const here = this.state.plan.figures;
    const there = this.other.figures;
    this.head.replaceChildren(make("th", {}), make("th", { class: "num" }, "this plan"), make("th", { class: "num" }, this.otherName),
      make("th", { class: "num" }, "difference"));
    const rows = [["peak", "peak", bytesText], ["budget", "budget", bytesText], ["arena", "arena_bytes", bytesText], ["inputs", "input_bytes", bytesText],
      ["predicted time", "predicted_seconds", timeText], ["extra time", "overhead_percent", percentText], ["steps", "steps", countText],
      ["kernels", "kernels", countText], ["computed again", "recomputed", countText]];
    const line = (name, a, b, text) => make("tr", {}, make("td", {}, name), make("td", { class: "num" }, a === null ? "–" : text(a)),
      make("td", { class: "num" }, b === null ? "–" : text(b)),
      make("td", { class: "num" }, a === null || b === null ? "–" : `${b < a ? "−" : "+"}${text(Math.abs(b - a)).replace(/^\+/, "")}`));
    const roles = this.state.page.roles.map((role) => line(`peak holds: ${ROLE_STYLES[role].label}`, here.peak_holds[role] ?? 0, there.peak_holds[role] ?? 0, bytesText));
    this.tableBody.replaceChildren(...rows.map(([name, key, text]) => line(name, here[key], there[key], text)), ...roles);
    this.sheet.draw();
  }

  paint(pen, width, height) {
    if (!this.other) return;
    const plans = [[this.state.plan, css("--accent"), "this plan"], [this.other, "#e69f00", this.otherName]];
    const top = 1.05 * Math.max(...plans.map(([plan]) => plan.load(0).most));
    plans.forEach(([plan, colour, name], k) => {
      const { total } = plan.load(0);
      pen.strokeStyle = colour;
      pen.lineWidth = 1.5;
      pen.beginPath();
      for (let x = 0; x < width; ++x) {
        const first = Math.floor((x / width) * plan.stepCount);
        const last = Math.max(first + 1, Math.floor(((x + 1) / width) * plan.stepCount));
        let most = 0;
        for (let s = first; s < last; ++s) most = Math.max(most, total[s]);
        pen.lineTo(x, height - 4 - (most / top) * (height - 22));
      }
      pen.stroke();
      paintLabel(pen, `${name}: ${bytesText(plan.memories[0].peak)}`, 6 + k * (width / 2), 12, "left", colour);
    });
  }
}

// The data inside of a page, or the data alone. The end of a script is written in two parts, lest it end this one.
function pageDataOf(text) {
  const mark = ' id="data">';
  const at = text.indexOf(mark);
  const json = JSON.parse(at < 0 ? text : text.slice(at + mark.length, text.indexOf("<" + "/script>", at)));
  if (json.format !== "tidemark-page") throw new Error("it is of another format");
  return json;
}
