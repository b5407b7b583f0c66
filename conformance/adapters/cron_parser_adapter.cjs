// cron-parser, through its iterator.
"use strict";

const { load, parsed, serve } = require("./protocol.cjs");

load("cron-parser").then((found) => {
  const { CronExpressionParser } = found.module.default;
  serve(found, function* (question) {
    const options = { currentDate: question.after, tz: question.zone };
    const steps = parsed(() => CronExpressionParser.parse(question.expression, options));
    while (true) yield parsed(() => steps.next().toDate());
  });
});
