#!/usr/bin/env python3
"""Drives the programs of bench/gradbench over their protocol and holds what they answer to known values and differences.

usage: check.py FOLDER [EVALUATION…]

FOLDER holds a program per evaluation: build/PRESET/bench/gradbench, or tensors/ in it. All that are there are checked.

Objectives are held to formulas written here a second time, derivatives to central differences of the program's own
objective. Standard library alone. Prints a line per evaluation; the status is 1 when one failed.
"""

import itertools
import json
import math
import random
import subprocess
import sys
from pathlib import Path


def misshapen(value):
    """The same JSON with one part of it gone, cut, doubled, or of another kind: of lists the first and last parts."""
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
            for wrong in misshapen(value[key]):
                yield {**value, key: wrong}
    elif isinstance(value, list):
        yield from ([], None, value[:-1], value + value[-1:], {"a": value}, [value], "list")
        for i in {0, len(value) - 1} if value else ():
            for wrong in misshapen(value[i]):
                yield value[:i] + [wrong] + value[i + 1:]
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from (-1, 0, 2**31 - 1, 2**63, 2**64 - 1, 1.5, 1e300, None, "1", [value])
    else:
        yield from (None, "x", [], {}, [value], 1e308, -0.0)


class Program:
    """One evaluation's program, spoken to line by line."""

    def __init__(self, path, module):
        self.module = module
        self.ids = itertools.count()
        self.process = subprocess.Popen([str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        start = self.send(kind="start", eval=module)
        assert start["tool"] in ("tidemark", "tidemark-tensors"), start
        assert self.send(kind="define", module=module)["success"] is True
        assert self.send(kind="define", module="nothing")["success"] is False

    def send_line(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"no answer to {line[:300]}"
        return json.loads(answer)

    def send(self, **message):
        message["id"] = next(self.ids)
        answer = self.send_line(json.dumps(message))
        assert answer["id"] == message["id"], answer
        return answer

    def answer(self, function, argument):
        return self.send(kind="evaluate", module=self.module, function=function, input=argument)

    def __call__(self, function, argument):
        answer = self.answer(function, argument)
        assert answer["success"], answer
        return answer["output"]

    def check_manners(self, function, argument):
        """What the protocol asks beside numbers."""
        timings = self.answer(function, {**argument, "min_runs": 3, "min_seconds": 0.001})["timings"]
        assert len(timings) >= 3, timings
        assert all(t["name"] == "evaluate" and t["nanoseconds"] >= 0 for t in timings)
        assert sum(t["nanoseconds"] for t in timings) >= 1e6
        for wrong in (self.answer("nothing", argument), self.answer(function, {})):
            assert wrong["success"] is False and wrong["error"], wrong
        assert set(self.send(kind="analysis", of=0, valid=True)) == {"id"}
        self.check_hostile(function, argument)
        self(function, argument)  # and goes on

    def check_hostile(self, function, argument):
        """Lines that are no messages and inputs that are none of the function's are answered, and never the end."""
        for line in ("nothing", "[1]", "{}", '{"id": 1}x', '{"id": 7, "kind": 3}', '{"id": 8, "kind": "define"}', "1e999",
                     '{"id": 9, "kind": "evaluate"}', '{"id": 10, "kind": "evaluate", "module": [], "function": 2, "input": 0}'):
            answer = self.send_line(line)
            assert answer.get("success", False) is False and "id" in answer, (line, answer)
        for wrong in misshapen(argument):
            answer = self.answer(function, wrong)
            assert answer["success"] is True or answer["error"], answer
        for wrong in ([], None, "x", -1e308, {"min_runs": "x"}):
            self.answer(function, wrong)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=10) == 0


def flat(value):
    """All numbers of nested lists, in order."""
    return [n for each in value for n in flat(each)] if isinstance(value, list) else [value]


def close(got, wanted, tolerance, what):
    got, wanted = flat(got), flat(wanted)
    assert len(got) == len(wanted), f"{what}: {len(got)} numbers, not {len(wanted)}"
    size = max(map(abs, wanted), default=0) or 1.0
    for i, (g, w) in enumerate(zip(got, wanted)):
        assert abs(g - w) <= tolerance * size, f"{what}: entry {i} is {g}, not {w}"


def differences(f, argument, path, step=1e-5):
    """Central differences of f's numbers by each number at `path`: a list with one list per number of the input."""
    copy = json.loads(json.dumps(argument))
    place = copy
    for name in path:
        place = place[name]
    columns = []

    def visit(numbers):
        for i, number in enumerate(numbers):
            if isinstance(number, list):
                visit(number)
                continue
            sides = []
            for sign in (1, -1):
                numbers[i] = number + sign * step
                sides.append(flat(f(copy)))
            numbers[i] = number
            columns.append([(a - b) / (2 * step) for a, b in zip(*sides)])

    visit(place)
    return columns


def gradient(f, argument, *paths):
    return [column[0] for path in paths for column in differences(f, argument, path)]


def matrix(rows, columns, source, low=-1.0, high=1.0):
    return [[source.uniform(low, high) for _ in range(columns)] for _ in range(rows)]


def check_hello(program, source):
    for x in (3.0, -1.5, source.uniform(-9, 9)):
        close(program("square", x), x * x, 1e-15, "square")
        close(program("double", x), 2 * x, 1e-15, "double")
    assert program.answer("nothing", 1.0)["success"] is False


def check_lse(program, source):
    argument = {"x": [source.uniform(-3, 3) for _ in range(7)]}
    close(program("primal", argument), math.log(sum(map(math.exp, argument["x"]))), 1e-14, "primal")
    total = sum(map(math.exp, argument["x"]))
    close(program("gradient", argument), [math.exp(x) / total for x in argument["x"]], 1e-14, "gradient")
    close(program("primal", {"x": [1000.0, 1000.0]}), 1000 + math.log(2), 1e-14, "large exponents")
    program.check_manners("gradient", argument)


def check_llsq(program, source):
    argument = {"x": [source.uniform(-1, 1) for _ in range(4)], "n": 9}
    wanted = 0
    for i in range(9):
        t = -1 + i * 2 / 8
        rest = (t > 0) - (t < 0) - sum(x * t**j for j, x in enumerate(argument["x"]))
        wanted += rest * rest / 2
    close(program("primal", argument), wanted, 1e-14, "primal")
    close(program("gradient", argument), gradient(lambda a: program("primal", a), argument, ["x"]), 1e-7, "gradient")
    program.check_manners("gradient", argument)


def determinant(rows):
    if not rows:
        return 1.0
    return sum((-1) ** j * x * determinant([r[:j] + r[j + 1 :] for r in rows[1:]]) for j, x in enumerate(rows[0]))


def check_det(program, source):
    for size in (1, 2, 5):
        rows = matrix(size, size, source)
        argument = {"A": flat(rows), "ell": size}
        close(program("primal", argument), determinant(rows), 1e-13, "primal")
        cofactors = [
            (-1) ** (i + j) * determinant([r[:j] + r[j + 1 :] for k, r in enumerate(rows) if k != i])
            for i in range(size)
            for j in range(size)
        ]
        close(program("gradient", argument), cofactors, 1e-13, "gradient")
    program.check_manners("gradient", argument)


def check_ode(program, source):
    argument = {"x": [source.uniform(0.2, 1) for _ in range(5)], "s": 4}
    x, y, h = argument["x"], [0.0] * 5, 2 / 4

    def field(y):
        return [x[0]] + [x[i] * y[i - 1] for i in range(1, 5)]

    for _ in range(4):
        k1 = field(y)
        k2 = field([a + h / 2 * b for a, b in zip(y, k1)])
        k3 = field([a + h / 2 * b for a, b in zip(y, k2)])
        k4 = field([a + h * b for a, b in zip(y, k3)])
        y = [a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4)]
    close(program("primal", argument), y, 1e-14, "primal")
    wanted = gradient(lambda a: program("primal", a)[-1], argument, ["x"])
    close(program("gradient", argument), wanted, 1e-7, "gradient")
    program.check_manners("gradient", argument)


def log_posterior(a):
    """The objective of gmm, from the densities themselves."""
    d, k, m = a["d"], a["k"], a["m"]
    weights = [math.exp(w) for w in a["alpha"]]
    factors = []
    for q, l in zip(a["q"], a["l"]):
        factor, entries = [[0.0] * d for _ in range(d)], iter(l)
        for column in range(d):
            factor[column][column] = math.exp(q[column])
            for row in range(column + 1, d):
                factor[row][column] = next(entries)
        factors.append(factor)
    result = 0.0
    for x in a["x"]:
        density = 0.0
        for c in range(k):
            centred = [p - q for p, q in zip(x, a["mu"][c])]
            square = sum(sum(f * v for f, v in zip(row, centred)) ** 2 for row in factors[c])
            root = math.exp(sum(a["q"][c])) / (2 * math.pi) ** (d / 2)
            density += weights[c] / sum(weights) * root * math.exp(-square / 2)
        result += math.log(density)
    n = d + m + 1
    log_gamma = d * (d - 1) / 4 * math.log(math.pi) + sum(math.lgamma(n / 2 - i / 2) for i in range(d))
    for c in range(k):
        squares = sum(f * f for row in factors[c] for f in row)
        result += n * d * (math.log(a["gamma"]) - math.log(2) / 2) - log_gamma
        result += m * sum(a["q"][c]) - a["gamma"] ** 2 / 2 * squares
    return result


def check_gmm(program, source):
    for m in (0, 2):
        argument = {"d": 3, "k": 2, "n": 5, "m": m, "gamma": 1.2, "x": matrix(5, 3, source), "mu": matrix(2, 3, source),
                    "q": matrix(2, 3, source), "l": matrix(2, 3, source), "alpha": matrix(1, 2, source)[0]}
        close(program("objective", argument), log_posterior(argument), 1e-13, "objective")
        jacobian = program("jacobian", argument)
        assert set(jacobian) == {"alpha", "mu", "q", "l"}, jacobian
        for name in jacobian:
            wanted = gradient(lambda a: program("objective", a), argument, [name])
            close(jacobian[name], wanted, 1e-7, name)
    program.check_manners("jacobian", argument)


def lstm_loss(a):
    def logistic(x):
        return 1 / (1 + math.exp(-x))

    layers, width = len(a["main_params"]) // 2, len(a["sequence"][0])
    state, loss = json.loads(json.dumps(a["state"])), 0.0
    for seen, wanted in zip(a["sequence"], a["sequence"][1:]):
        x = [s * w for s, w in zip(seen, a["extra_params"][0])]
        for layer in range(layers):
            weights, biases = a["main_params"][2 * layer], a["main_params"][2 * layer + 1]
            hidden, cell = state[2 * layer], state[2 * layer + 1]
            for i in range(width):
                gate = [v * weights[g * width + i] + biases[g * width + i]
                        for g, v in enumerate((x[i], hidden[i], x[i], hidden[i]))]
                cell[i] = cell[i] * logistic(gate[0]) + logistic(gate[1]) * math.tanh(gate[3])
                hidden[i] = logistic(gate[2]) * math.tanh(cell[i])
            x = hidden
        out = [h * w + b for h, w, b in zip(x, a["extra_params"][1], a["extra_params"][2])]
        total = math.log(2 + sum(map(math.exp, out)))
        loss -= sum(w * (o - total) for w, o in zip(wanted, out))
    return loss / (width * (len(a["sequence"]) - 1))


def check_lstm(program, source):
    argument = {"main_params": matrix(4, 12, source), "extra_params": matrix(3, 3, source),
                "state": matrix(4, 3, source), "sequence": matrix(5, 3, source, 0, 1)}
    close(program("objective", argument), lstm_loss(argument), 1e-14, "objective")
    wanted = gradient(lambda a: program("objective", a), argument, ["main_params"], ["extra_params"])
    close(program("jacobian", argument), wanted, 1e-7, "jacobian")
    program.check_manners("jacobian", argument)


def reprojection(camera, point, weight, seen):
    offset = [p - c for p, c in zip(point, camera[3:6])]
    angle = math.sqrt(sum(r * r for r in camera[:3]))
    u = [r / angle for r in camera[:3]]
    across = [u[1] * offset[2] - u[2] * offset[1], u[2] * offset[0] - u[0] * offset[2],
              u[0] * offset[1] - u[1] * offset[0]]
    along = sum(p * q for p, q in zip(u, offset)) * (1 - math.cos(angle))
    turned = [o * math.cos(angle) + a * math.sin(angle) + v * along for o, a, v in zip(offset, across, u)]
    x, y = turned[0] / turned[2], turned[1] / turned[2]
    square = x * x + y * y
    scale = 1 + camera[9] * square + camera[10] * square * square
    return [weight * (v * scale * camera[6] + c - s) for v, c, s in zip((x, y), camera[7:9], seen)]


def check_ba(program, source):
    n, m, p = 3, 5, 17
    argument = {"n": n, "m": m, "p": p, "cam": [0.1, -0.2, 0.3, 0.2, 0.1, -3, 1.5, 0.2, -0.1, 0.05, 0.01],
                "x": [0.4, -0.3, 0.2], "w": 0.9, "feat": [0.1, 0.2]}
    out = program("objective", argument)
    wanted = reprojection(argument["cam"], argument["x"], 0.9, argument["feat"])
    close(out["reproj_error"]["elements"], wanted, 1e-14, "reprojection")
    close(out["w_err"]["element"], 1 - 0.81, 1e-14, "weight error")
    assert out["reproj_error"]["repeated"] == p and out["w_err"]["repeated"] == p
    jacobian = program("jacobian", argument)

    def errors(a):
        return program("objective", {**a, "w": a["w"][0]})["reproj_error"]["elements"]

    inside = {**argument, "w": [0.9]}
    columns = [c for name in ("cam", "x", "w") for c in differences(errors, inside, [name])]
    close(jacobian["vals"], [c[row] for row in range(2) for c in columns] + [-1.8], 1e-7, "values")
    # Observation 0 reads camera 0, point 0, weight 0; then come cameras, points, weights.
    block = list(range(11)) + [11 * n, 11 * n + 1, 11 * n + 2, 11 * n + 3 * m]
    assert jacobian["cols"] == block + block + [11 * n + 3 * m + p - 1], jacobian["cols"]
    assert jacobian["rows"] == [15 * r for r in range(30)] + [31 * p], jacobian["rows"]
    program.check_manners("jacobian", argument)


def check_kmeans(program, source):
    points = matrix(30, 2, source)
    argument = {"points": points, "centroids": points[-4:]}

    def cost(centroids):
        return sum(min(sum((x - y) ** 2 for x, y in zip(p, c)) for c in centroids) for p in points)

    close(program("cost", argument), cost(argument["centroids"]), 1e-13, "cost")
    # Newton's step from any centroid leads to the mean of the points that are its own.
    own = [[] for _ in argument["centroids"]]
    for p in points:
        own[min(range(4), key=lambda c: sum((x - y) ** 2 for x, y in zip(p, argument["centroids"][c])))].append(p)
    means = [[sum(x) / len(group) for x in zip(*group)] for group in own]
    wanted = [[c - m for c, m in zip(*pair)] for pair in zip(argument["centroids"], means)]
    close(program("dir", argument), wanted, 1e-13, "dir")
    program.check_manners("dir", argument)


def hand(source, points, vertices=9, triangles=6):
    """A wrist, five fingers of four bones, a forearm; vertices and triangles at random."""
    def move(x, y, z):
        return [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z], [0.0, 0.0, 0.0, 1.0]]

    parents, relatives, inverses, places = [], [], [], []
    for bone in range(22):
        parent = -1 if bone == 0 else 0 if bone == 21 or bone % 4 == 1 else bone - 1
        shift = [source.uniform(-1, 1) for _ in range(3)]
        place = [a + b for a, b in zip(shift, places[parent] if parent >= 0 else [0, 0, 0])]
        parents.append(parent)
        places.append(place)
        relatives.append(move(*shift))
        inverses.append(move(*(-x for x in place)))
    rest = [row + [1.0] for row in matrix(vertices, 3, source)]
    weights = []
    for _ in rest:
        row = [source.uniform(0, 1) if source.random() < 0.5 else 0.0 for _ in range(22)]
        weights.append([w / sum(row) for w in row])
    model = {"bone_count": 22, "bone_names": [f"bone{i}" for i in range(22)], "parents": parents,
             "base_relatives": relatives, "inverse_base_absolutes": inverses, "base_positions": rest,
             "weights": weights, "triangles": [source.sample(range(vertices), 3) for _ in range(triangles)], "is_mirrored": False}
    return {"model": model, "correspondences": [source.randrange(triangles) for _ in range(points)],
            "points": matrix(points, 3, source)}


