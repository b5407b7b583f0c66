// Live parts: elements with data-live are fetched again as parts of the same page when something happened, and morphed in
// place. Rows of a list under the pointer, or with the focus, stay where they are; new ones wait behind a button.
import { announce } from "./announce.js";
import { reveal } from "./copy.js";
import { hasInput } from "./forms.js";
import { morph } from "./morph.js";
import { EventStream } from "./stream.js";
import { text } from "./texts.js";
import { takeServerTime, tick } from "./ticks.js";

const REFRESH_MS = 2000;
const JITTER_MS = 500;
const QUIET_REFRESH_MS = 60000;
const PAUSED_KEY = "horae-live-paused";
const live = { stream: null, timer: 0, quietTimer: 0, refreshedAt: -REFRESH_MS, cost: 0, running: false, again: false, held: 0 };

function parts() {
  return [...document.querySelectorAll("[data-live]")].filter((part) => !part.parentElement.closest("[data-live]"));
}

function isPaused() {
  return sessionStorage.getItem(PAUSED_KEY) === "yes";
}

// Asks for a refresh: at most one in two seconds, and fewer where the server needs long for one.
function schedule() {
  if (live.timer || document.hidden || isPaused()) return;
  if (live.running) {
    live.again = true;
    return;
  }
  const pause = Math.max(REFRESH_MS, 4 * live.cost);
  const wait = Math.max(0, live.refreshedAt + pause - performance.now());
  live.timer = setTimeout(refresh, wait + Math.random() * JITTER_MS);
}

async function refresh() {
  live.timer = 0;
  live.running = true;
  live.again = false;
  const started = performance.now();
  try {
    await refreshParts(parts());
  } catch {
    // The server is unreachable; the stream shows that, and a later refresh makes up for this one.
  }
  live.running = false;
  live.refreshedAt = performance.now();
  live.cost = live.refreshedAt - started;
  showHeld();
  clearTimeout(live.quietTimer);
  live.quietTimer = setTimeout(schedule, QUIET_REFRESH_MS);
  if (live.again || isUnfinished()) schedule();
}

// The server is still computing a part, and has its result soon.
function isUnfinished() {
  return parts().some((part) => "liveAgain" in part.dataset);
}

// One request for all parts: the server loads the data of the page once.
async function refreshParts(shown) {
  const address = new URL(location.href);
  address.hash = "";
  address.searchParams.set("part", [...new Set(shown.map((part) => part.dataset.live))].join(","));
  const asked = Date.now();
  const response = await fetch(address, { headers: { Accept: "text/html" }, cache: "no-store", credentials: "same-origin" });
  takeServerTime(response.headers.get("X-Now"), asked, Date.now());
  if (response.redirected || response.status === 401) return endSession();
  if (!response.ok || isPaused()) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const part of shown) {
    const wanted = page.getElementById(part.id);
    if (wanted && part.isConnected) apply(part, wanted);
  }
}

function apply(part, wanted) {
  const { added, held } = morph(part, wanted, isHeld);
  live.held += held;
  reveal(part);
  tick(part);
  for (const row of added) row.classList.add("flash");
  if (added.length) announce(text("js_new_rows", { number: added.length }));
  part.dispatchEvent(new CustomEvent("horae:morphed", { bubbles: true }));
}

// A list keeps its rows in place while a person points at it, works in it with the keyboard or has selected text of it.
function isHeld(list) {
  const focused = document.activeElement;
  if (focused !== document.body && list.contains(focused)) return true;
  if (matchMedia("(hover: hover)").matches && list.matches(":hover")) return true;
  const selection = document.getSelection();
  return Boolean(selection && !selection.isCollapsed && selection.containsNode(list, true));
}

function showHeld() {
  const pill = document.getElementById("new-rows");
  if (!pill) return;
  pill.hidden = live.held === 0;
  if (live.held) pill.textContent = text("js_new_rows", { number: live.held });
  if (live.held) announce(pill.textContent);
  live.shown = live.held;
  live.held = 0;
}

// Brings the rows that wait behind the button: after a click on it, or when pointer and focus have left the list.
function releaseHeld() {
  document.getElementById("new-rows").hidden = true;
  live.shown = 0;
  live.refreshedAt = -Infinity;
  clearTimeout(live.timer);
  live.timer = 0;
  schedule();
}

function releaseWhenLeft(event) {
  const list = live.shown && event.target.closest?.("tbody, ul, ol");
  if (list && list.closest("[data-live]") && !list.contains(event.relatedTarget)) setTimeout(releaseHeld);
}

function endSession() {
  live.stream?.stop();
  clearTimeout(live.quietTimer);
  if (!hasInput()) {
    location.reload();
    return;
  }
  // The form is kept by the sign-in page when it is sent.
  showState("ended");
  announce(text("js_session_ended"));
}

const STATES = { open: "js_live_on", connecting: "js_live_connecting", waiting: "js_live_waiting", paused: "js_live_paused", ended: "js_session_ended" };

function showState(name) {
  const button = document.getElementById("live");
  if (!button) return;
  const state = isPaused() && name !== "ended" ? "paused" : name;
  if (!(state in STATES)) return;
  button.dataset.state = state;
  button.setAttribute("aria-pressed", String(state === "paused"));
  button.querySelector(".label").textContent = text(STATES[state]);
}

function followVisibility() {
  if (document.hidden || isPaused()) live.stream.stop();
  else live.stream.start();
  if (isPaused()) showState("paused");
}

// Tells the log pane that there may be new lines: it reads them itself.
function announceLog() {
  document.dispatchEvent(new CustomEvent("horae:log"));
}

export function toggleLive() {
  if (!live.stream) return;
  sessionStorage.setItem(PAUSED_KEY, isPaused() ? "no" : "yes");
  announce(text(isPaused() ? "js_live_paused" : "js_live_on"));
  followVisibility();
}

export function startLive() {
  const button = document.getElementById("live");
  if (!button || !parts().length) return;
  button.hidden = false;
  button.addEventListener("click", toggleLive);
  document.getElementById("new-rows").addEventListener("click", releaseHeld);
  document.addEventListener("pointerout", releaseWhenLeft);
  document.addEventListener("focusout", releaseWhenLeft);
  // After a refused form the page has the address of the action: live parts and a reload need that of the page.
  const home = document.querySelector("[data-home]")?.dataset.home;
  if (home && location.pathname !== home) history.replaceState(null, "", home);
  const address = new URL(`${document.body.dataset.base}/events`, location.href);
  const task = document.querySelector("[data-live-task]")?.dataset.liveTask;
  if (task) address.searchParams.set("task", task);
  const log = document.querySelector("[data-live-log]")?.dataset.liveLog;
  if (log) address.searchParams.set("log", log);
  const onEvent = () => {
    schedule();
    announceLog();
  };
  const options = { onEvent, onLog: announceLog, onState: showState, onEnd: endSession };
  live.stream = new EventStream(address, button.dataset.kinds.split(" "), options);
  document.addEventListener("visibilitychange", followVisibility);
  addEventListener("pagehide", () => live.stream.stop());
  addEventListener("pageshow", (event) => event.persisted && followVisibility());
  followVisibility();
  if (isUnfinished()) schedule();
}
