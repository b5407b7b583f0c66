// Entry point of every page: ticking times, live fragments, and forms that send themselves.
import { startTicks } from "./ticks.js";
import { startLive } from "./live.js";

for (const form of document.querySelectorAll('form[data-submit="at-once"]')) {
  // The one-time code leaves the address bar and the history.
  history.replaceState(null, "", location.pathname);
  form.requestSubmit();
}
const offset = startTicks(document);
startLive(offset);
