// Countdowns and elapsed times. They tick from the server's clock: the page carries the instant of its rendering.
const UNITS = { en: ["d", "h", "m", "s"], zh: ["天", "小时", "分", "秒"] };
const SIZES = [86400, 3600, 60, 1];
let offset = 0;

export function formatSpan(seconds, language) {
  let rest = Math.max(0, Math.round(seconds));
  const parts = [];
  for (let index = 0; index < SIZES.length && parts.length < 2; index += 1) {
    const amount = Math.floor(rest / SIZES[index]);
    rest -= amount * SIZES[index];
    if (amount) parts.push(`${amount} ${UNITS[language][index]}`);
    else if (parts.length) break;
  }
  return parts.join(" ") || `0 ${UNITS[language][3]}`;
}

function tick() {
  const language = document.body.dataset.lang;
  const now = Date.now() + offset;
  for (const element of document.querySelectorAll("time[data-ticks]")) {
    const seconds = (Date.parse(element.dateTime) - now) / 1000;
    const span = formatSpan(Math.abs(seconds), language);
    if (seconds >= 0) element.textContent = language === "zh" ? `${span}后` : `in ${span}`;
    else element.textContent = language === "zh" ? `${span}前` : `${span} ago`;
  }
}

export function startTicks(root) {
  offset = Date.parse(root.body.dataset.now) - (performance.timeOrigin + performance.getEntriesByType("navigation")[0].responseStart);
  setInterval(tick, 1000);
  return offset;
}
