// Task form: previews the schedule while it is typed, takes choices, and keeps text and structured fields in step.
import { morph } from "./morph.js";

const PAUSE_MS = 200;
const form = document.getElementById("task-form");
const when = form?.elements.namedItem("when");
const zone = form?.elements.namedItem("zone");
const fields = document.getElementById("schedule-fields");
let timer = 0;
let pending = null;

function parsed(text) {
  return new DOMParser().parseFromString(text, "text/html");
}

async function show(parameters) {
  pending?.abort();
  pending = new AbortController();
  const address = new URL(form.dataset.preview, location.href);
  for (const [name, value] of parameters) address.searchParams.append(name, value);
  const task = form.elements.namedItem("task");
  if (task) address.searchParams.set("task", task.value);
  address.searchParams.set("part", "preview");
  const response = await fetch(address, { signal: pending.signal, headers: { Accept: "text/html" } });
  // A session that has ended is seen when the form is sent: reloading here would lose what was typed.
  if (!response.ok) return null;
  const wanted = parsed(await response.text()).getElementById("preview");
  if (wanted) morph(document.getElementById("preview"), wanted);
  return wanted;
}

function ignoreLost(error) {
  // A newer request was sent, or the server cannot be reached: saving will say so.
  if (error.name !== "AbortError" && !(error instanceof TypeError)) throw error;
}

async function previewText() {
  const shown = await show([["when", when.value], ["zone", zone.value]]);
  if (!shown) return;
  const isWrong = shown.querySelector(".bad") !== null;
  when.setAttribute("aria-invalid", isWrong);
  when.closest(".field").classList.toggle("has-problem", isWrong);
  if (fields && !fields.contains(document.activeElement)) fillFields(JSON.parse(shown.dataset.fields));
}

async function previewFields() {
  const parameters = [["do", "fields"], ["when", when.value], ["zone", zone.value]];
  for (const input of fields.querySelectorAll("input, select")) {
    if (input.name && (input.type !== "checkbox" || input.checked)) parameters.push([input.name, input.value]);
  }
  const shown = await show(parameters);
  if (shown) when.value = shown.dataset.when;
}

function fillFields(values) {
  for (const input of fields.querySelectorAll("input, select")) {
    if (input.type === "checkbox") input.checked = (values["schedule.days"] ?? "").split(",").includes(input.value);
    else if (input.name) input.value = values[input.name] ?? "";
  }
  showFields();
}

function showFields() {
  const kind = fields.querySelector('[name="schedule.kind"]').value;
  for (const part of fields.querySelectorAll("[data-kinds]")) part.hidden = !part.dataset.kinds.split(" ").includes(kind);
}

function later(work) {
  clearTimeout(timer);
  timer = setTimeout(() => work().catch(ignoreLost), PAUSE_MS);
}

async function showCode(button) {
  const body = new URLSearchParams(new FormData(form));
  body.set("do", "code");
  const response = await fetch(`${form.action}?part=code`, { method: "POST", body });
  const wanted = parsed(await response.text()).getElementById("code");
  if (!response.ok || !wanted) return form.requestSubmit(button);
  wanted.querySelector("details").open = true;
  document.getElementById("code").replaceWith(wanted);
}

if (form) {
  for (const each of document.querySelectorAll("[data-without-script]")) each.hidden = true;
  when.addEventListener("input", () => later(previewText));
  zone.addEventListener("input", () => later(previewText));
  if (fields) {
    showFields();
    fields.addEventListener("input", () => { showFields(); later(previewFields); });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.name === "choose") {
      event.preventDefault();
      when.value = button.value;
      when.focus();
      previewText().catch(ignoreLost);
    } else if (button?.value === "code" && button.form === form) {
      event.preventDefault();
      showCode(button).catch(ignoreLost);
    }
  });
}
