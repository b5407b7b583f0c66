// cron-schedule, which knows the zone of its process only: the process is moved to the zone of the question.
"use strict";

const { load, parsed, serve, walk } = require("./protocol.cjs");

load("cron-schedule", "dist/index.js").then((found) => {
  const { parseCronExpression } = found.module;
  serve(found, (question) => {
    process.env.TZ = question.zone;
    const schedule = parsed(() => parseCronExpression(question.expression));
    return walk((last) => parsed(() => schedule.getNextDate(last)), question.after);
  });
});
