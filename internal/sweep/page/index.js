"use strict";
(() => {
  const table = document.getElementById("servers"), body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, text: row.textContent.toLowerCase(), outcome: row.dataset.outcome }));
  const text = document.getElementById("text"), outcome = document.getElementById("outcome"), shown = document.getElementById("shown");
  const filter = () => {
    const wanted = text.value.toLowerCase(), kind = outcome.value;
    let count = 0;
    for (const r of rows) {
      const hidden = (kind !== "" && r.outcome !== kind) || !r.text.includes(wanted);
      if (r.row.hidden !== hidden) r.row.hidden = hidden;
      if (!hidden) count++;
    }
    shown.textContent = count + " of " + rows.length + " servers";
  };
  const heads = Array.from(table.tHead.rows[0].cells);
  const order = new Intl.Collator("en", { numeric: true });
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const h of heads) h.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const keys = new Map(rows.map((r) => [r, r.row.cells[column].textContent]));
    rows.sort((a, b) => sign * order.compare(keys.get(a), keys.get(b)));
    body.append(...rows.map((r) => r.row));
  }));
  text.addEventListener("input", filter);
  outcome.addEventListener("change", filter);
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
