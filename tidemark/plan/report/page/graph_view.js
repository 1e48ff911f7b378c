// The program in a few parts. The forward pass goes down on the left, the backward pass up on the right; a line across is
// what the one makes and the other reads, as wide as its bytes, in the colour of what becomes of it meanwhile.
class GraphView {
  constructor(state) {
    this.state = state;
    this.picture = make("div", { class: "scroll" });
    this.legend = make("div", { class: "legend" });
    this.element = make("section", { id: "graph-section" },
      make("div", { class: "head" }, make("h2", {}, "What the backward pass needs of the forward pass")),
      make("p", { class: "lead" }, "Parts of the program with their predicted time. Lines across carry values from the forward to the backward pass, as wide as their bytes."),
      this.legend, this.picture);
  }

  // Per part: time of its steps in each pass. Per pair of parts and decision: bytes that cross.
  gather() {
    const { plan } = this.state;
    const { graph } = plan;
    const parts = graph.regions.map((name) => ({ name, forward: 0, backward: 0, update: 0, again: 0 }));
    const ran = new Uint8Array(graph.nodeCount);
    for (let s = 0; s < plan.stepCount; ++s) {
      const node = plan.node[s];
      if (node < 0 || graph.region[node] < 0) continue;
      const part = parts[graph.region[node]];
      if (ran[node]) part.again += plan.duration[s];
      else part[["forward", "backward", "update"][graph.phase[node]]] += plan.duration[s];
      ran[node] = 1;
    }
    const decisions = new Map(decisionsOf(plan, this.state.page.json.explanation).map((row) => [row.value, row]));
    const edges = new Map();
    const seen = new Set();
    for (let n = 0; n < graph.nodeCount; ++n) {
      if (graph.phase[n] === 0 || graph.region[n] < 0) continue;
      for (let k = graph.firstOperand[n]; k < graph.firstOperand[n + 1]; ++k) {
        const value = graph.operand[k];
        const maker = graph.producer[value];
        if (maker < 0 || graph.phase[maker] !== 0 || graph.region[maker] < 0) continue;
        const row = decisions.get(value);
        if (!row || row.decision === "fused" || row.decision === "anew") continue;  // what takes no memory meanwhile
        const key = `${graph.region[maker]} ${graph.region[n]} ${row.decision}`;
        if (seen.has(`${value} ${key}`)) continue;
        seen.add(`${value} ${key}`);
        const edge = edges.get(key) ?? { from: graph.region[maker], to: graph.region[n], decision: row.decision, bytes: 0, values: [] };
        edge.bytes += row.bytes;
        edge.values.push(row);
        edges.set(key, edge);
      }
    }
    return { parts, edges: [...edges.values()] };
  }

  update() {
    const { parts, edges } = this.gather();
    if (parts.length === 0 || edges.length === 0) {
      this.element.hidden = true;
      return;
    }
    this.element.hidden = false;
    const rowHeight = parts.length > 24 ? 20 : 26;
    const width = Math.max(600, Math.min(1300, this.element.clientWidth - 34));
    const height = parts.length * rowHeight + 44;
    const boxWidth = Math.min(300, width * 0.3);
    const right = width - boxWidth;
    const svg = makeSvg("svg", { width, height, role: "img", "aria-label": `${parts.length} parts, ${edges.length} bundles of values cross` });
    const text = (content, x, y, anchor, strong) => {
      const element = makeSvg("text", { x, y, "text-anchor": anchor, class: strong ? "strong" : "" });
      element.textContent = content;
      svg.append(element);
      return element;
    };
    text("forward ↓", 0, 14, "start", true);
    text("backward ↑", right, 14, "start", true);
    const y = (part) => 24 + part * rowHeight;
    // Lines lie one under the other at both of their ends, and are as wide as their bytes.
    const leaving = new Float64Array(parts.length);
    const arriving = new Float64Array(parts.length);
    for (const edge of edges) {
      leaving[edge.from] += edge.bytes;
      arriving[edge.to] += edge.bytes;
    }
    const scale = (rowHeight - 6) / Math.max(...leaving, ...arriving);
    const begin = leaving.map((bytes, part) => y(part) + (rowHeight - scale * bytes) / 2);
    const end = arriving.map((bytes, part) => y(part) + (rowHeight - scale * bytes) / 2);
    for (const edge of edges.sort((a, b) => a.decision.localeCompare(b.decision) || a.from - b.from || a.to - b.to)) {
      const width = scale * edge.bytes;
      const thick = Math.max(0.75, width);
      const y0 = begin[edge.from] + width / 2;
      const y1 = end[edge.to] + width / 2;
      begin[edge.from] += width;
      end[edge.to] += width;
      const middle = (boxWidth + right) / 2;
      const path = makeSvg("path", { d: `M${boxWidth} ${y0}C${middle} ${y0} ${middle} ${y1} ${right} ${y1}`, fill: "none",
        stroke: DECISION_COLOURS[edge.decision] ?? "#888", "stroke-width": thick.toFixed(1), opacity: 0.8,
        style: "cursor:pointer",
        onmousemove: (event) => showCard(event, make("b", {}, `${bytesText(edge.bytes)}: ${DECISION_TEXTS[edge.decision]}`),
          make("p", {}, `${parts[edge.from].name} → ${parts[edge.to].name}, ${countText(edge.values.length)} values`),
          ...edge.values.sort((a, b) => b.bytes - a.bytes).slice(0, 5).map((row) => make("p", {}, `${bytesText(row.bytes)} ${row.title}`))),
        onmouseleave: hideCard,
        onclick: () => edge.values[0].places.length > 0 && this.state.choose(edge.values[0].places[0]) });
      svg.append(path);
    }
    const slowest = Math.max(...parts.map((part) => Math.max(part.forward, part.backward + part.update + part.again)), 1);
    parts.forEach((part, i) => {
      const box = (x, pieces, label) => {
        svg.append(makeSvg("rect", { x, y: y(i) + 2, width: boxWidth, height: rowHeight - 4, rx: 4, fill: "var(--ground)", stroke: "var(--line)" }));
        let at = x;
        for (const [time, colour] of pieces) {
          const w = (time / slowest) * boxWidth;
          svg.append(makeSvg("rect", { x: at, y: y(i) + 2, width: w, height: rowHeight - 4, rx: 4, fill: colour, opacity: 0.45 }));
          at += w;
        }
        text(label.length > 34 ? `${label.slice(0, 33)}…` : label, x + 8, y(i) + rowHeight / 2 + 4, "start").style.fill = "var(--ink)";
        const total = pieces.reduce((sum, [time]) => sum + time, 0);
        text(timeText(total / 1e9), x + boxWidth - 8, y(i) + rowHeight / 2 + 4, "end");
      };
      box(0, [[part.forward, "#8c96a3"]], part.name);
      box(right, [[part.backward, "#8c96a3"], [part.again, DECISION_COLOURS.recomputed], [part.update, "#e69f00"]], part.name);
    });
    const used = [...new Set(edges.map((edge) => edge.decision))];
    this.legend.replaceChildren(...used.map((name) => make("span", {}, chip(DECISION_COLOURS[name] ?? "#888"), DECISION_TEXTS[name] ?? name)),
      make("span", {}, chip("#8c96a3"), "time of a part"),
      ...(parts.some((part) => part.update > 0) ? [make("span", {}, chip("#e69f00"), "of its update")] : []),
      ...(parts.some((part) => part.again > 0) ? [make("span", {}, chip(DECISION_COLOURS.recomputed), "of computing again")] : []));
    this.picture.replaceChildren(svg);
  }
}
