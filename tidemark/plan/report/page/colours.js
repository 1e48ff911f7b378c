// Colours with a meaning, from the palette of Okabe and Ito, which people of every colour vision can tell apart.
// Vermilion is kept for limits and stalls.
const ROLE_STYLES = {
  parameters: { colour: "#0072b2", label: "parameters" },
  moments: { colour: "#56b4e9", label: "optimizer state" },
  data: { colour: "#8c96a3", label: "data" },
  results: { colour: "#4f5b66", label: "results" },
  gradients: { colour: "#e69f00", label: "gradients" },
  activations: { colour: "#009e73", label: "stored activations" },
  recomputed: { colour: "#cc79a7", label: "recomputed" },
  temporaries: { colour: "#e3d444", label: "temporaries" },
  workspaces: { colour: "#b9a58c", label: "workspaces" },
  unused: { colour: "transparent", label: "unused" },
};
const STACK_ORDER = Object.keys(ROLE_STYLES);  // from below
const VALUE_COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d9c928", "#8e6bbf", "#7a5230"];
const KIND_COLOURS = { copy: "#56b4e9", encode: "#cc79a7", decode: "#cc79a7", fetch: "#8c96a3" };
const FONT = "11px system-ui, sans-serif";

let cssColours = new Map();
function css(name) {
  if (!cssColours.has(name)) cssColours.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return cssColours.get(name);
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => cssColours.clear());

// Of the buffers of values that are computed more than once, a colour by value; others are grey.
function valueColour(plan, buffer) {
  const value = plan.value[buffer];
  const node = value < 0 ? -1 : plan.graph.producer[value];
  if (node < 0 || plan.runs()[node] < 2) return null;
  return VALUE_COLOURS[(value * 7) % VALUE_COLOURS.length];
}
