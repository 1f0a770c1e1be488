// A click on a column's head sorts the takes by it; another click turns the order around.
const table = document.querySelector(".takes");
if (table) {
  table.classList.add("sorts");
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const valueOf = (row, column) => {
    const told = row.cells[column].dataset.value;
    return column === 0 ? told : Number(told);
  };
  for (const [column, head] of heads.entries()) {
    head.querySelector("button").addEventListener("click", () => {
      const first = column === 0 ? "ascending" : "descending";
      const other = column === 0 ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const compare = (a, b) => (column === 0 ? a.localeCompare(b, undefined, { numeric: true }) : a - b);
      const rows = [...body.rows];
      rows.sort((a, b) => sign * compare(valueOf(a, column), valueOf(b, column)));
      body.append(...rows);
    });
  }
}