def check_ht(program, source):
    count = 5
    argument = {"theta": [0.0, 0.0, 0.0, 0.3, -0.2, 0.1] + [0.0] * 20, "data": hand(source, count), "us": []}
    data = argument["data"]
    # At rest every vertex is where it began, moved by the translation.
    wanted = [[y - v - t for y, v, t in zip(point, data["model"]["base_positions"][at], (0.3, -0.2, 0.1))]
              for point, at in zip(data["points"], data["correspondences"])]
    close(program("objective", argument), wanted, 1e-13, "at rest")
    for mirrored, places in ((False, []), (False, matrix(count, 2, source, 0, 0.5)), (True, [])):
        data["model"]["is_mirrored"] = mirrored
        argument["theta"] = [source.uniform(-0.7, 0.7) for _ in range(26)]
        argument["us"] = places
        jacobian = program("jacobian", argument)
        assert len(jacobian) == 3 * count
        columns = differences(lambda a: program("objective", a), argument, ["theta"])
        rows = [list(row) for row in zip(*columns)]
        if places:
            by_place = differences(lambda a: program("objective", a), argument, ["us"])
            rows = [[by_place[2 * (r // 3)][r], by_place[2 * (r // 3) + 1][r]] + row for r, row in enumerate(rows)]
            others = [by_place[c][r] for c in range(2 * count) for r in range(3 * count) if r // 3 != c // 2]
            assert not any(others)  # a point's coordinates move no other point
        close(jacobian, rows, 1e-7, "jacobian")
    program.check_manners("jacobian", argument)


def main():
    checks = {name.removeprefix("check_"): check for name, check in globals().items() if name.startswith("check_")}
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    failed = False
    folder = Path(sys.argv[1])
    for name in sys.argv[2:] or [name for name in checks if (folder / name).is_file()]:
        try:
            program = Program(folder / name, name)
            checks[name](program, random.Random(17))
            program.close()
            print(f"{name}: good")
        except (AssertionError, KeyError, OSError, ValueError) as error:
            failed = True
            print(f"{name}: {type(error).__name__}: {error}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
