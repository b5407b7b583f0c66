// cron, through the part of it that finds the next date.
"use strict";

const { load, parsed, serve, walk } = require("./protocol.cjs");

load("cron").then((found) => {
  const { CronTime } = found.module.default;
  serve(found, (question) => {
    const time = parsed(() => new CronTime(question.expression, question.zone));
    return walk((last) => parsed(() => time.getNextDateFrom(last, question.zone).toJSDate()), question.after);
  });
});
