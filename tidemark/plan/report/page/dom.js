// Elements without a library. Texts of the user become text nodes and nothing else.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
const chip = (colour) => make("span", { class: "chip", style: `background:${colour}` });
const find = (id) => document.getElementById(id);

// A canvas that is as sharp as the screen. `paint(pen, width, height)` draws it in CSS pixels; with a `key`, what it draws
// is kept until the key changes, and `over` draws on top what follows the pointer.
class Sheet {
  constructor(height, label, paint, { key = null, over = null } = {}) {
    this.height = height;
    this.paint = paint;
    this.key = key;
    this.over = over;
    this.picture = key ? document.createElement("canvas") : null;
    this.pictureOf = "";
    this.canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": label, style: `height:${height}px` });
  }
  draw() {
    const width = this.canvas.clientWidth;
    if (width === 0) return;
    const scale = devicePixelRatio || 1;
    const across = Math.round(width * scale);
    const down = Math.round(this.height * scale);
    const begin = (canvas) => {
      if (canvas.width !== across || canvas.height !== down) {
        canvas.width = across;
        canvas.height = down;
      }
      const pen = canvas.getContext("2d");
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      pen.clearRect(0, 0, width, this.height);
      return pen;
    };
    const pen = begin(this.canvas);
    if (!this.key) {
      this.paint(pen, width, this.height);
      return;
    }
    const key = [this.key(), across, down, css("--paper")].join();
    if (key !== this.pictureOf) {
      this.pictureOf = key;
      this.paint(begin(this.picture), width, this.height);
    }
    pen.drawImage(this.picture, 0, 0, width, this.height);
    this.over?.(pen, width, this.height);
  }
}

function showCard(event, ...lines) {
  const card = find("card");
  card.replaceChildren(...lines);
  card.hidden = false;
  const box = card.getBoundingClientRect();
  const x = event.clientX + 16 + box.width > innerWidth ? event.clientX - box.width - 12 : event.clientX + 16;
  const y = Math.min(event.clientY + 14, innerHeight - box.height - 8);
  card.style.left = `${Math.max(4, x)}px`;
  card.style.top = `${Math.max(4, y)}px`;
}
const hideCard = () => {
  find("card").hidden = true;
};
