// Tasks page: ticks of a whole page, number of ticked rows, completion of the last word of a query, arrow keys in charts.
const rows = () => [...document.querySelectorAll('.tasks input[name="id"]')];

function showTicked() {
  const place = document.querySelector("[data-ticked]");
  if (!place) return;
  const number = rows().filter((box) => box.checked).length;
  const text = number ? place.dataset.text.replace("%s", String(number)) : "";
  if (place.textContent !== text) place.textContent = text;
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-tick-all]")) for (const box of rows()) box.checked = event.target.checked;
  if (event.target.matches('.tasks input[type="checkbox"]')) showTicked();
});

function showTickAll() {
  for (const box of document.querySelectorAll("[data-tick-all][hidden]")) box.hidden = false;
  showTicked();
}

const query = document.querySelector("[data-query-hints]");
if (query) {
  const hints = [...query.list.options].map((option) => option.value);
  query.addEventListener("input", () => {
    const before = query.value.replace(/\S*$/, "");
    query.list.replaceChildren(...hints.map((hint) => {
      const option = document.createElement("option");
      option.value = before + hint;
      return option;
    }));
  });
}

// One tab stop per chart: arrow keys, Home and End move within it.
document.addEventListener("keydown", (event) => {
  const chart = event.target.closest?.("[data-rove]");
  if (!chart) return;
  const links = [...chart.querySelectorAll("a")];
  const step = Number(chart.dataset.rove) || 1;
  const moves = { ArrowLeft: -step, ArrowRight: step, ArrowUp: -1, ArrowDown: 1 };
  const place = links.indexOf(event.target);
  const wanted = event.key === "Home" ? 0 : event.key === "End" ? links.length - 1 : event.key in moves ? place + moves[event.key] : -1;
  if (wanted < 0 || wanted >= links.length) return;
  event.preventDefault();
  event.target.setAttribute("tabindex", "-1");
  links[wanted].removeAttribute("tabindex");
  links[wanted].focus();
});

new MutationObserver(showTickAll).observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["hidden"] });
showTickAll();
