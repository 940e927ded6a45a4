(() => {
  const table = document.querySelector(".sortable");
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, column, kind) => {
    const told = row.cells[column].dataset.value;
    return kind === "number" ? (told === "" ? null : Number(told)) : told.toLowerCase();
  };
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const kind = head.dataset.kind;
    // numbers: the largest first; what is missing stays last either way
    const down = head.hasAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : kind === "number";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [value(a, column, kind), value(b, column, kind)];
      if (x === null || y === null) return (x === null) - (y === null);
      const order = kind === "number" ? x - y : x.localeCompare(y, undefined, { numeric: true });
      return down ? -order : order;
    });
    body.append(...rows);
  }));

  const filter = document.getElementById("filter");
  const shown = document.getElementById("shown");
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      count += !row.hidden;
    }
    shown.textContent = words.length ? `${count} of ${body.rows.length}` : "";
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target === filter || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    filter.focus();
  });
})();
