// The event stream of this tab. It is open only while the tab is visible and live is on, and it reconnects with a delay
// that grows with every failure.
const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 60000;

export class EventStream {
  // `onEvent()` is called for every event and once after each connection; `onLog()` when the followed log has new lines;
  // `onState(name)` with connecting, open, waiting or closed; `onEnd()` when the server ends the stream because the
  // session has ended.
  constructor(address, kinds, { onEvent, onLog, onState, onEnd }) {
    Object.assign(this, { address, kinds, onEvent, onLog, onState, onEnd });
    this.source = null;
    this.timer = 0;
    this.failures = 0;
  }

  get isStarted() {
    return this.source !== null || this.timer !== 0;
  }

  start() {
    if (this.isStarted) return;
    this.onState("connecting");
    this.source = new EventSource(this.address);
    this.source.onopen = () => this.connected();
    this.source.onerror = () => this.retry();
    for (const kind of this.kinds) this.source.addEventListener(kind, this.onEvent);
    this.source.addEventListener("gap", this.onEvent);
    this.source.addEventListener("log", this.onLog);
    this.source.addEventListener("end", (event) => this.ended(event));
  }

  stop() {
    this.disconnect();
    this.failures = 0;
    this.onState("closed");
  }

  connected() {
    this.failures = 0;
    this.onState("open");
    this.onEvent();
  }

  ended(event) {
    const { reason } = JSON.parse(event.data);
    if (reason === "revoked") this.onEnd();
    else this.retry();
  }

  // The browser's own reconnection has a constant delay: many tabs would return to a restarted server all at once.
  retry() {
    this.disconnect();
    const delay = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** this.failures);
    this.failures += 1;
    this.onState("waiting");
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.start();
    }, delay * (0.5 + Math.random()));
    // The failure may be the end of the session, which a refresh finds out.
    if (this.failures > 1) this.onEvent();
  }

  disconnect() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.source?.close();
    this.source = null;
  }
}
