// The data of the page as typed columns, and what follows from them.
const BINDING = { argument: 0, arena: 1, result: 2, tile: 3 };
const STEP = { compute: 0, copy: 1, encode: 2, decode: 3, fetch: 4 };
const STEP_NAMES = ["compute", "copy", "encode", "decode", "fetch"];
const FLAG = { undoes: 1, unpacks: 2, regions: 4 };

// A column of one number stands for many of it.
function column(numbers, count, Type = Float64Array) {
  if (typeof numbers === "number") return new Type(count).fill(numbers);
  return Type.from(numbers);
}

// Where each list begins, from how long each is.
function starts(counts) {
  const first = new Int32Array(counts.length + 1);
  for (let i = 0; i < counts.length; ++i) first[i + 1] = first[i] + counts[i];
  return first;
}

class GraphModel {
  constructor(json, texts) {
    const n = json.nodes.count;
    const v = json.values.count;
    this.texts = texts;
    this.regions = json.regions;
    this.nodeCount = n;
    this.op = column(json.nodes.op, n, Int32Array);
    this.where = column(json.nodes.where, n, Int32Array);
    this.phase = column(json.nodes.phase, n, Uint8Array);
    this.flags = column(json.nodes.flags, n, Uint8Array);
    this.region = column(json.nodes.region, n, Int32Array);
    this.firstOperand = starts(column(json.nodes.operands, n, Int32Array));
    this.operand = column(json.nodes.operand, this.firstOperand[n], Int32Array);
    this.valueCount = v;
    this.type = column(json.values.type, v, Int32Array);
    this.name = column(json.values.name, v, Int32Array);
    this.valueBytes = column(json.values.bytes, v);
    this.producer = column(json.values.producer, v, Int32Array);
  }

  valueTitle(value) {
    const name = this.texts[this.name[value]];
    if (name) return name;
    const node = this.producer[value];
    return node < 0 ? `%${value}` : `%${value} of ${this.texts[this.op[node]]}`;
  }
  nodeTitle(node) {
    const where = this.texts[this.where[node]];
    return this.texts[this.op[node]] + (where ? ` (${where})` : "");
  }
}

// One plan. What takes time to make is made when it is first asked for.
class PlanModel {
  constructor(json, page) {
    const { buffers, steps } = json;
    const texts = page.texts;
    this.page = page;
    this.texts = texts;
    this.figures = json.figures;
    this.verdict = json.verdict;
    this.peakStep = json.peak_step;
    this.makespan = json.makespan;
    this.memories = json.memories;
    this.lanes = json.lanes;
    this.hints = json.hints;
    this.graph = page.graph(json.graph);

    const b = buffers.count;
    this.bufferCount = b;
    this.binding = column(buffers.binding, b, Uint8Array);
    this.purpose = column(buffers.purpose, b, Uint8Array);
    this.bytes = column(buffers.bytes, b);
    this.offset = column(buffers.offset, b);
    this.begin = column(buffers.begin, b, Int32Array);
    this.end = column(buffers.end, b, Int32Array);
    this.value = column(buffers.value, b, Int32Array);
    this.memory = column(buffers.memory, b, Uint8Array);
    this.codec = column(buffers.codec, b, Int32Array);
    this.role = column(buffers.role, b, Uint8Array);
    this.changes = Int32Array.from(buffers.changes);

    const n = steps.count;
    this.stepCount = n;
    this.kind = column(steps.kind, n, Uint8Array);
    this.node = column(steps.node, n, Int32Array);
    this.scratch = column(steps.scratch, n, Int32Array);
    this.group = column(steps.group, n, Int32Array);
    this.lane = column(steps.lane, n, Uint8Array);
    this.stepBegin = column(steps.begin, n);
    this.stepEnd = column(steps.end, n);
    this.duration = column(steps.duration, n);
    this.firstIn = starts(column(steps.in.count, n, Int32Array));
    this.inBuffer = column(steps.in.buffer, this.firstIn[n], Int32Array);
    this.inValue = column(steps.in.value, this.firstIn[n], Int32Array);
    this.firstOut = starts(column(steps.out.count, n, Int32Array));
    this.outBuffer = column(steps.out.buffer, this.firstOut[n], Int32Array);
    this.outValue = column(steps.out.value, this.firstOut[n], Int32Array);
    this.firstWait = starts(column(steps.waits, n, Int32Array));
    this.wait = column(steps.wait, this.firstWait[n], Int32Array);
    this.placeInputs();
    this.makeClock();
  }

