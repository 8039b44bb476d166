import t from "tap";
import { configMapBody } from "../testkit/api_contract/objects.ts";
import { credentialsOf, openTarget } from "../testkit/api_contract/target.ts";
import { testClock } from "../testkit/kube/fake_clock.ts";
import { startSandbox } from "./index.ts";
import { objectsAt, textAt } from "./json.ts";

const maps = "/api/v1/namespaces/default/configmaps";

async function started() {
  const clock = testClock();
  const sandbox = await startSandbox({ seed: 3, clock });
  const target = openTarget(credentialsOf(sandbox.kubeconfig));
  const create = (name: string) => target.call("POST", maps, { body: configMapBody(name) });
  const names = async (query = "") => {
    const list = await target.call("GET", `${maps}${query}`);
    return objectsAt(list.json, "items").map((item) => textAt(item, "metadata", "name"));
  };
  const stop = async () => {
    await target.close();
    await sandbox.stop();
  };
  return { clock, sandbox, target, create, names, stop };
}

t.test("refuses the next requests that fit, then goes on", async (t) => {
  const { sandbox, create, names, stop } = await started();
  sandbox.faults.add({
    verb: "create",
    resource: "configmaps",
    times: 2,
    effect: { type: "status", code: 429, retryAfterSeconds: 3 },
  });
  for (const name of ["a", "b"]) {
    const refused = await create(name);
    t.equal(refused.code, 429);
    t.equal(refused.headers["retry-after"], "3");
    t.equal(textAt(refused.json, "reason"), "TooManyRequests");
  }
  t.equal((await create("c")).code, 201);
  t.same(await names(), ["c"]);
  await stop();
});

t.test("strikes with the given probability, from the seed", async (t) => {
  const counts: number[] = [];
  for (let run = 0; run < 2; run++) {
    const { sandbox, create, stop } = await started();
    sandbox.faults.add({ probability: 0.5, effect: { type: "status", code: 500 } });
    let refused = 0;
    for (let at = 0; at < 20; at++) if ((await create(`m${at}`)).code === 500) refused += 1;
    counts.push(refused);
    await stop();
  }
  t.equal(counts[0], counts[1]);
  t.ok((counts[0] ?? 0) > 3 && (counts[0] ?? 0) < 17);
});

t.test("cuts connections before or after the write was stored", async (t) => {
  const { sandbox, create, names, stop } = await started();
  const writes: string[] = [];
  sandbox.faults.onWrite(({ verb, name }) => writes.push(`${verb} ${name}`));
  sandbox.faults.add({ verb: "create", times: 1, effect: { type: "drop", when: "before" } });
  await t.rejects(create("before"));
  sandbox.faults.add({ verb: "create", times: 1, effect: { type: "drop", when: "after" } });
  await t.rejects(create("after"));
  t.same(await names(), ["after"]);
  t.same(writes, ["create after"]);
  await stop();
});

t.test("delays by the clock", async (t) => {
  const { sandbox, clock, create, stop } = await started();
  sandbox.faults.add({ verb: "create", times: 1, effect: { type: "latency", ms: 5000 } });
  const before = clock.pending;
  const slow = create("slow");
  while (clock.pending === before) await new Promise((resolve) => setImmediate(resolve));
  t.equal(sandbox.cluster.get("configmaps", { namespace: "default", name: "slow" }), undefined);
  clock.skip(5000);
  t.equal((await slow).code, 201);
  await stop();
});

t.test("answers from the past", async (t) => {
  const { sandbox, create, names, stop } = await started();
  await create("a");
  await create("b");
  const stop2 = sandbox.faults.add({ verb: "list", effect: { type: "lag", versions: 1 } });
  t.same(await names(), ["a"]);
  stop2();
  t.same(await names(), ["a", "b"]);
  await stop();
});

t.test("delivers events late, in order", async (t) => {
  const { sandbox, clock, target, create, stop } = await started();
  const stream = await target.watch(`${maps}?watch=1`);
  sandbox.faults.add({ verb: "watch", times: 1, effect: { type: "lag", ms: 1000 } });
  await create("late");
  await create("next");
  let arrived = 0;
  const first = stream.next().then((event) => {
    arrived += 1;
    return event;
  });
  await target.call("GET", maps);
  t.equal(arrived, 0);
  clock.skip(1000);
  t.equal(textAt((await first)?.object, "metadata", "name"), "late");
  t.equal(textAt((await stream.next())?.object, "metadata", "name"), "next");
  await stream.close();
  await stop();
});

