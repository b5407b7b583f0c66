// Countdowns and elapsed times. They tick by the server's clock: each answer of the server carries its instant, and the
// offset of this machine's clock follows from it and from the time that the answer took.
import { text } from "./texts.js";

const UNITS = { en: ["d", "h", "m", "s"], zh: ["天", "小时", "分钟", "秒"] };
const SIZES = [86400, 3600, 60, 1];
const NOTE_MS = 5000;
const SAMPLE_LIFE_MS = 600000;
let sample = { offset: 0, trip: Infinity, taken: -Infinity };

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

export function formatDistance(seconds, language) {
  const span = formatSpan(Math.abs(seconds), language);
  if (seconds < 0) return language === "zh" ? `${span}前` : `${span} ago`;
  return language === "zh" ? `${span}后` : `in ${span}`;
}

export function serverNow() {
  return Date.now() + sample.offset;
}

// Takes the instant of an answer that was asked for at `asked` and arrived at `arrived`, in ms of this machine's clock.
// A slow answer says little, so it replaces a quick one only when that one is old.
export function takeServerTime(instant, asked, arrived) {
  const server = Date.parse(instant ?? "");
  const trip = Math.max(0, arrived - asked);
  if (Number.isNaN(server) || (trip > 2 * sample.trip && arrived - sample.taken < SAMPLE_LIFE_MS)) return;
  sample = { offset: server + trip / 2 - arrived, trip, taken: arrived };
  showClockNote();
}

function showClockNote() {
  const note = document.getElementById("clock-note");
  if (!note) return;
  const seconds = Math.round(Math.abs(sample.offset) / 1000);
  note.hidden = Math.abs(sample.offset) < NOTE_MS;
  note.textContent = note.hidden ? "" : text("js_clock_off", { span: formatSpan(seconds, document.body.dataset.lang) });
}

export function tick(root = document) {
  const language = document.body.dataset.lang;
  const now = serverNow();
  for (const element of root.querySelectorAll("time[data-ticks]")) {
    const shown = formatDistance((Date.parse(element.dateTime) - now) / 1000, language);
    if (element.textContent !== shown) element.textContent = shown;
  }
}

function tickEverySecond() {
  if (!document.hidden) tick();
  setTimeout(tickEverySecond, 1000 - (serverNow() % 1000));
}

export function startTicks() {
  const [visit] = performance.getEntriesByType("navigation");
  const origin = Date.now() - performance.now();
  takeServerTime(document.body.dataset.now, origin + visit.requestStart, origin + visit.responseStart);
  tickEverySecond();
}
