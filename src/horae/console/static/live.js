// Live fragments: elements with data-live are fetched again as parts of the same page, and morphed in place.
import { morph } from "./morph.js";

const REFRESH_MS = 5000;

async function refresh() {
  for (const element of document.querySelectorAll("[data-live]")) {
    const address = new URL(location.href);
    address.searchParams.set("part", element.dataset.live);
    const response = await fetch(address, { headers: { Accept: "text/html" } });
    if (response.redirected) return location.reload();
    if (!response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const wanted = page.getElementById(element.id);
    if (wanted) morph(element, wanted);
  }
}

export function startLive() {
  setInterval(() => { if (!document.hidden) refresh().catch(() => {}); }, REFRESH_MS);
}
