// Search, theme, menu and copying: plain JavaScript that needs no server. The index is a script of its own,
// window.tidemarkIndex = [[page, title, anchor, heading, text], …], loaded when somebody first searches.
"use strict";

const fold = (text) => text.toLowerCase();

// The sections that hold every word of the query, best first. A word in a heading is worth more than one in a
// title, that more than many in the text; a word that stands there whole more than the beginning of another.
function findSections(index, query, most = 20) {
  const words = fold(query).split(/[^\p{L}\p{N}_.:+#%-]+/u).filter((word) => word.length > 0);
  if (words.length === 0) return [];
  const found = [];
  for (const entry of index) {
    const [, title, , heading, text] = entry;
    const places = [[fold(heading), 40], [fold(title), 12], [fold(text), 1]];
    let score = 0;
    for (const word of words) {
      let worth = 0;
      for (const [place, weight] of places) {
        let count = 0, whole = 0;
        for (let at = place.indexOf(word); at >= 0 && count < 12; at = place.indexOf(word, at + word.length)) {
          ++count;
          const before = place[at - 1] ?? " ", after = place[at + word.length] ?? " ";
          if (!/[\p{L}\p{N}]/u.test(before) && !/[\p{L}\p{N}]/u.test(after)) ++whole;
        }
        if (count > 0) worth += weight * (1 + Math.log2(1 + count) / 4) * (whole > 0 ? 2 : 1);
      }
      if (worth === 0) { score = 0; break; }
      score += worth;
    }
    if (score > 0) found.push([score, entry]);
  }
  found.sort((l, r) => r[0] - l[0]);
  return found.slice(0, most).map(([, entry]) => entry);
}

// A stretch of the text around the first word, as [piece, marked] pairs.
function excerpt(text, query, length = 150) {
  const words = fold(query).split(/[^\p{L}\p{N}_.:+#%-]+/u).filter((word) => word.length > 0);
  const low = fold(text);
  const first = Math.min(...words.map((word) => low.indexOf(word)).filter((at) => at >= 0));
  const begin = Number.isFinite(first) ? Math.max(0, first - 50) : 0;
  let part = text.slice(begin, begin + length).replace(/\s+/g, " ");
  if (begin > 0) part = "…" + part.replace(/^\S*\s/, "");  // whole words
  if (begin + length < text.length) part = part.replace(/\s\S*$/, "") + " …";
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  if (!pattern) return [[part, false]];
  return part.split(new RegExp(`(${pattern})`, "giu")).map((piece, i) => [piece, i % 2 === 1]);
}

function start() {
  const root = document.documentElement, base = root.dataset.base;
  const input = document.querySelector("#search"), results = document.querySelector("#results");

  document.querySelector("#theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("tidemark-theme", root.dataset.theme); } catch { /* a file opened without storage */ }
  });
  const menu = document.querySelector("#menu");
  menu.addEventListener("click", () => menu.setAttribute("aria-expanded", String(document.body.classList.toggle("menu"))));

  let loading = null;
  const load = () => loading ??= new Promise((done) => {
    const script = document.createElement("script");
    script.src = base + "search_index.js";
    script.onload = done;
    document.head.append(script);
  });

  const show = async () => {
    const query = input.value.trim();
    if (query.length < 2) { results.hidden = true; return; }
    await load();
    if (input.value.trim() !== query) return;  // typed on meanwhile
    const items = findSections(window.tidemarkIndex, query).map(([page, title, anchor, heading, text]) => {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = base + page + (anchor ? "#" + anchor : "");
      const name = document.createElement("b");
      name.textContent = heading;
      link.append(name, heading === title ? "" : " · " + title);
      const small = document.createElement("small");
      for (const [piece, marked] of excerpt(text, query)) {
        if (!marked) { small.append(piece); continue; }
        const mark = document.createElement("mark");
        mark.textContent = piece;
        small.append(mark);
      }
      link.append(small);
      item.append(link);
      return item;
    });
    if (items.length === 0) {
      const none = document.createElement("li");
      none.className = "none";
      none.textContent = `Nothing has all of “${query}”.`;
      items.push(none);
    }
    results.replaceChildren(...items);
    results.hidden = false;
  };

  input.addEventListener("input", show);
  input.addEventListener("focus", () => { load(); if (input.value) show(); });
  document.querySelector("header form").addEventListener("submit", (event) => {
    event.preventDefault();
    results.querySelector("a.chosen, a")?.click();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("header form")) results.hidden = true;
    if (event.target.closest("nav.pages a")) document.body.classList.remove("menu");
    if (event.target.closest("#results a")) results.hidden = true;
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input");
    if (event.key === "/" && !typing) { event.preventDefault(); input.focus(); }
    if (event.key === "Escape") { results.hidden = true; document.body.classList.remove("menu"); input.blur(); }
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && typing && !results.hidden) {
      event.preventDefault();
      const links = [...results.querySelectorAll("a")], at = links.findIndex((link) => link.classList.contains("chosen"));
      const next = Math.max(0, Math.min(links.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)));
      links.forEach((link, i) => link.classList.toggle("chosen", i === next));
      links[next]?.scrollIntoView({ block: "nearest" });
    }
  });

  for (const figure of document.querySelectorAll("figure.cpp, figure.sh")) {
    if (!navigator.clipboard) break;  // pages from a disk may have none
    const button = document.createElement("button");
    button.className = "copy";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(figure.querySelector("code").textContent);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
    figure.append(button);
  }

  const here = new Map([...document.querySelectorAll("nav.here a")].map((link) => [link.hash.slice(1), link]));
  const headings = [...document.querySelectorAll("main h2[id], main h3[id]")].filter((heading) => here.has(heading.id));
  const follow = () => {
    let now = null;
    for (const heading of headings) if (heading.getBoundingClientRect().top < 120) now = heading.id;
    for (const [id, link] of here) link.classList.toggle("now", id === now);
  };
  addEventListener("scroll", follow, { passive: true });
  follow();
  const pages = document.querySelector("nav.pages"), current = pages.querySelector("[aria-current]");
  if (current) pages.scrollTop = Math.max(0, current.offsetTop - pages.clientHeight / 2);
}

if (typeof document !== "undefined") start();
if (typeof module !== "undefined") module.exports = { findSections, excerpt };