  // Bound inputs have no address of ours: they are shown one on the other, below the arena.
  placeInputs() {
    this.base = new Float64Array(this.bufferCount);
    const used = new Float64Array(this.memories.length);
    for (let i = 0; i < this.bufferCount; ++i) {
      if (this.binding[i] !== BINDING.argument) continue;
      this.base[i] = used[this.memory[i]];
      used[this.memory[i]] += this.bytes[i];
    }
    for (let i = 0; i < this.bufferCount; ++i) {
      if (this.binding[i] !== BINDING.argument) this.base[i] = this.memories[this.memory[i]].input_bytes + this.offset[i];
    }
    this.inputsPlaced = used;
  }

  // When each step of the list is reached: the latest begin of a step that computes, in nanoseconds.
  makeClock() {
    const clock = new Float64Array(this.stepCount + 1);
    let now = 0;
    for (let s = 0; s < this.stepCount; ++s) {
      if (this.lanes[this.lane[s]].computes) now = Math.max(now, this.stepBegin[s]);
      clock[s] = now;
    }
    clock[this.stepCount] = Math.max(now, 1e9 * this.makespan, 1);
    this.clock = clock;
  }

  hasMemory(buffer) {
    return this.binding[buffer] !== BINDING.tile && this.bytes[buffer] > 0;
  }
  from(buffer) {
    return this.binding[buffer] === BINDING.argument ? 0 : this.begin[buffer];
  }
  to(buffer) {
    return this.binding[buffer] === BINDING.argument ? this.stepCount : this.end[buffer];
  }

  // Bytes of a memory at each step: by role, and in all.
  load(memory) {
    this.loads ??= [];
    if (this.loads[memory]) return this.loads[memory];
    const n = this.stepCount;
    const roles = this.page.roles.map(() => new Float64Array(n + 1));
    const add = (role, from, to, bytes) => {
      roles[role][from] += bytes;
      roles[role][to] -= bytes;
    };
    const changesOf = this.changesByBuffer();
    for (let b = 0; b < this.bufferCount; ++b) {
      if (this.memory[b] !== memory || !this.hasMemory(b)) continue;
      let from = this.from(b);
      let role = this.role[b];
      for (const at of changesOf.get(b) ?? []) {
        add(role, from, this.changes[at + 1], this.bytes[b]);
        from = this.changes[at + 1];
        role = this.changes[at + 2];
      }
      add(role, from, this.to(b), this.bytes[b]);
    }
    const total = new Float64Array(n);
    let most = 0;
    for (const values of roles) {
      let sum = 0;
      for (let s = 0; s < n; ++s) {
        sum += values[s];
        values[s] = sum;
        total[s] += sum;
      }
    }
    for (let s = 0; s < n; ++s) most = Math.max(most, total[s]);
    this.loads[memory] = { roles, total, most };
    return this.loads[memory];
  }

  changesByBuffer() {
    if (this.changeMap) return this.changeMap;
    this.changeMap = new Map();
    for (let at = 0; at < this.changes.length; at += 3) {
      const list = this.changeMap.get(this.changes[at]) ?? [];
      list.push(at);
      this.changeMap.set(this.changes[at], list);
    }
    return this.changeMap;
  }
  roleAt(buffer, step) {
    let role = this.role[buffer];
    for (const at of this.changesByBuffer().get(buffer) ?? []) {
      if (this.changes[at + 1] <= step) role = this.changes[at + 2];
    }
    return role;
  }

  timeIndex(memory) {
    this.indices ??= [];
    this.indices[memory] ??= new TimeIndex(this, memory);
    return this.indices[memory];
  }

  // Which steps write and read each buffer, and each value.
  uses() {
    if (this.useLists) return this.useLists;
    const lists = (first, numbers, count) => {
      const counts = new Int32Array(count);
      for (const x of numbers) if (x >= 0) ++counts[x];
      const begins = starts(counts);
      const next = begins.slice();
      const steps = new Int32Array(begins[count]);
      for (let s = 0; s < this.stepCount; ++s) {
        for (let k = first[s]; k < first[s + 1]; ++k) if (numbers[k] >= 0) steps[next[numbers[k]]++] = s;
      }
      return (x) => [...new Set(steps.subarray(begins[x], begins[x + 1]))];
    };
    const values = this.graph.valueCount;
    this.useLists = {
      writers: lists(this.firstOut, this.outBuffer, this.bufferCount),
      readers: lists(this.firstIn, this.inBuffer, this.bufferCount),
      makers: lists(this.firstOut, this.outValue, values),
      valueReaders: lists(this.firstIn, this.inValue, values),
    };
    return this.useLists;
  }

