// Puts the views together, and draws those again that a change concerns, once for each frame.
const json = JSON.parse(find("data").textContent);
const page = new PageModel(json);

function showHeading() {
  find("title").textContent = json.title;
  document.title = `${json.title} – Tidemark`;
  const machine = json.machine ? `, times of the machine “${json.machine}”` : "";
  find("subtitle").textContent = json.kind === "plan" ? `plan of memory for ${json.target}${machine}` : "checkpoint schedule";
  find("notes").replaceChildren(...json.notes.map((note) => make("li", {}, note)));
}

function showPlanFigures(plan) {
  const figures = plan.figures;
  const verdict = find("verdict");
  verdict.textContent = plan.verdict;
  verdict.classList.toggle("misfit", !figures.fits);
  const rows = [["peak", bytesText(figures.peak), "The most memory that is in use at any moment, arguments included."]];
  if (figures.budget !== null) rows.push(["budget", bytesText(figures.budget), "What the plan may take."]);
  for (const memory of figures.memories.slice(1)) rows.push([memory.name, bytesText(memory.peak), "The most that is in use of this memory."]);
  rows.push(["predicted time", timeText(figures.predicted_seconds), "Of one run, by the rates of the machine named above."],
    ["extra time", percentText(figures.overhead_percent), "More than without a budget: the price of less memory."],
    ["extra at least", percentText(figures.lower_bound_percent), "No plan within this budget is predicted to take less extra time."],
    ["computed again", `${countText(figures.recomputed)} steps`, "Steps that run a second time, so that their results need not be kept."],
    ["store everything", bytesText(figures.store_all_bytes), "What the run would take if no value's memory were ever used again."],
    ["steps", countText(figures.steps), "All that the plan runs, in this order."],
    ["plan hash", figures.plan_hash, "A name for the plan's decisions: the same wherever the same is planned."]);
  find("figures").replaceChildren(...rows.map(([name, text, help]) =>
    make("div", { title: help }, make("dt", {}, name), make("dd", { "data-figure": name }, text))));
}

function showNavigation(entries) {
  find("nav").replaceChildren(...entries.map(([id, name]) =>
    make("a", { href: `#${id}`, onclick: (event) => {
      event.preventDefault();
      find(id).scrollIntoView({ behavior: "smooth" });
    } }, name)));
}