t.test("never delivers withheld events", async (t) => {
  const { sandbox, target, create, stop } = await started();
  const stream = await target.watch(`${maps}?watch=1`);
  sandbox.faults.add({ verb: "watch", times: 1, effect: { type: "withhold" } });
  await create("lost");
  await create("seen");
  t.equal(textAt((await stream.next())?.object, "metadata", "name"), "seen");
  await stream.close();
  await stop();
});

t.test("tells what it holds back in any order, in one piece", async (t) => {
  const { sandbox, clock, target, create, stop } = await started();
  const stream = await target.watch(`${maps}?watch=1`);
  sandbox.faults.add({ verb: "watch", times: 1, effect: { type: "shuffle", ms: 1000 } });
  const created = ["a", "b", "c", "d", "e"];
  for (const name of created) await create(name);
  await target.call("DELETE", `${maps}/a`);
  clock.skip(1000);
  const told: string[] = [];
  for (let left = 6; left > 0; left--) {
    const event = await stream.next();
    told.push(`${event?.type} ${textAt(event?.object, "metadata", "name")}`);
  }
  const inOrder = [...created.map((name) => `ADDED ${name}`), "DELETED a"];
  t.same(told.toSorted(), inOrder.toSorted());
  t.notSame(told, inOrder);
  await create("next");
  t.equal(textAt((await stream.next())?.object, "metadata", "name"), "next");
  await stream.close();
  await stop();
});

t.test("tells once more what the last writes changed", async (t) => {
  const { sandbox, target, create, stop } = await started();
  const stream = await target.watch(`${maps}?watch=1`);
  await create("a");
  await target.call("DELETE", `${maps}/a`);
  sandbox.faults.add({ verb: "watch", times: 1, effect: { type: "repeat", versions: 3 } });
  await create("b");
  const told: string[] = [];
  for (let left = 6; left > 0; left--) {
    const event = await stream.next();
    told.push(`${event?.type} ${textAt(event?.object, "metadata", "name")}`);
  }
  t.same(told, ["ADDED a", "DELETED a", "ADDED b", "ADDED a", "DELETED a", "ADDED b"]);
  await stream.close();
  await stop();
});

t.test("says that a version is gone", async (t) => {
  const { sandbox, target, create, stop } = await started();
  const made = await create("a");
  const version = textAt(made.json, "metadata", "resourceVersion");
  sandbox.faults.add({ verb: "watch", times: 1, effect: { type: "expire" } });
  const stream = await target.watch(`${maps}?watch=1&resourceVersion=${version}`);
  const event = await stream.next();
  t.equal(event?.type, "ERROR");
  t.match(event?.object, { code: 410, reason: "Expired" });
  t.equal(await stream.next(), undefined);
  await stop();
});

t.test("ends, drops, truncates and silences open watches", async (t) => {
  const { sandbox, target, create, stop } = await started();
  const open = () => target.watch(`${maps}?watch=1&resourceVersion=1`);
  const ended = await open();
  for (const watch of sandbox.faults.watches({ resource: "configmaps" })) watch.end();
  t.equal(await ended.next(), undefined);
  const dropped = await open();
  for (const watch of sandbox.faults.watches()) watch.drop();
  await t.rejects(dropped.next());
  const truncated = await open();
  for (const watch of sandbox.faults.watches()) watch.truncate();
  await create("half");
  await t.rejects(truncated.next());
  const silent = await open();
  t.equal(textAt((await silent.next())?.object, "metadata", "name"), "half");
  const [watch] = sandbox.faults.watches();
  watch?.silence();
  await create("held");
  let arrived = false;
  const next = silent.next().then((event) => {
    arrived = true;
    return event;
  });
  await target.call("GET", maps);
  t.equal(arrived, false);
  watch?.resume();
  t.equal(textAt((await next)?.object, "metadata", "name"), "held");
  await silent.close();
  await stop();
});
