// How a sequence of steps is reversed: which state is worked on as time goes to the right, what is stored meanwhile, how
// far the reverse has come.
const LEVEL_COLOURS = ["#e69f00", "#56b4e9", "#009e73", "#cc79a7"];
const ACTION_NAMES = ["advance", "record", "reverse", "store", "load", "drop"];
const STAIR_PAD = { left: 66, right: 14, top: 8, bottom: 36 };

class StaircaseView {
  constructor(stairs, isWholePage) {
    this.stairs = stairs;
    const height = isWholePage ? 460 : 300;
    this.sheet = new Sheet(height, `${stairs.title}: ${stairs.steps} steps in ${stairs.actions} actions`,
      (pen, width, tall) => this.paint(pen, width, tall));
    this.sheet.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.sheet.canvas.addEventListener("pointerleave", hideCard);
    const levels = [...new Set(stairs.stored.level)].sort();
    const entry = (colour, text) => make("span", {}, chip(colour), text);
    const figures = stairs.figures.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text)));
    this.element = make("section", { class: "staircase" },
      make("div", { class: "head" }, make("h2", {}, `${stairs.title}${stairs.where ? ` (${stairs.where})` : ""}`)),
      make("p", { class: "lead" }, "Going up is computing forward, each fall is a return to a stored state; the line from the top left " +
        "falls as steps are reversed. Bars are states that are stored meanwhile." + (stairs.whole ? "" : " Only the beginning is drawn.")),
      make("dl", { class: "figures" }, ...figures),
      make("div", { class: "legend" }, entry("#0072b2", stairs.exact ? "working state" : "working states, from lowest to highest"),
        stairs.exact ? entry("#009e73", "step recorded") : null, entry("#d55e00", "reversed down to"),
        ...levels.map((level) => entry(LEVEL_COLOURS[level % 4], `stored on level ${level}`))),
      this.sheet.canvas);
  }

  frame(width, height) {
    const { stairs } = this;
    return {
      x: (action) => STAIR_PAD.left + (action / Math.max(1, stairs.actions)) * (width - STAIR_PAD.left - STAIR_PAD.right),
      y: (step) => height - STAIR_PAD.bottom - (step / Math.max(1, stairs.steps)) * (height - STAIR_PAD.top - STAIR_PAD.bottom),
    };
  }

  paint(pen, width, height) {
    const { stairs } = this;
    const { x, y } = this.frame(width, height);
    this.paintTicks(pen, width, height, x, y);
    const stored = stairs.stored;
    pen.lineWidth = Math.min(5, Math.max(1, (0.5 * (height - 44)) / Math.max(1, stairs.steps)));
    for (let k = 0; k < stored.step.length; ++k) {
      pen.strokeStyle = LEVEL_COLOURS[stored.level[k] % 4];
      pen.setLineDash(stored.record[k] ? [3, 2] : []);
      pen.beginPath();
      pen.moveTo(x(stored.from[k]), y(stored.step[k]));
      pen.lineTo(x(stored.to[k]), y(stored.step[k]));
      pen.stroke();
    }
    pen.setLineDash([]);
    const line = (colour, thick, draw) => {
      pen.strokeStyle = colour;
      pen.lineWidth = thick;
      pen.beginPath();
      draw();
      pen.stroke();
    };
    const count = stairs.at.length;
    const next = (i) => (i + 1 < count ? stairs.at[i + 1] : stairs.actions);
    if (stairs.exact) {
      const of = (kinds) => () => {
        for (let i = 0; i < count; ++i) {
          if (!kinds.includes(ACTION_NAMES[stairs.action[i]])) continue;
          pen.moveTo(x(stairs.at[i]), y(stairs.from[i]));
          pen.lineTo(x(stairs.at[i] + 1), y(stairs.to[i]));
        }
      };
      line("#0072b2", 1.8, of(["advance"]));
      line("#009e73", 2.4, of(["record"]));
      pen.setLineDash([2, 2]);
      line("#0072b2", 0.8, of(["load"]));
      pen.setLineDash([]);
    } else {
      line("#0072b2", Math.max(0.6, (width - 80) / count), () => {
        for (let i = 0; i < count; ++i) {
          const at = (x(stairs.at[i]) + x(next(i))) / 2;
          pen.moveTo(at, y(stairs.from[i]));
          pen.lineTo(at, y(stairs.to[i]) - 0.5);
        }
      });
    }
    line("#d55e00", 2, () => {
      pen.moveTo(x(0), y(stairs.steps));
      for (let i = 0; i < count; ++i) pen.lineTo(x(next(i)), y(stairs.reversed[i]));
    });
  }

  paintTicks(pen, width, height, x, y) {
    const { stairs } = this;
    pen.font = FONT;
    pen.strokeStyle = css("--line");
    pen.fillStyle = css("--soft");
    pen.lineWidth = 1;
    const up = Math.max(1, tickStep(stairs.steps, 6));
    pen.textAlign = "right";
    for (let step = 0; step <= stairs.steps; step += up) {
      pen.beginPath();
      pen.moveTo(STAIR_PAD.left, y(step));
      pen.lineTo(width - STAIR_PAD.right, y(step));
      pen.stroke();
      pen.fillText(countText(step), STAIR_PAD.left - 6, y(step) + 4);
    }
    pen.textAlign = "center";
    const along = Math.max(1, tickStep(stairs.actions, width / 110));
    for (let action = 0; action <= stairs.actions; action += along) pen.fillText(countText(action), x(action), height - 20);
    pen.fillText("actions →", width / 2, height - 4);
    pen.save();
    pen.translate(11, height / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText("steps →", 0, 0);
    pen.restore();
  }

  hover(event) {
    const { stairs } = this;
    const box = this.sheet.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - STAIR_PAD.left) / (box.width - STAIR_PAD.left - STAIR_PAD.right);
    const action = Math.floor(share * stairs.actions);
    if (share < 0 || share >= 1 || stairs.at.length === 0) {
      hideCard();
      return;
    }
    let i = Math.min(stairs.at.length - 1, Math.floor(share * stairs.at.length));
    while (i > 0 && stairs.at[i] > action) --i;
    while (i + 1 < stairs.at.length && stairs.at[i + 1] <= action) ++i;
    let held = 0;
    for (let k = 0; k < stairs.stored.step.length; ++k) held += stairs.stored.from[k] <= action && action < stairs.stored.to[k];
    const what = stairs.exact ? `${ACTION_NAMES[stairs.action[i]]}: state ${countText(stairs.from[i])} → ${countText(stairs.to[i])}`
      : `states ${countText(stairs.from[i])} to ${countText(stairs.to[i])}`;
    showCard(event, make("b", {}, `action ${countText(action)}`), make("p", {}, what),
      make("p", {}, `reversed down to step ${countText(stairs.reversed[i])}`), make("p", {}, `${countText(held)} bars of stored states`));
  }
}
