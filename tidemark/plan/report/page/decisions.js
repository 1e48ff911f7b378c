// What became of each value that a kernel could have to wait for. Where the file has an explanation of the plan, its words
// and prices are taken; else what can be read off the plan.
function decisionsOf(plan, explanation) {
  if (plan.decisionRows) return plan.decisionRows;
  const { graph } = plan;
  const runs = plan.runs();
  const explained = new Map();
  if (explanation && explanation.plan_hash === plan.figures.plan_hash) {
    for (const value of explanation.values) if (value.region === 0) explained.set(value.value, value);
  }
  const rows = [];
  const extra = new Map();  // nanoseconds of runs beyond the first, by node
  const ran = new Uint8Array(graph.nodeCount);
  for (let s = 0; s < plan.stepCount; ++s) {
    const node = plan.node[s];
    if (node < 0) continue;
    if (ran[node]) extra.set(node, (extra.get(node) ?? 0) + plan.duration[s]);
    ran[node] = 1;
  }
  const tiles = new Uint8Array(graph.valueCount);
  const stored = new Int32Array(graph.valueCount);  // how often it is put into memory
  for (let k = 0; k < plan.outBuffer.length; ++k) {
    if (plan.binding[plan.outBuffer[k]] === BINDING.tile) tiles[plan.outValue[k]] = 1;
    else ++stored[plan.outValue[k]];
  }
  for (let v = 0; v < graph.valueCount; ++v) {
    const node = graph.producer[v];
    const places = plan.places(v);
    if (places.length === 0 && !tiles[v]) continue;
    const told = explained.get(v);
    rows.push({
      value: v, node, places,
      title: graph.valueTitle(v),
      type: plan.texts[graph.type[v]],
      where: node < 0 ? "" : plan.texts[graph.where[node]],
      op: node < 0 ? "argument" : plan.texts[graph.op[node]],
      bytes: graph.valueBytes[v],
      runs: node < 0 ? 0 : runs[node],
      seconds: told ? told.cost_seconds : (extra.get(node) ?? 0) / 1e9,
      steps: places.reduce((sum, b) => sum + plan.stepsIn(b, v), 0),
      decision: told ? told.decision : decisionOf(plan, node, places, stored[v]),
      told,
    });
  }
  plan.decisionRows = rows;
  return rows;
}

// `stored`: how often the value is put into memory.
function decisionOf(plan, node, places, stored) {
  const elsewhere = places.find((b) => plan.memory[b] > 0);
  if (places.some((b) => plan.binding[b] === BINDING.argument) && node < 0) return "argument";
  if (elsewhere !== undefined) return plan.memories[plan.memory[elsewhere]].name === "host" ? "host" : "disk";
  if (places.length === 0) return "fused";
  if (node >= 0 && plan.runs()[node] > 1) return stored > 1 ? "recomputed" : "anew";
  if (places.some((b) => plan.purpose[b] === 3)) return "result";
  if (node >= 0 && plan.graph.flags[node] & FLAG.undoes) return "inverted";
  if (node >= 0 && plan.graph.flags[node] & FLAG.unpacks) return "compressed";
  return places.some((b) => plan.role[b] === plan.page.roles.indexOf("activations")) ? "kept" : "brief";
}

const DECISION_TEXTS = {
  argument: "the caller's memory",
  result: "a result",
  kept: "kept until the backward pass",
  recomputed: "computed again",
  compressed: "waits in a smaller form",
  host: "waits in the host's memory",
  disk: "waits on the disk",
  inverted: "computed back",
  anew: "made anew inside kernels that read it",
  fused: "never in memory as a whole",
  brief: "read soon and let go",
};
const DECISION_COLOURS = {
  argument: "#0072b2", result: "#4f5b66", kept: "#009e73", recomputed: "#cc79a7", compressed: "#8e6bbf",
  host: "#56b4e9", disk: "#56b4e9", inverted: "#7a5230", anew: "#b9a58c", fused: "#b9a58c", brief: "#e3d444",
};