class Explorer {
  constructor() {
    this.state = new State(page);
    this.axis = new Axis(this.state);
    this.details = new Details(this.state);
    this.live = new LiveTable(this.state);
    this.decisions = new DecisionTable(this.state);
    this.frontier = new FrontierView(this.state);
    this.graph = new GraphView(this.state);
    this.compare = new CompareView(this.state);
    this.reality = new RealityView(this.state);
    this.stairs = json.staircases.map((stairs) => new StaircaseView(stairs, false));
    this.bands = make("div", { class: "bands", style: "position:relative" });
    this.toolbar = this.makeToolbar();
    const timeline = make("section", { id: "timeline-section" },
      make("div", { class: "head" }, make("h2", {}, "Memory over the run"), this.toolbar),
      make("p", { class: "lead" }, "Drag over a stretch to see it larger, click to choose a moment."),
      make("div", { class: "timeline" }, this.bands, make("aside", {}, this.details.element, this.live.element)));
    find("main").replaceChildren(timeline, this.decisions.element, ...(page.planCount > 1 ? [this.frontier.element] : []),
      this.graph.element, ...this.stairs.map((view) => view.element), this.reality.element, this.compare.element);
    if (this.stairs.length > 0) this.stairs[0].element.id = "stairs-section";
    this.arrows = new TransferArrows(this.state, this.axis, this.bands, () => this.addresses);
    this.makeSlider();
    this.state.listen((what) => this.changed(what));
    addEventListener("resize", () => this.changed("size"));
    addEventListener("hashchange", () => {
      this.state.read(location.hash);
      this.changed("plan");
    });
    addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.changed("plan"));
    this.changed("plan");
  }

  makeToolbar() {
    const button = (text, act, attributes = {}) => make("button", { type: "button", onclick: act, ...attributes }, text);
    this.byOrder = button("program order", () => this.state.setByTime(false), { id: "by-order" });
    this.byTime = button("predicted time", () => this.state.setByTime(true), { id: "by-time" });
    this.colour = make("select", { "aria-label": "Colours of the address map", onchange: (event) => this.state.setColourBy(event.target.value) },
      make("option", { value: "role" }, "colour: what it is"), make("option", { value: "value" }, "colour: values computed again"));
    this.whole = button("All of the run", () => this.state.setView(0, 1), { id: "whole-run" });
    return make("div", { class: "tools" }, "across:", this.byOrder, this.byTime, this.colour, this.whole);
  }

  makeSlider() {
    const slider = find("plan-slider");
    find("slider-row").hidden = page.planCount < 2;
    slider.max = page.planCount - 1;
    slider.addEventListener("input", () => this.state.setPlan(Number(slider.value)));
    find("plan-back").addEventListener("click", () => this.state.setPlan(json.current));
  }

  // The bands of the plan: of each memory its use, then lanes, then the addresses of each memory.
  makeBands() {
    const { plan } = this.state;
    const key = plan.memories.map((memory) => memory.name).join();
    if (this.bandsOf === key) return;
    this.bandsOf = key;
    this.memories = plan.memories.map((_, m) => new MemoryView(this.state, this.axis, m));
    this.addresses = plan.memories.map((_, m) => new AddressView(this.state, this.axis, m));
    this.lanes = new LaneView(this.state, this.axis);
    this.views = [...this.memories, this.lanes, ...this.addresses];
    this.bands.replaceChildren(...this.views.map((view) => view.element), this.arrows.canvas);
    for (const view of this.views) this.follow(view);
  }

  // Pointer and keys on a band.
  follow(view) {
    const { canvas } = view.sheet;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let from = null;
    canvas.addEventListener("pointerdown", (event) => {
      [from] = place(event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", (event) => {
      const [x, y] = place(event);
      const begin = from;
      from = null;
      if (begin === null) return;
      if (Math.abs(x - begin) > 6) {
        this.state.setView(this.axis.share(Math.min(x, begin)), this.axis.share(Math.max(x, begin)));
        return;
      }
      const buffer = view.bufferAt(x, y);
      this.state.moment = this.axis.step(x);
      this.state.buffer = buffer;
      this.state.tell("moment");
      this.state.tell("choice");
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      const inside = x >= MARGIN.left && x <= MARGIN.left + this.axis.width;
      const step = inside ? this.axis.step(x) : -1;
      const hovered = inside ? view.hover(event, step, x, y) : -1;
      if (!inside) hideCard();
      if (step === this.state.hoverStep && hovered === this.state.hovered) return;
      this.state.hoverStep = step;
      this.state.hovered = hovered;
      this.state.tell("hover");
    });
    canvas.addEventListener("pointerleave", () => {
      hideCard();
      this.state.hoverStep = -1;
      this.state.hovered = -1;
      this.state.tell("hover");
    });
    canvas.addEventListener("dblclick", () => this.state.setView(0, 1));
  }

  zoom(factor) {
    const { state, axis } = this;
    const middle = axis.position(state.moment) / axis.whole;
    const width = (state.high - state.low) * factor;
    state.setView(middle - width / 2, middle + width / 2);
  }
  key(event) {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== "Escape")) return;
    const { state } = this;
    const far = event.shiftKey ? Math.max(1, Math.round(state.plan.stepCount / 50)) : 1;
    const acts = {
      ArrowLeft: () => state.setMoment(state.moment - far),
      ArrowRight: () => state.setMoment(state.moment + far),
      p: () => state.setMoment(state.plan.peakStep),
      "+": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      0: () => state.setView(0, 1),
      Escape: () => state.choose(-1),
      "/": () => this.decisions.search.focus(),
    };
    const act = acts[event.key] ?? acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  }

  changed(what) {
    this.waiting ??= new Set();
    this.waiting.add(what);
    this.frame ||= requestAnimationFrame(() => this.refresh());
  }

  refresh() {
    this.frame = 0;
    const waiting = this.waiting;
    this.waiting = new Set();
    const { state } = this;
    const anew = waiting.has("plan");
    if (anew) {
      this.makeBands();
      showPlanFigures(state.plan);
      for (const view of this.views) view.update();
    }
    // What stands below comes a moment later, so that the first picture is there at once.
    if (anew || waiting.has("size")) this.later ||= setTimeout(() => this.refreshBelow(), 30);
    this.belowAnew ||= anew;
    if (anew || waiting.has("moment")) this.live.update();
    if (anew || waiting.has("choice")) {
      this.details.update();
      this.live.mark();
      if (this.decisions.rows) this.decisions.mark();
    }
    for (const view of this.views) view.sheet.draw();
    if (anew || waiting.has("size") || waiting.has("view") || waiting.has("choice")) this.arrows.draw();
    this.byOrder.setAttribute("aria-pressed", String(!state.byTime));
    this.byTime.setAttribute("aria-pressed", String(state.byTime));
    this.whole.hidden = state.low === 0 && state.high === 1;
    this.colour.value = state.colourBy;
    this.showSlider();
  }

  refreshBelow() {
    this.later = 0;
    if (this.belowAnew) {
      this.decisions.update();
      this.compare.update();
      this.reality.update();
    }
    this.belowAnew = false;
    if (page.planCount > 1) this.frontier.update();
    this.graph.update();
    for (const view of this.stairs) view.sheet.draw();
    this.compare.sheet.draw();
    this.reality.sheet.draw();
    this.decisions.paintRows();
    showNavigation([["timeline-section", "Memory"], ["decisions-section", "Decisions"],
      ...(page.planCount > 1 ? [["frontier-section", "Time against memory"]] : []),
      ...(this.graph.element.hidden ? [] : [["graph-section", "Forward and backward"]]),
      ...(this.stairs.length > 0 ? [["stairs-section", "Loops"]] : []), ["reality-section", "Plan against reality"], ["compare-section", "Compare"]]);
    document.documentElement.dataset.ready = "true";
  }

  showSlider() {
    const figures = this.state.plan.figures;
    find("plan-slider").value = this.state.planNumber;
    find("plan-label").textContent = `${bytesText(figures.peak)}, ${timeText(figures.predicted_seconds)} (${percentText(figures.overhead_percent)})` +
      (this.state.planNumber === json.current ? ", as asked for" : "");
    find("plan-back").hidden = this.state.planNumber === json.current;
  }
}

showHeading();
if (json.kind === "plan") {
  const explorer = new Explorer();
  find("keys").hidden = false;
  window.tidemark = { state: explorer.state, explorer };
} else {
  const views = json.staircases.map((stairs) => new StaircaseView(stairs, true));
  find("verdict").textContent = json.notes[0] ?? "";
  find("notes").replaceChildren();
  find("main").replaceChildren(...views.map((view) => view.element));
  const draw = () => views.forEach((view) => view.sheet.draw());
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
  document.documentElement.dataset.ready = "true";
}
