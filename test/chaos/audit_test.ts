import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "tap";
import type { StoredObject } from "../../sandbox/index.ts";
import { AddedLines, AuditTrail, requestOf } from "./audit.ts";
import type { Heard } from "./record.ts";

const time = "2026-01-05T00:00:01.000000Z";
const atMs = Date.parse(time);

function event(verb: string, answer: object, more: object = {}): string {
  return JSON.stringify({
    verb,
    userAgent: "kruise-manager",
    requestURI: "/api/v1/namespaces/blue/pods/a?fieldManager=x",
    user: { extra: { "authentication.kubernetes.io/credential-id": ["JTI=one"] } },
    objectRef: { resource: "pods", namespace: "blue", name: "a", apiVersion: "v1" },
    responseStatus: { code: 200 },
    responseObject: answer,
    requestReceivedTimestamp: time,
    stageTimestamp: time,
    ...more,
  });
}

function pod(revision: number, metadata: object = {}): Heard {
  const object: StoredObject = { metadata: { name: "a", namespace: "blue", ...metadata } };
  return { revision, resource: "pods", type: "MODIFIED", object, atMs, isListed: false };
}

function trailOf(...lines: readonly string[]): AuditTrail {
  const trail = new AuditTrail();
  for (const line of lines) {
    const request = requestOf(line);
    if (request !== undefined) trail.add(request);
  }
  return trail;
}

test("a request is read from its line", async (t) => {
  const created = { metadata: { name: "made-up", resourceVersion: "7" } };
  const objectRef = {
    resource: "clonesets",
    apiGroup: "apps.kruise.io",
    subresource: "status",
    namespace: "blue",
  };
  t.match(requestOf(event("update", created, { objectRef })), {
    credential: "JTI=one",
    resource: "clonesets.apps.kruise.io/status",
    name: "made-up",
    revision: 7,
    path: "/api/v1/namespaces/blue/pods/a",
    fromMs: atMs,
  });
});

test("a change is that of the request whose answer has its version", async (t) => {
  const version = (resourceVersion: string) => ({ metadata: { resourceVersion } });
  const later = { requestReceivedTimestamp: "2026-01-05T00:00:02Z", userAgent: "changes nothing" };
  const refused = { responseStatus: { code: 409 }, userAgent: "refused" };
  const trail = trailOf(
    event("patch", version("9"), later),
    event("patch", version("9")),
    event("patch", version("10"), refused),
  );
  t.equal(trail.requestOf(pod(9))?.userAgent, "kruise-manager");
  t.equal(trail.requestOf(pod(10)), undefined);
});

test("an object that goes is taken by whoever asked for that at the time", async (t) => {
  const status = { status: "Success" };
  const evicted = { objectRef: { resource: "pods", subresource: "eviction", namespace: "blue", name: "a" } };
  const trail = trailOf(event("create", status, evicted));
  t.equal(trail.requestOf(pod(9)), undefined, "it only changes");
  const going = { deletionTimestamp: time };
  t.equal(trail.requestOf({ ...pod(10, going), atMs: atMs + 60_000 }), undefined, "a minute later");
  t.equal(trail.requestOf(pod(11, going))?.resource, "pods/eviction");
  t.equal(trail.requestOf(pod(12, going)), undefined, "once");
});

test("a log is read on where it was, whole lines only", async (t) => {
  const file = join(t.testdir(), "audit.log");
  const lines = new AddedLines(file);
  t.strictSame(lines.read(), [], "it is not there yet");
  appendFileSync(file, "one\ntw");
  t.strictSame(lines.read(), ["one"]);
  appendFileSync(file, "o\n");
  t.strictSame(lines.read(), ["two"]);
});
