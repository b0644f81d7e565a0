// A click on a column head sorts the rows by it, a second one turns them round, a third gives their first order back.
// Figures go by their full value (data-value), texts by the alphabet; cells without anything come last.
const alphabet = new Intl.Collator("en", { numeric: true });
const NEXT = { none: "ascending", ascending: "descending", descending: "none" };

for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const order = NEXT[head.getAttribute("aria-sort")];
      heads.forEach(other => other.setAttribute("aria-sort", other === head ? order : "none"));
      body.append(...(order === "none" ? rows : sorted(rows, column, order === "ascending" ? 1 : -1)));
    });
  });
}

function sorted(rows, column, sign) {
  return [...rows].sort((one, other) => {
    const [a, b] = [one.cells[column], other.cells[column]];
    if (!a.textContent || !b.textContent) return !a.textContent - !b.textContent;
    const inFigures = "value" in a.dataset && "value" in b.dataset;
    return sign * (inFigures ? a.dataset.value - b.dataset.value : alphabet.compare(a.textContent, b.textContent));
  });
}
