// Actions of the present page: links of the navigation, buttons and links of the content, and those of the frame itself.
// The keys and the command palette offer the same ones.
import { nextTheme, chooseZone } from "./forms.js";
import { toggleLive } from "./live.js";
import { copyText } from "./copy.js";
import { text } from "./texts.js";

const ROWS = "main table.list tbody tr, main ul.rows > li";
// Where a page does not say data-key itself: what a key stands for, by the path of the form or of the link.
const TARGETS = {
  n: 'a[href$="/tasks/new"]',
  e: 'a[href$="/edit"]',
  p: 'form[action$="/pause"] button, form[action$="/resume"] button, a[href$="/pause"], a[href$="/resume"]',
  R: 'form[action$="/run"] button, form[action$="/run-now"] button, a[href$="/run"]',
  w: 'a[href*="/why"], a[href*="why="]',
  l: 'a[href$="#log"], a[href$="/log"], a[href$="/logs"]',
};

export function visibleRows() {
  return [...document.querySelectorAll(ROWS)].filter((row) => row.offsetParent && mainLink(row));
}

export function mainLink(row) {
  return row.querySelector("a.name, a[href]");
}

export function currentRow() {
  return document.activeElement?.closest(ROWS) ?? null;
}

// Finds the element of an action: in the row with the focus, else in the page.
export function findTarget(key) {
  const selectors = [`[data-key="${key}"]`, TARGETS[key]].filter(Boolean);
  for (const place of [currentRow(), document.querySelector("main")].filter(Boolean)) {
    for (const selector of selectors) {
      const found = [...place.querySelectorAll(selector)].find(isUsable);
      if (found && (place.matches(ROWS) || !found.closest(ROWS))) return found;
    }
  }
  return null;
}

export function isUsable(element) {
  return Boolean(element.offsetParent) && !element.disabled;
}

export function goTo(path) {
  const link = [...document.querySelectorAll(".pages a")].find((each) => each.dataset.path === path);
  if (link) link.click();
  return Boolean(link);
}

export function copyLink() {
  const row = currentRow();
  return copyText(row ? mainLink(row).href : location.href);
}

function pageEntries() {
  return [...document.querySelectorAll(".pages a")].map((link) => ({
    name: link.textContent.trim(),
    group: "js_palette_page",
    run: () => link.click(),
  }));
}

function label(element) {
  const own = (element.getAttribute("aria-label") ?? element.textContent).trim();
  const row = element.closest(ROWS);
  const link = row && mainLink(row);
  return link && link !== element ? `${own} · ${link.textContent.trim()}` : own;
}

function actionEntries() {
  const found = document.querySelectorAll('main form[method="post"] button, main [data-key], main .button');
  const usable = [...new Set(found)].filter((element) => isUsable(element) && !element.hasAttribute("data-copy"));
  return usable.map((element) => ({ name: label(element), group: "js_palette_action", run: () => element.click() }));
}

function frameEntries(showHelp) {
  const entries = [
    ["js_next_theme", nextTheme],
    ["js_choose_zone", chooseZone],
    ["js_copy_link", copyLink],
    ["js_help", showHelp],
  ];
  if (isUsable(document.getElementById("live"))) entries.unshift(["js_toggle_live", toggleLive]);
  return entries.map(([name, run]) => ({ name: text(name), group: "js_palette_action", run }));
}

export function allEntries(showHelp) {
  return [...actionEntries(), ...pageEntries(), ...frameEntries(showHelp)].filter((entry) => entry.name);
}
