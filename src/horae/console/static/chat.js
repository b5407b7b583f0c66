// The page of a chat: the newest message stays in view, and Enter sends.
const NEAR_END_PX = 160;
const form = document.querySelector("[data-chat-form]");
const messages = document.getElementById("chat_messages");

function isNearEnd() {
  const page = document.documentElement;
  return page.scrollHeight - page.scrollTop - page.clientHeight < NEAR_END_PX;
}

function showEnd() {
  (form ?? messages).scrollIntoView({ block: "end" });
}

function sendOnEnter(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
}

if (messages.dataset.live && !location.hash) showEnd();
let wasNearEnd = true;
addEventListener("scroll", () => (wasNearEnd = isNearEnd()), { passive: true });
messages.addEventListener("horae:morphed", () => wasNearEnd && showEnd());
if (form) {
  const text = form.querySelector("textarea");
  text.addEventListener("keydown", sendOnEnter);
  for (const hint of form.querySelectorAll("[data-script]")) hint.hidden = false;
  // On a phone the focus would open the keyboard.
  if (matchMedia("(hover: hover)").matches) text.focus({ preventScroll: true });
}
