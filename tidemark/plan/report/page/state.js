// What the user looks at: the plan, the moment, the buffer, the stretch of the run. It stands in the fragment of the
// address, so that a link says it.
class State {
  constructor(page) {
    this.page = page;
    this.listeners = [];
    this.planNumber = page.json.current;
    this.byTime = false;
    this.colourBy = "role";
    this.buffer = -1;
    this.hovered = -1;
    this.hoverStep = -1;
    this.moment = Math.max(0, this.plan.peakStep);
    this.low = 0;
    this.high = 1;  // share of the run that is shown
    this.read(location.hash);
  }
  get plan() {
    return this.page.plan(this.planNumber);
  }

  // Whoever draws is told what has changed: "plan", "view" (what is shown of it), "moment", "choice" or "hover".
  listen(listener) {
    this.listeners.push(listener);
  }
  tell(what) {
    for (const listener of this.listeners) listener(what);
    if (what !== "hover") this.write();
  }

  setPlan(number) {
    if (number === this.planNumber || number < 0 || number >= this.page.planCount) return;
    this.planNumber = number;
    this.buffer = -1;
    this.hovered = -1;
    this.moment = Math.max(0, this.plan.peakStep);
    this.tell("plan");
  }
  setMoment(step) {
    const last = Math.max(0, this.plan.stepCount - 1);
    this.moment = Math.min(last, Math.max(0, step));
    this.tell("moment");
  }
  choose(buffer) {
    this.buffer = buffer;
    this.tell("choice");
  }
  setView(low, high) {
    const width = Math.min(1, Math.max(high - low, 2 / Math.max(2, this.plan.stepCount)));
    const begin = Math.min(1 - width, Math.max(0, low));
    this.low = begin;
    this.high = begin + width;
    this.tell("view");
  }
  setByTime(byTime) {
    this.byTime = byTime;
    this.low = 0;
    this.high = 1;
    this.tell("view");
  }
  setColourBy(what) {
    this.colourBy = what;
    this.tell("view");
  }

  read(hash) {
    const given = new URLSearchParams(hash.replace(/^#/, ""));
    const number = (name, least, most, otherwise) => {
      if (!given.has(name)) return otherwise;
      const value = Number(given.get(name));
      return Number.isFinite(value) && value >= least && value <= most ? value : otherwise;
    };
    this.planNumber = Math.floor(number("plan", 0, this.page.planCount - 1, this.planNumber));
    this.moment = Math.floor(number("step", 0, this.plan.stepCount - 1, Math.max(0, this.plan.peakStep)));
    this.buffer = Math.floor(number("buffer", 0, this.plan.bufferCount - 1, -1));
    this.byTime = given.get("x") === "time";
    this.colourBy = given.get("colour") === "value" ? "value" : "role";
    this.low = number("from", 0, 1, 0);
    this.high = number("to", this.low, 1, 1);
    if (this.high <= this.low) this.high = 1;
  }
  write() {
    const out = new URLSearchParams();
    if (this.planNumber !== this.page.json.current) out.set("plan", this.planNumber);
    if (this.moment !== this.plan.peakStep) out.set("step", this.moment);
    if (this.buffer >= 0) out.set("buffer", this.buffer);
    if (this.byTime) out.set("x", "time");
    if (this.colourBy !== "role") out.set("colour", this.colourBy);
    if (this.low > 0 || this.high < 1) {
      out.set("from", this.low.toFixed(6));
      out.set("to", this.high.toFixed(6));
    }
    const text = out.toString();
    if (text === location.hash.replace(/^#/, "")) return;
    try {
      history.replaceState(null, "", text ? `#${text}` : `${location.pathname}${location.search}`);
    } catch {
      location.hash = text;  // where a file may not change its address otherwise
    }
  }
}
