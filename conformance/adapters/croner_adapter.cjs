// croner, asked for the run after each run.
"use strict";

const { load, parsed, serve, walk } = require("./protocol.cjs");

load("croner", "dist/croner.js").then((found) => {
  const { Cron } = found.module;
  serve(found, (question) => {
    const job = parsed(() => new Cron(question.expression, { timezone: question.zone, paused: true }));
    return walk((last) => parsed(() => job.nextRun(last)), question.after);
  });
});
