const element = (id) => document.getElementById(id);

// The theme is the system's until somebody chooses another one.
const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const showTheme = () => { element("theme").textContent = dark() ? "Light" : "Dark"; };
try { const chosen = localStorage.getItem("theme"); if (chosen) document.documentElement.dataset.theme = chosen; } catch { /* no storage */ }
showTheme();
element("theme").addEventListener("click", () => {
  const theme = dark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("theme", theme); } catch { /* no storage */ }
  showTheme();
});

element("menu").addEventListener("click", () => {
  const open = element("pages").classList.toggle("open");
  element("menu").setAttribute("aria-expanded", open);
});

// Each block of code can be copied.
for (const block of document.querySelectorAll("main pre")) {
  const box = document.createElement("div"), button = document.createElement("button");
  box.className = "code";
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(block.textContent); button.textContent = "Copied"; } catch { button.textContent = "Select and copy"; }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  block.replaceWith(box);
  box.append(block, button);
}

// The search finds the sections that have all words, first those that have them in their titles.
const search = (query) => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const scored = [];
  for (const s of sections) {
    const title = (s.t + " " + s.p).toLowerCase(), text = s.x.toLowerCase();
    if (!words.every((w) => title.includes(w) || text.includes(w))) continue;
    scored.push([words.filter((w) => title.includes(w)).length, s]);
  }
  return scored.sort((a, b) => b[0] - a[0]).slice(0, 20).map(([, s]) => s);
};
const show = () => {
  const found = element("found"), query = element("query").value;
  found.replaceChildren();
  found.hidden = !query.trim();
  const list = search(query);
  for (const s of list) {
    const a = document.createElement("a"), where = document.createElement("span");
    a.href = s.u;
    a.append(s.t === s.p ? s.t : s.p + ": " + s.t);
    where.textContent = s.x.slice(0, 140);
    a.append(where);
    found.append(a);
  }
  if (!list.length) found.textContent = "Nothing is found.";
};
element("query").addEventListener("input", show);
element("search").addEventListener("submit", (e) => {
  e.preventDefault();
  const first = element("found").querySelector("a");
  if (first) location.href = first.href;
});
element("found").addEventListener("click", () => { element("found").hidden = true; });
addEventListener("keydown", (e) => {
  if (e.key === "/" && document.activeElement.tagName !== "INPUT") { e.preventDefault(); element("query").focus(); }
  if (e.key === "Escape") { element("found").hidden = true; }
});
