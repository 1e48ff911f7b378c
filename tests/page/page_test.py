#!/usr/bin/env python3
"""usage: page_test.py TIDEMARK FOLDER

The explorer page as a person uses it, in a browser: pages of a GPT, of a ResNet and of plans with a disk are opened from
files, clicked, sorted, searched and compared; the numbers they show are those of the command's JSON. Pictures of them stay
in FOLDER. Skipped (77) where no browser is installed.
"""

import json
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import synthetic  # noqa: E402
import webdriver  # noqa: E402

FOLDER = Path(sys.argv.pop() if len(sys.argv) > 2 else ".").resolve()
TIDEMARK = sys.argv.pop() if len(sys.argv) > 1 else "tidemark"
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def command(*arguments, code=0):
    ran = subprocess.run([TIDEMARK, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert ran.returncode == code, (arguments, ran.returncode, ran.stderr)
    return ran


def page_of(name, *arguments, code=0):
    """The page's path, and the command's JSON beside it."""
    path = FOLDER / f"{name}.html"
    ran = command("plan", *arguments, "--json", "--html", path, code=code)
    return path, json.loads(ran.stdout)


def bytes_text(count):
    """As the command writes bytes."""
    amount, unit = float(count), 0
    names = list(UNITS)
    while abs(amount) >= 1024 and unit + 1 < len(names):
        amount, unit = amount / 1024, unit + 1
    return f"{count} B" if unit == 0 else f"{amount:.2f} {names[unit]}"


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        FOLDER.mkdir(parents=True, exist_ok=True)
        cls.pages = {
            "gpt": page_of("gpt", "gpt", "--memory", "80%", "--html-plans", 6),
            "resnet": page_of("resnet", "resnet18", "--batch", 4, "--memory", "85%", "--html-plans", 4),
            "disk": page_of("disk", "gpt", "--memory", "70%", "--tier", "disk=1GiB", "--allow", "disk", "--html-plans", 1),
        }
        cls.browser = webdriver.Browser()
        cls.browser.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def tearDown(self):
        self.assertEqual(self.browser.console_errors(), [])

    def figure(self, name):
        return self.browser.text(f'[data-figure="{name}"]')

    def box(self, selector):
        return self.browser.run("const r = document.querySelector(arguments[0]).getBoundingClientRect();"
                                "return [r.left, r.top, r.width, r.height]", selector)

    def test_figures_are_those_of_the_command(self):
        for name, (path, figures) in self.pages.items():
            self.browser.open(path)
            self.assertEqual(self.figure("peak"), bytes_text(figures["peak"]), name)
            self.assertEqual(self.figure("budget"), bytes_text(figures["budget"]), name)
            self.assertEqual(self.figure("plan hash"), figures["plan_hash"], name)
            self.assertEqual(self.figure("steps"), f"{figures['steps']:,}", name)
            self.assertEqual(self.figure("computed again"), f"{figures['recomputed']:,} steps", name)
            self.assertIn(bytes_text(figures["peak"]), self.browser.text("#verdict"))

    def test_what_is_drawn_at_the_peak_is_what_the_command_says_of_it(self):
        for name, (path, figures) in self.pages.items():
            self.browser.open(path)
            held = self.browser.run("""const { plan } = window.tidemark.state;
                return Object.fromEntries(plan.page.roles.map((r, i) => [r, plan.load(0).roles[i][plan.peakStep]]))""")
            for role, count in figures["peak_holds"].items():
                if role != "unused":
                    self.assertEqual(held[role], count, (name, role))
            # The rows of the table add up to the same.
            live = self.browser.run("""const { plan } = window.tidemark.state;
                return plan.liveAt(plan.peakStep).filter((b) => plan.memory[b] === 0).reduce((n, b) => n + plan.bytes[b], 0)""")
            self.assertEqual(live + figures["peak_holds"]["unused"], figures["peak"], name)

    def test_a_moment_and_a_buffer_are_chosen_by_a_click_and_stand_in_the_address(self):
        path, _ = self.pages["gpt"]
        self.browser.open(path)
        left, top, width, height = self.box('[data-view="memory-0"] canvas')
        self.browser.move_to(left + width / 3, top + height / 2, click=True)
        self.assertNotIn("peak", self.browser.text("aside h3:nth-of-type(1)"))
        step = self.browser.run("return window.tidemark.state.moment")
        self.assertIn(f"Live at step {step:,}", self.browser.text("aside"))
        self.browser.click("#live tr.row")
        chosen = self.browser.run("return window.tidemark.state.buffer")
        self.assertGreaterEqual(chosen, 0)
        fragment = self.browser.run("return location.hash")
        self.assertIn(f"buffer={chosen}", fragment)
        details = self.browser.text("#details")
        self.browser.open(path, fragment)
        self.assertEqual(self.browser.text("#details"), details)
        self.assertEqual(self.browser.run("return window.tidemark.state.moment"), step)
        self.browser.press("escape")
        self.assertIn("Nothing chosen", self.browser.text("#details"))
        self.browser.press("p")
        self.assertIn("Live at the peak", self.browser.text("aside"))

    def test_the_map_finds_the_buffer_under_the_pointer(self):
        self.browser.open(self.pages["resnet"][0])
        self.browser.run('document.querySelector(\'[data-view="addresses-0"]\').scrollIntoView()')
        left, top, width, height = self.box('[data-view="addresses-0"] canvas')
        found = 0
        for k in range(1, 12):
            x, y = left + 70 + (width - 90) * k / 12, top + height * (0.15 + 0.06 * k)
            self.browser.move_to(x, y)
            buffer = self.browser.run("return window.tidemark.state.hovered")
            if buffer < 0:
                continue
            found += 1
            holds = self.browser.run("""const [b, x, y] = arguments; const view = window.tidemark.explorer.addresses[0];
                const { plan } = window.tidemark.state; const step = view.axis.step(x); const at = view.address(y, view.sheet.height);
                const slack = 4 * view.top / view.sheet.height;
                return plan.from(b) <= step && step < plan.to(b) && plan.base[b] - slack <= at && at < plan.base[b] + plan.bytes[b] + slack""",
                                     buffer, x - left, y - top)
            self.assertTrue(holds)
            self.assertFalse(self.browser.run("return document.getElementById('card').hidden"))
        self.assertGreater(found, 3)

    def test_decisions_are_sorted_and_searched(self):
        self.browser.open(self.pages["gpt"][0])
        sizes = "return window.tidemark.explorer.decisions.rows.slice(0, 50).map((row) => row.bytes)"
        falling = self.browser.run(sizes)
        self.assertEqual(falling, sorted(falling, reverse=True))
        self.browser.click('[data-sort="bytes"]')
        rising = self.browser.run(sizes)
        self.assertEqual(rising, sorted(rising))
        count = self.browser.run("return window.tidemark.explorer.decisions.rows.length")
        self.browser.type("#search", "gelu")
        titles = self.browser.run("return window.tidemark.explorer.decisions.rows.map((r) => r.haystack)")
        self.assertTrue(0 < len(titles) < count)
        self.assertTrue(all("gelu" in title for title in titles))
        self.browser.click("#decisions tr.row")
        self.assertGreaterEqual(self.browser.run("return window.tidemark.state.buffer"), -1)

    def test_a_buffer_is_called_after_what_it_holds_at_the_moment(self):
        for name, (path, _) in self.pages.items():
            self.browser.open(path)
            wrong = self.browser.run("""const { plan } = window.tidemark.state; const wrong = [];
                const holds = plan.value.slice();
                for (let s = 0; s <= plan.peakStep; ++s)
                  for (let k = plan.firstOut[s]; k < plan.firstOut[s + 1]; ++k) holds[plan.outBuffer[k]] = plan.outValue[k];
                for (const row of document.querySelectorAll("#live tr.row")) {
                  const b = Number(row.dataset.buffer);
                  const title = holds[b] < 0 ? "workspace of a kernel" : plan.graph.valueTitle(holds[b]);
                  if (!row.cells[1].textContent.includes(title)) wrong.push([row.cells[1].textContent, title]);
                }
                return wrong""")
            self.assertEqual(wrong, [], name)
            # Values take turns in a buffer: the steps that they are in memory for add up to the buffer's.
            sums = self.browser.run("""const { plan } = window.tidemark.state;
                const rows = window.tidemark.explorer.decisions.all;
                let buffers = 0;
                for (let b = 0; b < plan.bufferCount; ++b)
                  if (plan.value[b] >= 0 && plan.hasMemory(b)) buffers += plan.to(b) - plan.from(b);
                return [rows.reduce((n, row) => n + row.steps, 0), buffers]""")
            self.assertEqual(sums[0], sums[1], name)

    def test_an_explanation_gives_decisions_words_and_prices(self):
        html = self.pages["gpt"][0].read_text()
        data = synthetic.data_of(html)
        plan = data["plans"][data["current"]]
        value = next(v for v in plan["buffers"]["value"] if v >= 0)
        data["explanation"] = {"plan_hash": plan["figures"]["plan_hash"], "values": [
            {"value": value, "region": 0, "decision": "kept", "cost_seconds": 0, "why": "it is read soon <b>again</b>", "alternatives": [
                {"decision": "recomputed", "peak_change": -1048576, "seconds_change": 0.002, "why": "not needed"}]}]}
        path = FOLDER / "explained.html"
        path.write_text(synthetic.with_data(html, data))
        self.browser.open(path)
        self.browser.run("const t = window.tidemark.explorer.decisions; t.choose(t.all.find((row) => row.value === arguments[0]))", value)
        said = self.browser.text("#decisions-section .why")
        self.assertIn("it is read soon <b>again</b>", said)
        self.assertIn("Instead computed again: peak −1.00 MiB, time +2 ms (not needed)", said)

    def test_the_plan_asked_for_is_explained(self):
        self.browser.open(self.pages["gpt"][0])
        why = json.loads(command("explain", "gpt", "--memory", "80%", "--top", 0, "--json").stdout)
        rows = {row["value"]: row for row in self.browser.run(
            "return window.tidemark.explorer.decisions.all.map(({ value, decision, seconds }) => ({ value, decision, seconds }))")}
        self.assertGreater(len(why["values"]), 50)
        for value in why["values"]:
            row = rows[value["value"]]
            self.assertEqual((row["decision"], row["seconds"]), (value["decision"], value["cost_seconds"]), value["value"])

    def test_bytes_are_rounded_as_the_command_rounds(self):
        html = self.pages["gpt"][0].read_text()
        for eighths in range(1, 9):
            data = synthetic.data_of(html)
            count = 544 * 1024 + 128 * eighths
            data["plans"][data["current"]]["figures"]["peak"] = count
            path = FOLDER / "rounded.html"
            path.write_text(synthetic.with_data(html, data))
            self.browser.open(path)
            self.assertEqual(self.figure("peak"), bytes_text(count))

    def test_what_cannot_be_read_leaves_the_page_whole(self):
        path, _ = self.pages["gpt"]
        broken_page = synthetic.data_of(path.read_text())
        del broken_page["plans"][broken_page["current"]]["figures"]["peak_holds"]
        for box, content in (("#profile-file", {"format": "tidemark-profile"}), ("#compare-file", broken_page)):
            self.browser.open(path)
            file = FOLDER / "broken.json"
            file.write_text(json.dumps(content))
            self.browser.type(box, str(file))
            self.browser.run_async("const done = arguments[0]; setTimeout(done, 300)")
            self.browser.run("const s = document.getElementById('plan-slider'); s.value = 0; s.dispatchEvent(new Event('input'))")
            self.browser.frame()
            self.assertEqual(self.browser.console_errors(), [], box)

    def test_a_phone_shows_it_without_scrolling_sideways(self):
        with webdriver.Browser(390, 844) as phone:
            phone.open(self.pages["gpt"][0])
            phone.screenshot(FOLDER / "phone.png")
            self.assertLessEqual(phone.run("return document.documentElement.scrollWidth"), 390)
            heads = phone.run("""return [...document.querySelectorAll('#decisions th button')].map((b) => {
                const [at, inside] = [b.getBoundingClientRect(), b.parentElement.getBoundingClientRect()];
                return at.right - inside.right })""")
            self.assertLessEqual(max(heads), 4)  # no heading runs into the next

    def test_the_slider_changes_every_view(self):
        path, figures = self.pages["gpt"]
        self.browser.open(path)
        seen = []
        for number in range(self.browser.run("return window.tidemark.state.page.planCount")):
            self.browser.run("const s = document.getElementById('plan-slider'); s.value = arguments[0];"
                             "s.dispatchEvent(new Event('input'))", number)
            self.browser.frame()
            seen.append(self.browser.run("return window.tidemark.state.plan.figures"))
            self.assertEqual(self.figure("peak"), bytes_text(seen[-1]["peak"]))
            self.assertIn(bytes_text(seen[-1]["peak"]), self.browser.text("#plan-label"))
        peaks = [plan["peak"] for plan in seen]
        self.assertGreater(len(set(peaks)), 2)
        self.assertEqual(peaks, sorted(peaks))
        self.assertIn(figures["plan_hash"], [plan["plan_hash"] for plan in seen])
        self.browser.click("#plan-back")
        self.assertEqual(self.figure("plan hash"), figures["plan_hash"])

    def test_another_page_is_compared(self):
        path, _ = self.pages["gpt"]
        other, figures = self.pages["resnet"]
        self.browser.open(path)
        self.browser.type("#compare-file", str(other))
        self.browser.run_async("const done = arguments[0]; setTimeout(done, 300)")
        table = self.browser.text("#compare-table")
        self.assertIn(bytes_text(figures["peak"]), table)
        self.assertIn("resnet18", table)

    def test_lanes_and_memories_have_bands(self):
        path, figures = self.pages["disk"]
        self.assertGreater(figures["choices"]["disk"], 0)
        self.browser.open(path)
        bands = self.browser.run("return [...document.querySelectorAll('[data-view]')].map((e) => e.dataset.view)")
        self.assertEqual(bands, ["memory-0", "memory-1", "lanes", "addresses-0", "addresses-1"])
        self.assertEqual(self.figure("disk"), bytes_text(figures["memories"][1]["peak"]))
        stalled = self.browser.run("return window.tidemark.state.plan.lanes.map((lane) => lane.stalled)")
        self.assertEqual(len(stalled), len(figures["lanes"]))

    def test_names_that_look_like_markup_are_text(self):
        html = self.pages["gpt"][0].read_text()
        data = synthetic.data_of(html)
        evil = "</script><img src=x onerror=alert(1)>\u2028'\\\""
        data["title"] = evil
        data["notes"] = [evil]
        data["texts"] = [evil + text for text in data["texts"]]
        path = FOLDER / "hostile.html"
        path.write_text(synthetic.with_data(html, data))
        self.browser.open(path)
        self.browser.click("#live tr.row")
        self.browser.type("#search", "onerror")
        self.assertEqual(self.browser.text("#title"), evil)
        self.assertIn(evil, self.browser.text("#details"))
        self.assertEqual(self.browser.run("return document.images.length"), 0)

    def test_a_profile_is_set_beside_the_plan(self):
        path, figures = self.pages["gpt"]
        self.browser.open(path)
        count = figures["steps"]
        profile = {"format": "tidemark-profile", "version": 1, "plan_hash": figures["plan_hash"], "target": "cpu", "machine": "m",
                   "predicted": figures["predicted_seconds"], "measured": 2.5, "lanes": ["compute"],
                   "memories": [{"name": "ram", "input_bytes": figures["input_bytes"], "arena_bytes": figures["arena_bytes"],
                                 "high_water": figures["arena_bytes"], "curve": [[0, 1000], [1, figures["peak"]], [2.5, 1000]]}],
                   "steps": [{"kind": "compute", "op": "matmul" if k % 2 else "tanh"} for k in range(count)],
                   "kernels": [{"first": k, "last": k + 1, "lane": 0, "predicted": 0.001, "measured": 0.002} for k in range(count)],
                   "bodies": [], "runs": [{"begin": 0, "seconds": 2.5, "kernel_begin": [], "kernel_end": []}]}
        file = FOLDER / "profile.json"
        file.write_text(json.dumps(profile))
        self.browser.type("#profile-file", str(file))
        self.browser.run_async("const done = arguments[0]; setTimeout(done, 300)")
        said = self.browser.text("#reality-section")
        self.assertIn("2500 ms measured", said)
        self.assertNotIn("another plan", said)
        self.assertIn("2.00", self.browser.text("#reality-table"))
        endless = FOLDER / "endless.json"
        endless.write_text(json.dumps(profile).replace('"measured": 2.5', '"measured": 1e999'))  # which is read as infinite
        self.browser.type("#profile-file", str(endless))
        self.browser.run_async("const done = arguments[0]; setTimeout(done, 300)")
        self.assertIn("∞ s measured", self.browser.text("#reality-section"))
        self.browser.type("#profile-file", str(self.pages["disk"][0]))
        self.browser.run_async("const done = arguments[0]; setTimeout(done, 300)")
        self.assertIn("is no profile", self.browser.text("#reality-section"))

    def test_a_loop_has_a_staircase(self):
        graph = Path(__file__).parent.parent / "golden" / "graphs" / "repeat.ir"
        path, figures = page_of("loop", graph, "--memory", "50%", "--html-plans", 3)
        self.browser.open(path)
        self.assertEqual(self.figure("peak"), bytes_text(figures["peak"]))
        self.assertIn("Loop of 20 steps", self.browser.text("#stairs-section"))

    def test_a_budget_that_nothing_meets_has_a_page_too(self):
        path, figures = page_of("misfit", "gpt", "--memory", "1MiB", code=3)
        self.browser.open(path)
        self.assertIn("Does not fit", self.browser.text("#verdict"))
        self.assertEqual(self.figure("peak"), bytes_text(figures["floor"]))

    def test_a_schedule_is_a_staircase(self):
        path = FOLDER / "schedule.html"
        ran = command("schedule", "--steps", 60, "--slots", 4, "--json", "--html", path)
        figures = json.loads(ran.stdout)
        self.browser.open(path)
        self.assertIn(str(figures["total_forward"]), self.browser.text("#verdict"))
        self.browser.screenshot(FOLDER / "schedule-light.png")

    def test_pictures(self):
        for dark in (False, True):
            with webdriver.Browser(dark=dark) as browser:
                for name in self.pages:
                    browser.open(self.pages[name][0])
                    browser.screenshot(FOLDER / f"{name}-{'dark' if dark else 'light'}.png")
                self.assertEqual(browser.console_errors(), [])

    def test_many_buffers(self):
        html = self.pages["gpt"][0].read_text()
        path = FOLDER / "many.html"
        path.write_text(synthetic.with_data(html, synthetic.many_buffers(synthetic.data_of(html), 100_000)))
        self.assertLess(path.stat().st_size, 30_000_000)
        began = time.monotonic()
        self.browser.open(path)
        opened = time.monotonic() - began
        times = self.browser.run("""
            const canvas = document.querySelector('[data-view="addresses-0"] canvas');
            const box = canvas.getBoundingClientRect();
            const times = [];
            for (let i = 0; i < 100; ++i) {
              const begin = performance.now();
              canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 80 + 8 * i, clientY: box.top + 40 + i, bubbles: true }));
              window.tidemark.explorer.refresh();
              times.push(performance.now() - begin);
            }
            times.sort((a, b) => a - b);
            const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1;
            return [paint, times[50], times[95]]""")
        print(f"100,000 buffers: {path.stat().st_size / 1e6:.1f} MB, first paint {times[0]:.0f} ms, all of it {1e3 * opened:.0f} ms, "
              f"hover {times[1]:.1f} ms (95%: {times[2]:.1f} ms)", flush=True)
        self.browser.screenshot(FOLDER / "many-light.png")


if __name__ == "__main__":
    reason = webdriver.missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=1)
