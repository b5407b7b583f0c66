// Keyboard: single keys, which a preference switches off, sequences with g, and Ctrl or Cmd with K for the palette.
import { copyLink, currentRow, findTarget, goTo, mainLink, visibleRows } from "./actions.js";
import { chooseZone, nextTheme } from "./forms.js";
import { toggleLive } from "./live.js";
import { openPalette, startPalette } from "./palette.js";

const PLACES = { n: "/", t: "/tasks", r: "/runs", c: "/calendar", l: "/lanes", a: "/activity", s: "/settings" };
const SEQUENCE_MS = 1500;
let goUntil = 0;

export function showHelp() {
  document.getElementById("help")?.showModal();
}

function step(by) {
  const rows = visibleRows();
  const from = rows.indexOf(currentRow());
  const next = from < 0 ? (by > 0 ? 0 : rows.length - 1) : from + by;
  mainLink(rows[Math.min(rows.length - 1, Math.max(0, next))] ?? document.createElement("i"))?.focus();
}

function search() {
  const field = document.querySelector('main input[type="search"]');
  if (field) field.focus();
  else openPalette(showHelp);
}

function select() {
  currentRow()?.querySelector('input[type="checkbox"]')?.click();
}

const COMMANDS = {
  "/": search,
  j: () => step(1),
  k: () => step(-1),
  x: select,
  y: copyLink,
  ".": toggleLive,
  z: chooseZone,
  d: nextTheme,
  "?": showHelp,
};

function press(key) {
  if (goUntil > performance.now()) {
    goUntil = 0;
    return key in PLACES && goTo(PLACES[key]);
  }
  if (key === "g") {
    goUntil = performance.now() + SEQUENCE_MS;
    return true;
  }
  if (key in COMMANDS) {
    COMMANDS[key]();
    return true;
  }
  const target = /^[nepRwl]$/.test(key) && findTarget(key);
  target && target.click();
  return Boolean(target);
}

function isTyping(element) {
  if (element.isContentEditable || element.nodeName === "TEXTAREA" || element.nodeName === "SELECT") return true;
  return element.nodeName === "INPUT" && !["checkbox", "radio", "button", "submit"].includes(element.type);
}

function handle(event) {
  if (event.defaultPrevented || event.isComposing || event.repeat && event.key !== "j" && event.key !== "k") return;
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette(showHelp);
    return;
  }
  const isOff = document.body.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey;
  if (isOff || document.querySelector("dialog[open]") || isTyping(event.target)) return;
  if (press(event.key)) event.preventDefault();
}

export function startKeys() {
  startPalette(showHelp);
  document.addEventListener("keydown", handle);
  document.getElementById("help-open")?.addEventListener("click", showHelp);
}
