// Entry point of every page.
import { startCopy } from "./copy.js";
import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startTicks } from "./ticks.js";

startForms();
startTicks();
startCopy();
startKeys();
startLive();
