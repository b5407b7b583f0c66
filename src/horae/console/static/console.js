// Entry point of every page.
import { startCopy } from "./copy.js";
import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startTicks } from "./ticks.js";

// Rows of links that scroll on a narrow screen show the current one.
for (const link of document.querySelectorAll(".pages [aria-current], .tabs [aria-current]")) {
  const row = link.closest(".pages, .tabs");
  const [outer, inner] = [row.getBoundingClientRect(), link.getBoundingClientRect()];
  if (inner.left < outer.left || inner.right > outer.right) row.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
}
startForms();
startTicks();
startCopy();
startKeys();
startLive();
