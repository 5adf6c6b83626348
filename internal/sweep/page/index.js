"use strict";
(() => {
  // A browser is slow with many thousand rows: the table has some of those that match.
  const most = 500;
  const table = document.getElementById("servers"), body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, text: row.textContent.toLowerCase(), outcome: row.dataset.outcome }));
  const text = document.getElementById("text"), outcome = document.getElementById("outcome");
  const shown = document.getElementById("shown"), more = document.getElementById("more");
  let room = most;
  const show = () => {
    const wanted = text.value.toLowerCase(), kind = outcome.value;
    const matching = rows.filter((r) => (kind === "" || r.outcome === kind) && r.text.includes(wanted));
    body.replaceChildren(...matching.slice(0, room).map((r) => r.row));
    shown.textContent = matching.length + " of " + rows.length + (rows.length === 1 ? " server" : " servers");
    more.hidden = matching.length <= room;
    more.textContent = "Show " + Math.min(most, matching.length - room) + " more of " + (matching.length - room);
  };
  const again = () => { room = most; show(); };
  const heads = Array.from(table.tHead.rows[0].cells);
  const order = new Intl.Collator("en", { numeric: true });
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const h of heads) h.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const keys = new Map(rows.map((r) => [r, r.row.cells[column].textContent]));
    rows.sort((a, b) => sign * order.compare(keys.get(a), keys.get(b)));
    again();
  }));
  text.addEventListener("input", again);
  outcome.addEventListener("change", again);
  more.addEventListener("click", () => { room += most; show(); });
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  show();
})();
