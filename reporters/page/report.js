"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  for (const element of all(".needs-script")) element.hidden = false;

  const themes = ["system", "light", "dark"];
  const theme = byId("theme");
  theme.addEventListener("click", () => {
    const next = themes[(themes.indexOf(theme.lastElementChild.textContent) + 1) % themes.length];
    theme.lastElementChild.textContent = next;
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
  });

  const said = byId("said");
  let quiet;
  const relabel = new Map();
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    const label = button.firstChild;
    const done = await copy(button.closest(".message").querySelector("code").textContent);
    button.focus();
    label.data = done ? "Copied" : "Select it by hand";
    said.textContent = label.data;
    clearTimeout(quiet); // or what an earlier copy set would silence this one
    quiet = setTimeout(() => { said.textContent = ""; }, 2000);
    clearTimeout(relabel.get(button));
    relabel.set(button, setTimeout(() => { label.data = "Copy"; }, 2000));
  });

  const open = () => {
    let target = null;
    try { target = byId(decodeURIComponent(location.hash.slice(1))); } catch { return; }
    if (!target || !target.classList.contains("finding")) return;
    target.hidden = false;
    target.firstElementChild.open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus();
  };
  addEventListener("hashchange", open);

  const form = byId("filters");
  if (!form) return;
  const findings = all(".finding").map((element) => ({ element, text: element.textContent.toLowerCase() }));
  const names = ["outcome", "area", "level", "revision"];
  const filter = () => {
    const words = byId("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [outcome, area, level, revision] = names.map((name) => byId(name).value);
    let shown = 0;
    for (const { element, text } of findings) {
      const data = element.dataset;
      const fits = (!outcome || data.outcome === outcome) && (!area || data.area === area) && (!level || data.level === level) &&
        (!revision || data.revisions.split(" ").includes(revision)) && words.every((word) => text.includes(word));
      element.hidden = !fits;
      if (fits) shown++;
    }
    byId("shown").textContent = shown === findings.length ? `${shown} shown. The same finding in several revisions is told once.` : `${shown} of ${findings.length} shown.`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  const visible = () => findings.map((finding) => finding.element).filter((element) => !element.hidden);
  byId("open-all").addEventListener("click", () => { for (const element of visible()) element.firstElementChild.open = true; });
  byId("close-all").addEventListener("click", () => { for (const element of findings) element.element.firstElementChild.open = false; });

  byId("list").addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
    const summary = event.target.closest(".finding > details > summary");
    if (!summary || !(event.key in steps)) return;
    const elements = visible();
    const at = elements.indexOf(summary.closest(".finding")) + steps[event.key];
    elements[Math.min(Math.max(at, 0), elements.length - 1)].querySelector("summary").focus();
    event.preventDefault();
  });
  filter();
  open();
})();
