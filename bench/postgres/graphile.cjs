// Graphile Worker at its best: jobs fetched and completed in batches, many of them at once.
// Called as `node graphile.cjs OPERATION ARGUMENTS`, with both ways in JSON; answers on stdout.
"use strict";

const { Logger, makeWorkerUtils, run } = require("graphile-worker");
const path = require("node:path");
const { Pool } = require("pg");

const SEATS = 24;
const BATCH = 2000;
const quiet = new Logger(() => () => {});
const eager = { pollInterval: 1, localQueue: { size: BATCH } };

const ADD = "SELECT 1 FROM graphile_worker.add_jobs(array(SELECT json_populate_recordset(null::graphile_worker.job_spec, $1::json)))";
// A million by its own call would take minutes.
const CROWD = `
  INSERT INTO graphile_worker._private_jobs (task_id, run_at)
  SELECT tasks.id, now() + interval '1 year' + number * interval '1 second'
  FROM graphile_worker._private_tasks tasks, generate_series(1, $1::int) number WHERE identifier = 'noop'`;
const LEFT = "SELECT count(*)::int AS number FROM graphile_worker._private_jobs";

const operations = {
  async enqueue({ url, count }) {
    await migrated(url);
    await added(url, Array(count).fill({ identifier: "noop" }));
  },

  async drain({ url, count }) {
    const started = process.hrtime.bigint();
    const busy = process.cpuUsage();
    let calls = 0;
    let finish;
    const finished = new Promise((resolve) => (finish = resolve));
    const noop = async () => {
      calls += 1;
      if (calls === count) finish();
    };
    const runner = await working(url, { noop }, { localQueue: { size: BATCH } });
    await finished;
    const seconds = Number(process.hrtime.bigint() - started) / 1e9;
    const used = process.cpuUsage(busy);
    await runner.stop();
    const [{ number }] = await asked(url, LEFT);
    return { seconds, busy: (used.user + used.system) / 1e6, left: number };
  },

  async punctual({ url, rate, seconds, lead, usual }) {
    await migrated(url);
    const late = [];
    const count = Math.max(Math.round(rate * seconds), 1);
    let finish;
    const finished = new Promise((resolve) => (finish = resolve));
    const timed = async ({ due }) => {
      late.push((microseconds() - due) / 1e6);
      if (late.length === count) finish();
    };
    const runner = await working(url, { timed }, usual ? {} : eager);
    const first = microseconds() + lead * 1e6;
    const dues = Array.from({ length: count }, (_, number) => Math.round(first + (number * 1e6) / rate));
    await added(url, dues.map((due) => ({ identifier: "timed", payload: { due }, run_at: instant(due) })));
    if (microseconds() > first) throw new Error("the first was due before all were added");
    await finished;
    await runner.stop();
    return late;
  },

  async crowd({ url, count }) {
    await migrated(url);
    await added(url, [{ identifier: "noop", run_at: "infinity" }]);
    await asked(url, CROWD, [count]);
  },

  // Its query for jobs has no public name.
  async fetches({ url, times }) {
    const home = path.dirname(require.resolve("graphile-worker"));
    const { batchGetJobs } = require(path.join(home, "sql", "getJobs.js"));
    const { getUtilsAndReleasersFromOptions } = require(path.join(home, "lib.js"));
    const [options, release] = await getUtilsAndReleasersFromOptions({ connectionString: url, logger: quiet });
    const seen = [];
    for (let number = 0; number < times; number += 1) {
      await added(url, [{ identifier: "noop" }]);
      const started = process.hrtime.bigint();
      const jobs = await batchGetJobs(options, options.withPgClient, { noop: async () => {} }, "bench", null, BATCH);
      seen.push(Number(process.hrtime.bigint() - started) / 1e9);
      if (jobs.length !== 1) throw new Error(`${jobs.length} jobs were fetched`);
    }
    await release();
    return seen;
  },

  async rest({ url, seconds }) {
    await migrated(url);
    const runner = await working(url, { noop: async () => {} }, eager);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1e3));
    await runner.stop();
  },
};

function microseconds() {
  return (performance.timeOrigin + performance.now()) * 1e3;
}

// With its microseconds, which a Date does not have.
function instant(due) {
  return `${new Date(Math.floor(due / 1e6) * 1e3).toISOString().slice(0, 19)}.${String(due % 1e6).padStart(6, "0")}Z`;
}

function added(url, jobs) {
  return asked(url, ADD, [JSON.stringify(jobs)]);
}

async function migrated(url) {
  const utils = await makeWorkerUtils({ connectionString: url, logger: quiet });
  await utils.migrate();
  await utils.release();
}

async function asked(url, statement, values) {
  const pool = new Pool({ connectionString: url, max: 1 });
  try {
    return (await pool.query(statement, values)).rows;
  } finally {
    await pool.end();
  }
}

function working(url, taskList, chosen) {
  const batches = { completeJobBatchDelay: 0, failJobBatchDelay: 0 };
  const worker = { connectionString: url, concurrentJobs: SEATS, maxPoolSize: SEATS + 1, ...batches, ...chosen };
  return run({ taskList, noHandleSignals: true, crontab: "", logger: quiet, preset: { worker: { ...worker, logger: quiet } } });
}

const [operation, given] = process.argv.slice(2);
operations[operation](JSON.parse(given)).then(
  (answer) => process.stdout.write(JSON.stringify(answer ?? null)),
  (problem) => {
    console.error(problem);
    process.exitCode = 1;
  },
);