  // Where a value lies, over the whole run: the buffers in which steps put it, or that were there for it.
  places(value) {
    if (!this.placeMap) {
      this.placeMap = new Map();
      const add = (v, b) => {
        if (v < 0 || b < 0 || this.binding[b] === BINDING.tile) return;
        const set = this.placeMap.get(v) ?? new Set();
        this.placeMap.set(v, set.add(b));
      };
      for (let b = 0; b < this.bufferCount; ++b) add(this.value[b], b);
      for (let k = 0; k < this.outBuffer.length; ++k) add(this.outValue[k], this.outBuffer[k]);
    }
    return [...(this.placeMap.get(value) ?? [])];
  }

  // The values that a buffer holds in turn, as one kernel writes over what another made: [value, from which step].
  held(buffer) {
    if (!this.heldLists) {
      this.heldLists = new Map();
      for (let s = 0; s < this.stepCount; ++s) {
        for (let k = this.firstOut[s]; k < this.firstOut[s + 1]; ++k) {
          const list = this.heldLists.get(this.outBuffer[k]) ?? [];
          this.heldLists.set(this.outBuffer[k], list);
          if (list.length === 0 || list[list.length - 1][0] !== this.outValue[k]) list.push([this.outValue[k], s]);
        }
      }
    }
    return this.heldLists.get(buffer) ?? [];
  }
  valueAt(buffer, step) {
    return this.held(buffer).findLast(([, from]) => from <= step)?.[0] ?? this.value[buffer];
  }
  // For how many steps a value lies in a buffer. Before the first write the buffer is there for what it is named after.
  stepsIn(buffer, value) {
    const held = this.held(buffer);
    const ends = [...held.map(([, from]) => from), this.to(buffer)];
    let steps = this.value[buffer] === value ? ends[0] - this.from(buffer) : 0;
    held.forEach(([v], i) => { if (v === value) steps += ends[i + 1] - ends[i]; });
    return steps;
  }

  // How often each node runs.
  runs() {
    if (this.runCounts) return this.runCounts;
    this.runCounts = new Int32Array(this.graph.nodeCount);
    for (let s = 0; s < this.stepCount; ++s) if (this.node[s] >= 0) ++this.runCounts[this.node[s]];
    return this.runCounts;
  }

  liveAt(step) {
    const list = [];
    for (let m = 0; m < this.memories.length; ++m) this.timeIndex(m).at(step, (b) => list.push(b));
    return list;
  }

  stepTitle(step) {
    if (this.kind[step] === STEP.compute) return this.graph.nodeTitle(this.node[step]);
    const from = this.inBuffer[this.firstIn[step]];
    const to = this.firstOut[step] < this.firstOut[step + 1] ? this.outBuffer[this.firstOut[step]] : -1;
    const name = STEP_NAMES[this.kind[step]];
    if (to < 0) return `${name} by the host`;
    const places = `${this.memories[this.memory[from]].name} → ${this.memories[this.memory[to]].name}`;
    return `${name} ${places}: ${this.graph.valueTitle(this.inValue[this.firstIn[step]])}`;
  }
  bufferTitle(buffer, value = this.value[buffer]) {
    return value < 0 ? "workspace of a kernel" : this.graph.valueTitle(value);
  }
  bufferWhere(buffer, value = this.value[buffer]) {
    const node = value < 0 ? -1 : this.graph.producer[value];
    return node < 0 ? "" : this.texts[this.graph.where[node]];
  }
}

class PageModel {
  constructor(json) {
    this.json = json;
    this.texts = json.texts;
    this.roles = json.roles;
    this.graphModels = [];
    this.planModels = [];
  }
  graph(number) {
    return (this.graphModels[number] ??= new GraphModel(this.json.graphs[number], this.texts));
  }
  plan(number) {
    return (this.planModels[number] ??= new PlanModel(this.json.plans[number], this));
  }
  get planCount() {
    return this.json.plans.length;
  }
}
