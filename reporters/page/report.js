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

  // The fragment of the address is the open finding, and after a question mark
  // the filters: #finding-3?area=ping&text=cursor.
  const form = byId("filters");
  const names = ["text", "outcome", "area", "level", "revision"];
  const findings = all(".finding").map((element) => ({ element, text: element.textContent.toLowerCase() }));
  let selected = "";

  const remember = () => {
    const query = new URLSearchParams();
    for (const name of names) if (form && byId(name).value) query.set(name, byId(name).value);
    const hash = selected + (query.size > 0 ? "?" + query : "");
    if (hash === location.hash.slice(1)) return;
    try {
      history.replaceState(null, "", hash ? "#" + hash : location.href.split("#")[0]);
    } catch { /* a viewer may forbid it */ }
  };
  const filter = () => {
    const words = byId("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [outcome, area, level, revision] = names.slice(1).map((name) => byId(name).value);
    let shown = 0;
    for (const { element, text } of findings) {
      const data = element.dataset;
      const fits = (!outcome || data.outcome === outcome) && (!area || data.area === area) && (!level || data.level === level) &&
        (!revision || data.revisions.split(" ").includes(revision)) && words.every((word) => text.includes(word));
      element.hidden = !fits;
      if (fits) shown++;
    }
    for (const group of all(".group")) {
      group.hidden = all(".finding", group).every((element) => element.hidden);
      const same = group.querySelector(".same");
      if (same) same.hidden = all(".finding", same).every((element) => element.hidden);
    }
    for (const section of all(".section")) section.hidden = all(".group", section).every((element) => element.hidden);
    byId("shown").textContent = shown === findings.length ? everything : `${shown} of ${findings.length} shown.`;
  };
  const reveal = (target) => {
    target.hidden = false;
    for (let outer = target.parentElement; outer; outer = outer.parentElement) {
      if (outer.tagName === "DETAILS") outer.open = true;
      if (outer.matches(".group, .same, .section")) outer.hidden = false;
    }
    target.firstElementChild.open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus();
  };
  // follow shows what the address says.
  const follow = () => {
    const [id, query] = location.hash.slice(1).split("?");
    if (query !== undefined && form) {
      const wanted = new URLSearchParams(query);
      for (const name of names) byId(name).value = wanted.get(name) ?? "";
      filter();
      if (!id) byId("findings").scrollIntoView();
    }
    let target = null;
    try { target = byId(decodeURIComponent(id)); } catch { /* no id */ }
    if (!target || !target.classList.contains("finding")) return;
    selected = id;
    reveal(target);
    remember();
  };
  addEventListener("hashchange", follow);
  if (!form) return;
  const everything = byId("shown").textContent;
  const change = () => { filter(); remember(); };
  form.addEventListener("input", change);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(change));
  byId("list").addEventListener("click", (event) => {
    const details = event.target.closest(".finding > details > summary")?.parentElement;
    if (!details) return;
    const id = details.parentElement.id;
    if (!details.open) selected = id; // it opens after this
    else if (selected === id) selected = "";
    remember();
  });
  const visible = () => findings.map((finding) => finding.element).filter((element) => element.getClientRects().length > 0);
  byId("open-all").addEventListener("click", () => {
    for (const details of all(".same")) details.open = true;
    for (const element of visible()) element.firstElementChild.open = true;
  });
  byId("close-all").addEventListener("click", () => {
    for (const { element } of findings) element.firstElementChild.open = false;
    selected = "";
    remember();
  });

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
  follow();
})();
