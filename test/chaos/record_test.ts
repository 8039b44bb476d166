import { test } from "tap";
import type { StoredObject } from "../../sandbox/index.ts";
import { type Heard, RecordedCluster } from "./record.ts";

const begin = Date.UTC(2026, 0, 5);

function heard(name: string, revision: number, atMs: number, more: Partial<Heard> = {}): Heard {
  const object: StoredObject = { metadata: { name, namespace: "blue", resourceVersion: String(revision) } };
  return {
    revision,
    resource: "pods",
    type: "MODIFIED",
    object,
    atMs: begin + atMs,
    isListed: false,
    ...more,
  };
}

/** A record of which a listener writes down what it is told. */
function recorded() {
  const told: string[] = [];
  const record = new RecordedCluster(begin, ({ object }) => {
    const { namespace = "", name = "" } = object.metadata;
    const write = { userAgent: "replica-0.1/", verb: "patch", resource: "pods", namespace, name };
    return { object, write: name === "theirs" ? undefined : write };
  });
  record.server.cluster.subscribe("pods", ({ type, object }) => {
    told.push(`${type} ${object.metadata.name} ${object.metadata.resourceVersion}`);
  });
  record.server.faults.onWrite(({ name }) => void told.push(`write ${name} at ${record.clock.monotonic()}`));
  return { record, told };
}

test("changes are played in the order in which they were stored, each before its write", async (t) => {
  const { record, told } = recorded();
  record.hear(heard("b", 12, 100));
  record.hear(heard("a", 11, 200));
  record.play(begin + 1_000);
  t.strictSame(told, ["ADDED a 11", "write a at 200", "ADDED b 12", "write b at 200"]);
  t.equal(record.clock.now(), begin + 1_000);
});

test("what came after a change that is not due waits for it", async (t) => {
  const { record, told } = recorded();
  record.hear(heard("late", 11, 900));
  record.hear(heard("early", 12, 100));
  record.play(begin + 500);
  t.strictSame(told, []);
  record.play(begin + 1_000);
  t.strictSame(told, ["ADDED late 11", "write late at 900", "ADDED early 12", "write early at 900"]);
});

test("nobody is made answerable for what others wrote", async (t) => {
  const { record, told } = recorded();
  record.hear(heard("theirs", 11, 100));
  record.hear(heard("theirs", 12, 200, { type: "DELETED" }));
  record.play(begin + 1_000);
  t.strictSame(told, ["ADDED theirs 11", "DELETED theirs 12"]);
});

test("the store is as it was after the newest change", async (t) => {
  const { record } = recorded();
  record.hear(heard("a", 11, 100));
  record.hear(heard("a", 13, 200));
  record.hear(heard("b", 12, 200));
  record.hear(heard("b", 14, 300, { type: "DELETED" }));
  record.play(begin + 1_000);
  const versions = record.objects("pods", "blue").map(({ metadata }) => metadata.resourceVersion);
  t.strictSame(versions, ["13"]);
  t.equal(record.server.cluster.get("pods", { namespace: "blue", name: "b" }), undefined);
  t.strictSame(record.objects("pods", "green"), []);
});
