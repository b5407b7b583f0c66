// A station in JavaScript, written from docs/stations-wire.md alone. It needs: npm install zeromq
// node station.js NAME WORKER tcp://HOST:PORT NODE_KEY KEY_FILE
// The key file has the public and the secret key, one on each line: `horae station key --station NAME` makes it.
"use strict";
const fs = require("node:fs");
const zmq = require("zeromq");

const TYPE = { GLOBAL_ID: 0x01, STATION_ID: 0x02, STATUS: 0x03, REQUEST_ID: 0x04, PLAN: 0x05, LOCAL_ID: 0x08, CALL_ID: 0x0b };
Object.assign(TYPE, { COMMAND: 0x24, CONTEXT: 0x23, REQUESTER: 0x3e, CONTENT_TEXT: 0x54, CONTENT_JSON: 0x4a });
const JOIN = 0x4a, READY = 0x52, HEARTBEAT = 0x50, PROXY = 0x03;
const OK = 0x01, RUNNING = 0x03, WELCOME = 0x05, NOT_SUPPORTED = 0xf3, ERROR = 0xf0, NOT_FOUND = 0xf1;

function encode(code, frames) {
  const types = frames.map(([type]) => type);
  return [Buffer.from([frames.length, code, ...types]), ...frames.map(([, data]) => Buffer.from(data))];
}

function decode(parts) {
  const [count, code, ...types] = parts[0];
  if (count !== parts.length - 1 || types.length < count) throw new Error("malformed message");
  return { code, first: (type) => (types.slice(0, count).includes(type) ? parts[1 + types.indexOf(type)] : null) };
}

function readKeys(path) {
  const lines = fs.readFileSync(path, "ascii").split("\n");
  return lines.map((line) => line.trim()).filter((line) => line && !line.startsWith("# "));
}

async function run(name, worker, address, serverKey, keyFile, apis) {
  const [publicKey, secretKey] = readKeys(keyFile);
  const socket = new zmq.Dealer({ linger: 0 });
  Object.assign(socket, { curveServerKey: serverKey, curvePublicKey: publicKey, curveSecretKey: secretKey });
  socket.connect(address);
  // A socket sends one message at a time.
  let last = Promise.resolve();
  const send = (code, frames) => (last = last.then(() => socket.send(encode(code, frames))));
  const join = () =>
    send(JOIN, [
      [TYPE.STATION_ID, name],
      [TYPE.LOCAL_ID, worker],
      [TYPE.CONTEXT, JSON.stringify({ slots: 4, apis: Object.keys(apis), generation: 2 })],
    ]);

  async function execute(message) {
    const answer = (code, content) =>
      send(code, [
        [TYPE.REQUESTER, message.first(TYPE.REQUESTER)],
        [TYPE.CALL_ID, message.first(TYPE.CALL_ID)],
        ...content,
        [TYPE.GLOBAL_ID, message.first(TYPE.GLOBAL_ID)],
      ]);
    const api = apis[message.first(TYPE.COMMAND).toString()];
    if (!api) return answer(NOT_SUPPORTED, [[TYPE.CONTENT_TEXT, "unknown API"]]);
    await answer(RUNNING, []);
    try {
      const payload = JSON.parse(message.first(TYPE.CONTENT_JSON).toString());
      const result = await api(payload, JSON.parse(message.first(TYPE.PLAN).toString()));
      return answer(OK, [[TYPE.CONTENT_JSON, JSON.stringify(result ?? null)]]);
    } catch (error) {
      return answer(ERROR, [[TYPE.CONTENT_TEXT, String(error)]]);
    }
  }

  let beats = null;
  await join();
  for await (const parts of socket) {
    const message = decode(parts);
    if (message.code === WELCOME) {
      const { heartbeat } = JSON.parse(message.first(TYPE.CONTEXT).toString());
      await send(READY, []);
      beats = beats ?? setInterval(() => send(HEARTBEAT, []), heartbeat * 1000);
    } else if (message.code === NOT_FOUND) {
      await join();
    } else if (message.code === PROXY) {
      execute(message);
    }
  }
}

if (require.main === module) {
  const apis = {
    add: ({ a, b }, plan) => ({ sum: a + b, key: plan.run_id }),
    fail: () => {
      throw new Error("no");
    },
  };
  run(...process.argv.slice(2), apis);
}

module.exports = { encode, decode, run };
