// Entry point of every page.
import { startCopy } from "./copy.js";
import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startTicks } from "./ticks.js";

for (const form of document.querySelectorAll('form[data-submit="at-once"]')) {
  // The one-time code leaves the address bar and the history.
  history.replaceState(null, "", location.pathname);
  form.requestSubmit();
}
const offset = startTicks(document);
startLive(offset);
startForms();
startTicks();
startCopy();
startKeys();
startLive();
