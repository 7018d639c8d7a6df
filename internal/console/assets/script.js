// Keeps a page up to date: the server sends the parts that changed, and this replaces them. Without it, all pages
// work, and show what was true when they were loaded.
"use strict";

const status = document.getElementById("live");

function say(text) {
  if (status.textContent !== text) status.textContent = text;
}

// parse returns the element of a part. The server has escaped all text of strangers in it.
function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

// replace puts a new part in the place of an old one. What the user has opened stays open, and the focus stays.
function replace(old, next) {
  const open = [...old.querySelectorAll("details")].map((d) => d.open);
  next.querySelectorAll("details").forEach((d, i) => { d.open = Boolean(open[i]); });
  const inside = [...old.querySelectorAll("a, button, summary, [tabindex]")];
  const at = inside.indexOf(document.activeElement);
  const id = at >= 0 ? document.activeElement.id : "";
  old.replaceWith(next);
  if (at < 0) return;
  const focus = (id && document.getElementById(id)) || next.querySelectorAll("a, button, summary, [tabindex]")[at];
  if (focus) focus.focus({ preventScroll: true });
}

function show(part) {
  const next = parse(part.html);
  const old = document.getElementById(part.id);
  if (!old) {
    const section = document.getElementById(part.section);
    if (section) section.append(next);
  } else if (old.dataset.v !== next.dataset.v) {
    replace(old, next);
  }
}

if (document.body.dataset.page) {
  const source = new EventSource("/live?page=" + encodeURIComponent(document.body.dataset.page));
  source.addEventListener("open", () => say("live"));
  source.addEventListener("error", () => say("not live: trying again"));
  source.addEventListener("parts", (e) => JSON.parse(e.data).forEach(show));
  source.addEventListener("failed", (e) => say("cannot be read: " + JSON.parse(e.data)));
  source.addEventListener("closed", () => { source.close(); say("the console has ended"); });
  addEventListener("pagehide", () => source.close());
}
