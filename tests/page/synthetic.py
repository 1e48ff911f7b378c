"""The data of a page with very many buffers: a chain of steps forward and back, as a training step without layers."""

import json
import re


def column(numbers):
    return numbers[0] if numbers and all(n == numbers[0] for n in numbers) else numbers


def many_buffers(like, count):
    """`like`: the data of a page, whose texts and figures are taken; `count`: how many buffers."""
    half = count // 2
    steps = count
    bytes_of = [((i * 2654435761) % 4096 + 64) * 1024 for i in range(count)]
    begin, end, offset, role, value = [], [], [], [], []
    free, top = [], 0  # addresses: stacked as they come in the forward pass, let go in the backward pass
    for i in range(count):
        begin.append(i)
        if i < half:
            end.append(min(steps, 2 * half - i + 1) if i % 20 == 0 else i + 3)
            role.append(4 if i % 20 == 0 else 6)
        else:
            end.append(min(steps, i + 3))
            role.append(5 if i % 7 == 0 else 6)
        value.append(i)
    address, live, spare = 0, [], 0
    for i in range(count):  # long ones at the bottom, one on the other; short ones in turns above
        if role[i] == 4:
            offset.append(address)
            address += bytes_of[i]
        else:
            offset.append(-1)
    for i in range(count):
        if offset[i] < 0:
            offset[i] = address + (i % 4) * 5 * 1024 * 1024
    arena = address + 4 * 5 * 1024 * 1024
    texts = ["", "matmul", "train.cc:12", "f32[256, 1024]"]
    nodes = {"count": count, "op": 1, "where": 2, "phase": column([0 if i < half else 1 for i in range(count)]), "flags": 0,
             "region": column([i * 20 // count for i in range(count)]), "operands": column([0] + [1] * (count - 1)),
             "operand": list(range(count - 1))}
    values = {"count": count, "type": 3, "name": 0, "bytes": bytes_of, "producer": list(range(count))}
    buffers = {"count": count, "binding": 1, "purpose": 2, "bytes": bytes_of, "offset": offset, "slot": -1, "begin": begin,
               "end": end, "value": value, "memory": 0, "codec": -1, "role": role, "changes": []}
    chain = {"count": column([0] + [1] * (count - 1)), "buffer": list(range(count - 1)), "value": list(range(count - 1))}
    step = {"count": steps, "kind": 0, "node": list(range(count)), "scratch": -1, "group": -1, "lane": 0,
            "begin": [i * 10000 for i in range(count)], "end": [(i + 1) * 10000 for i in range(count)], "duration": 10000,
            "in": chain, "out": {"count": 1, "buffer": list(range(count)), "value": list(range(count))}, "waits": 0, "wait": []}
    figures = dict(like["plans"][like["current"]]["figures"], peak=arena, arena_bytes=arena, input_bytes=0, steps=steps, kernels=steps)
    plan = {"graph": 0, "verdict": f"{count} buffers, made up.", "figures": figures, "peak_step": half, "backward_begin": half, "makespan": steps * 1e-5,
            "memories": [{"name": "ram", "input_bytes": 0, "arena_bytes": arena, "peak": arena, "budget": 0, "alignment": 64}],
            "lanes": [{"name": "compute", "computes": True, "memory": 0, "stalled": 0}], "hints": [], "buffers": buffers, "steps": step}
    return dict(like, title="many buffers", current=0, plans=[plan], graphs=[{"nodes": nodes, "values": values,
                "regions": [f"part {i}" for i in range(20)]}], staircases=[], explanation=None, profile=None, texts=texts, notes=[])


DATA = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.S)


def data_of(html):
    return json.loads(DATA.search(html).group(2))


def with_data(html, data):
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return DATA.sub(lambda found: found.group(1) + text + found.group(3), html, count=1)
