// Which buffers live at a step, and which of them holds an address: a segment tree over steps. A buffer stands in the
// few nodes that make up its life; those of one node all live together, so that they do not overlap and can be kept by
// address.
class TimeIndex {
  constructor(plan, memory) {
    this.plan = plan;
    this.size = 1;
    while (this.size < Math.max(1, plan.stepCount)) this.size *= 2;
    const counts = new Int32Array(2 * this.size);
    const each = (visit) => {
      for (let b = 0; b < plan.bufferCount; ++b) {
        if (plan.memory[b] === memory && plan.hasMemory(b)) this.cover(plan.from(b), plan.to(b), (node) => visit(node, b));
      }
    };
    each((node) => ++counts[node]);
    this.first = starts(counts);
    const next = this.first.slice();
    this.buffers = new Int32Array(this.first[2 * this.size]);
    each((node, b) => {
      this.buffers[next[node]++] = b;
    });
    for (let node = 1; node < 2 * this.size; ++node) {
      if (this.first[node + 1] - this.first[node] > 1)
        this.buffers.subarray(this.first[node], this.first[node + 1]).sort((x, y) => plan.base[x] - plan.base[y]);
    }
  }

  cover(from, to, visit) {
    let low = from + this.size;
    let high = to + this.size;
    while (low < high) {
      if (low & 1) visit(low++);
      if (high & 1) visit(--high);
      low >>= 1;
      high >>= 1;
    }
  }

  at(step, visit) {
    for (let node = step + this.size; node >= 1; node >>= 1) {
      for (let k = this.first[node]; k < this.first[node + 1]; ++k) visit(this.buffers[k]);
    }
  }

  // The buffer that holds the address at the step; -1: none.
  find(step, address) {
    if (step < 0 || step >= this.plan.stepCount) return -1;
    for (let node = step + this.size; node >= 1; node >>= 1) {
      let low = this.first[node];
      let high = this.first[node + 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.plan.base[this.buffers[middle]] <= address) low = middle + 1;
        else high = middle;
      }
      if (low === this.first[node]) continue;
      const buffer = this.buffers[low - 1];
      if (address < this.plan.base[buffer] + this.plan.bytes[buffer]) return buffer;
    }
    return -1;
  }
}
