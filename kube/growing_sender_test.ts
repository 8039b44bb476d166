import t from "tap";
import { BUSY_REQUESTS, BUSY_WITHIN_MS, GrowingSender } from "./growing_sender.ts";
import type { Sender, SendHandler, SendRequest } from "./sender.ts";
import { testClock } from "./testing.ts";

const request: SendRequest = { origin: "", path: "/", method: "GET", headers: {}, body: null };
const handler: SendHandler = {
  onRequestStart: () => undefined,
  onResponseStart: () => undefined,
  onResponseData: () => undefined,
  onResponseEnd: () => undefined,
  onResponseError: () => undefined,
};

function recording(name: string, log: string[]): Sender {
  return {
    dispatch: () => void log.push(name),
    close: async () => void log.push(`${name} closed`),
    destroy: async () => void log.push(`${name} destroyed`),
  };
}

function growing() {
  const clock = testClock();
  const log: string[] = [];
  const faster = Promise.withResolvers<Sender>();
  const sender = new GrowingSender(clock, recording("small", log), () => {
    log.push("opening");
    return faster.promise;
  });
  const send = (count: number): void => {
    for (let sent = 0; sent < count; sent++) sender.dispatch(request, handler);
  };
  const opened = () => faster.resolve(recording("fast", log));
  return { clock, log, sender, send, opened, failed: () => faster.reject(new Error("no such file")) };
}

t.test("much at once opens the faster pool once; what is under way ends where it began", async (t) => {
  const { clock, log, send, opened } = growing();
  send(BUSY_REQUESTS);
  t.notOk(log.includes("opening"));
  send(2);
  t.equal(log.filter((line) => line === "opening").length, 1);
  t.equal(log.at(-1), "small", "until the faster one is there");
  opened();
  await clock.settle();
  t.equal(log.at(-1), "small closed");
  send(1);
  t.equal(log.at(-1), "fast");
});

t.test("a faster pool that cannot be opened is done without", async (t) => {
  const { clock, log, sender, send, failed } = growing();
  send(BUSY_REQUESTS + 1);
  failed();
  await clock.settle();
  send(BUSY_REQUESTS + 1);
  t.equal(log.at(-1), "small");
  t.equal(log.filter((line) => line === "opening").length, 1, "asked for once");
  await sender.close();
  t.equal(log.at(-1), "small closed");
});

t.test("the same number over a longer time does not", async (t) => {
  const { clock, log, send } = growing();
  for (let round = 0; round < 5; round++) {
    send(BUSY_REQUESTS);
    clock.skip(BUSY_WITHIN_MS + 1);
  }
  t.notOk(log.includes("opening"));
});

t.test("closed while it grows, neither pool stays open", async (t) => {
  const { log, sender, send, opened } = growing();
  send(BUSY_REQUESTS + 1);
  const closing = sender.close();
  opened();
  await closing;
  t.same(
    log.filter((line) => line.endsWith("closed")),
    ["small closed", "fast closed"],
  );
});
