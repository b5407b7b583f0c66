// cronosjs, which has policies of its own for missing and repeated hours.
"use strict";

const { load, parsed, serve, walk, Unsupported } = require("./protocol.cjs");

const MISSING_HOUR = { next: "insert", shift: "offset", skip: "skip" };
const SKIP_REPEATED_HOUR = { first: true, both: false };

function optionsFor(question) {
  if (!(question.fold in SKIP_REPEATED_HOUR)) throw new Unsupported("the second pass alone cannot be chosen");
  return {
    timezone: question.zone,
    strict: true,
    missingHour: MISSING_HOUR[question.gap],
    skipRepeatedHour: SKIP_REPEATED_HOUR[question.fold],
  };
}

load("cronosjs").then((found) => {
  const { CronosExpression } = found.module.default;
  const fires = (question) => {
    const options = optionsFor(question);
    const schedule = parsed(() => CronosExpression.parse(question.expression, options));
    return walk((last) => schedule.nextDate(last), question.after);
  };
  serve(found, fires, { policies: true });
});
