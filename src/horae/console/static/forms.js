// Forms: one that sends itself, protection against sending twice, and preferences that apply without a new page.
import { isEdited } from "./morph.js";

const THEMES = ["auto", "light", "dark"];
const SENT_MS = 3000;

export function hasInput() {
  const fields = document.querySelectorAll("input:not([type=search]), textarea, select");
  return [...fields].some((field) => field.form?.method === "post" && isEdited(field) && field.value !== "");
}

function preferences() {
  return document.getElementById("preferences");
}

// Switches to the next theme at once, and stores the choice with the form that the menu has for it.
export function nextTheme() {
  const form = preferences();
  if (!form) return;
  const field = form.elements.namedItem("theme");
  field.value = THEMES[(THEMES.indexOf(field.value) + 1) % THEMES.length];
  for (const option of field.options) option.defaultSelected = option.selected;
  if (field.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = field.value;
  fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual" }).catch(() => {});
}

export function chooseZone() {
  const form = preferences();
  if (!form) return;
  form.closest("details").open = true;
  form.elements.namedItem("tz").select();
}

// The second click of a double click must not run a task a second time.
function refuseSecondSubmit(event) {
  const form = event.target;
  if (form.method !== "post" || event.defaultPrevented) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
  setTimeout(() => delete form.dataset.sent, SENT_MS);
}

function closeMenus(event) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
}

function closeMenuOnEscape(event) {
  const menu = event.key === "Escape" && document.activeElement?.closest("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
}

export function startForms() {
  document.addEventListener("submit", refuseSecondSubmit);
  document.addEventListener("pointerdown", closeMenus);
  document.addEventListener("keydown", closeMenuOnEscape);
  document.getElementById("notice-dismiss")?.addEventListener("click", () => document.getElementById("notice").remove());
  for (const form of document.querySelectorAll('form[data-submit="at-once"]')) {
    // The one-time code leaves the address bar and the history.
    history.replaceState(null, "", location.pathname);
    form.requestSubmit();
  }
}
