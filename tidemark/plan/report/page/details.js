// The chosen buffer in words: who makes it, who reads it, where else its value lies.
class Details {
  constructor(state) {
    this.state = state;
    this.element = make("div", { id: "details", "aria-live": "polite" });
  }

  goStep(step, text) {
    return make("button", { class: "go", type: "button", onclick: () => this.state.setMoment(step) }, text);
  }
  goBuffer(buffer, text) {
    return make("button", { class: "go", type: "button", onclick: () => this.state.choose(buffer) }, text);
  }

  update() {
    const { plan, buffer } = this.state;
    if (buffer < 0) {
      this.element.replaceChildren(make("h3", {}, "Nothing chosen"),
        make("p", { class: "lead" }, "Click a rectangle of the address map or a row of a table to follow one value."));
      return;
    }
    const value = plan.value[buffer];
    const { writers, readers } = plan.uses();
    const made = writers(buffer);
    const read = readers(buffer);
    const parts = [make("h3", {}, plan.bufferTitle(buffer)), ...bufferLines(plan, buffer, plan.from(buffer)).slice(1)];
    const list = (name, steps) => {
      if (steps.length === 0) return;
      const shown = steps.slice(0, 8).flatMap((s) => [this.goStep(s, `${countText(s)} ${plan.stepTitle(s)}`), make("br")]);
      parts.push(make("p", {}, make("b", {}, name)), make("p", {}, ...shown,
        steps.length > 8 ? `and ${countText(steps.length - 8)} more` : ""));
    };
    list("Made by step", made);
    list("Read by step", read);
    const others = value < 0 ? [] : plan.places(value).filter((other) => other !== buffer);
    if (others.length > 0) {
      parts.push(make("p", {}, make("b", {}, "The same value elsewhere")), make("p", {},
        ...others.slice(0, 8).flatMap((other) => [this.goBuffer(other,
          `${plan.memories[plan.memory[other]].name}, steps ${countText(plan.from(other))} to ${countText(plan.to(other) - 1)}`), make("br")])));
    }
    parts.push(make("p", { class: "mono" }, "Outlines: black, this value; blue, what its maker reads; orange, what its readers make."));
    this.element.replaceChildren(...parts);
  }
}
