// Buttons that copy a text. They are hidden in the page, and appear where scripts run.
import { announce } from "./announce.js";
import { text } from "./texts.js";

const SHOWN_MS = 2000;
const labels = new WeakMap();

export async function copyText(content) {
  try {
    await navigator.clipboard.writeText(content);
  } catch {
    copyBySelection(content);
  }
  announce(text("js_copied"));
}

// Pages without TLS on another machine have no clipboard object.
function copyBySelection(content) {
  const area = document.createElement("textarea");
  area.value = content;
  area.className = "visually-hidden";
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  const before = document.activeElement;
  area.select();
  document.execCommand("copy");
  area.remove();
  before?.focus({ preventScroll: true });
}

async function copyFrom(button) {
  await copyText(button.dataset.copy || location.href);
  if (labels.has(button)) return;
  labels.set(button, button.textContent);
  button.textContent = text("js_copied");
  setTimeout(() => {
    button.textContent = labels.get(button);
    labels.delete(button);
  }, SHOWN_MS);
}

// Shows what works only with scripts, in the page and in parts that come later.
export function reveal(root) {
  for (const element of root.querySelectorAll("[data-copy][hidden], [data-script][hidden]")) element.hidden = false;
}

export function startCopy() {
  reveal(document);
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (button) copyFrom(button);
  });
}
