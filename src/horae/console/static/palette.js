// Command palette: one field for the pages, every action of the present page, and the tasks by name.
import { allEntries } from "./actions.js";
import { text } from "./texts.js";

const MAX_SHOWN = 50;
const DEBOUNCE_MS = 150;
const state = { entries: [], tasks: [], shown: [], active: 0, timer: 0, request: null };

function element(id) {
  return document.getElementById(id);
}

// Every word has to occur; an entry whose name begins with the text comes first.
export function rank(entries, wanted) {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const found = entries.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  const begins = ({ name }) => Number(!name.toLowerCase().startsWith(wanted.toLowerCase()));
  return found.sort((one, other) => begins(one) - begins(other));
}

function show() {
  const wanted = element("palette-input").value.trim();
  state.shown = [...rank(state.entries, wanted), ...state.tasks].slice(0, MAX_SHOWN);
  state.active = 0;
  element("palette-list").replaceChildren(...state.shown.map(makeOption));
  element("palette-empty").hidden = state.shown.length > 0;
  activate(0);
}

function makeOption(entry, index) {
  const option = document.createElement("li");
  option.id = `palette-option-${index}`;
  option.setAttribute("role", "option");
  const name = document.createElement("span");
  name.dir = "auto";
  name.textContent = entry.name;
  const group = document.createElement("span");
  group.className = "muted";
  group.textContent = text(entry.group);
  option.append(name, " ", group);
  option.addEventListener("click", () => run(index));
  return option;
}

function activate(index) {
  const options = [...element("palette-list").children];
  state.active = options.length ? (index + options.length) % options.length : 0;
  options.forEach((option, place) => option.setAttribute("aria-selected", String(place === state.active)));
  const active = options[state.active];
  if (active) element("palette-input").setAttribute("aria-activedescendant", active.id);
  else element("palette-input").removeAttribute("aria-activedescendant");
  active?.scrollIntoView({ block: "nearest" });
}

function run(index) {
  const entry = state.shown[index];
  if (!entry) return;
  element("palette").close();
  entry.run();
}

function handleKey(event) {
  if (event.isComposing) return;
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (event.key in steps) activate(state.active + steps[event.key]);
  else if (event.key === "Enter") run(state.active);
  else return;
  event.preventDefault();
}

function handleInput() {
  show();
  clearTimeout(state.timer);
  state.timer = setTimeout(findTasks, DEBOUNCE_MS);
}

async function findTasks() {
  state.request?.abort();
  const wanted = element("palette-input").value.trim();
  if (!wanted) {
    state.tasks = [];
    return show();
  }
  state.request = new AbortController();
  const address = new URL(`${document.body.dataset.base}/palette`, location.href);
  address.searchParams.set("q", wanted);
  try {
    const response = await fetch(address, { signal: state.request.signal });
    if (!response.ok || response.redirected) return;
    const { tasks } = await response.json();
    state.tasks = tasks.map(({ name, url }) => ({ name, group: "js_palette_task", run: () => location.assign(url) }));
    show();
  } catch {
    // A newer search has taken its place, or the server is unreachable; pages and actions stay.
  }
}

export function openPalette(showHelp) {
  const dialog = element("palette");
  if (!dialog || dialog.open) return;
  state.entries = allEntries(showHelp);
  state.tasks = [];
  element("palette-input").value = "";
  dialog.showModal();
  show();
}

export function startPalette(showHelp) {
  const dialog = element("palette");
  if (!dialog) return;
  element("palette-input").addEventListener("input", handleInput);
  element("palette-input").addEventListener("keydown", handleKey);
  element("palette-open").addEventListener("click", () => openPalette(showHelp));
  // A click on the backdrop has the dialog itself as its target.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}
