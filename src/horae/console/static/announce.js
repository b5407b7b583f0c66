// Status region: screen readers hear at most one sentence in five seconds; of several, the last one.
const QUIET_MS = 5000;
let next = null;
let timer = 0;
let spokenAt = -QUIET_MS;

export function announce(sentence) {
  next = sentence;
  if (timer) return;
  timer = setTimeout(speak, Math.max(0, spokenAt + QUIET_MS - performance.now()));
}

function speak() {
  timer = 0;
  spokenAt = performance.now();
  const region = document.getElementById("status");
  if (region && next !== null) region.textContent = next;
  next = null;
}
