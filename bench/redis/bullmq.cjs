// BullMQ at its best: jobs added in bulk, one worker with many at once. Completed jobs are kept, as is its default.
// Called as `node bullmq.cjs OPERATION ARGUMENTS`, with both ways in JSON; answers on stdout.
"use strict";

const { Queue, Worker } = require("bullmq");

const SEATS = 300;
const BATCH = 5000;
const NAME = "noop";

function connection(url) {
  const { hostname, port, pathname } = new URL(url);
  return { host: hostname, port: Number(port), db: Number(pathname.slice(1)), maxRetriesPerRequest: null };
}

const operations = {
  async enqueue({ url, count }) {
    const queue = new Queue(NAME, { connection: connection(url) });
    for (let done = 0; done < count; done += BATCH) {
      const jobs = Array.from({ length: Math.min(BATCH, count - done) }, () => ({ name: NAME, data: {} }));
      await queue.addBulk(jobs);
    }
    await queue.close();
  },

  async drain({ url, count }) {
    const queue = new Queue(NAME, { connection: connection(url) });
    const started = process.hrtime.bigint();
    const busy = process.cpuUsage();
    let completed = 0;
    let finish;
    const finished = new Promise((resolve) => (finish = resolve));
    const worker = new Worker(NAME, async () => {}, { connection: connection(url), concurrency: SEATS });
    worker.on("completed", () => {
      completed += 1;
      if (completed === count) finish();
    });
    await finished;
    const seconds = Number(process.hrtime.bigint() - started) / 1e9;
    const used = process.cpuUsage(busy);
    const kept = await queue.getCompletedCount();
    await worker.close();
    await queue.close();
    return { seconds, busy: (used.user + used.system) / 1e6, left: count - kept };
  },

  async punctual({ url, rate, seconds, lead }) {
    const queue = new Queue(NAME, { connection: connection(url) });
    const count = Math.max(Math.round(rate * seconds), 1);
    const late = [];
    let finish;
    const finished = new Promise((resolve) => (finish = resolve));
    const work = async (job) => {
      late.push((performance.timeOrigin + performance.now() - job.data.due) / 1e3);
      if (late.length === count) finish();
    };
    const worker = new Worker(NAME, work, { connection: connection(url), concurrency: SEATS });
    await worker.waitUntilReady();
    const first = Date.now() + lead * 1e3;
    const dues = Array.from({ length: count }, (_, number) => first + (number * 1e3) / rate);
    await queue.addBulk(dues.map((due) => ({ name: NAME, data: { due }, opts: { delay: due - Date.now() } })));
    await finished;
    await worker.close();
    await queue.close();
    return late;
  },
};

const [operation, given] = process.argv.slice(2);
operations[operation](JSON.parse(given)).then(
  (answer) => process.stdout.write(JSON.stringify(answer ?? null)),
  (problem) => {
    console.error(problem);
    process.exitCode = 1;
  },
);
