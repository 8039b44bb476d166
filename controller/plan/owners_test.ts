/** What an owner owns is found by its namespace and UID together. */
import fc from "fast-check";
import t from "tap";
import type { OwnerReference } from "../../kube/core/index.ts";
import { Cache, podResource, type ReadingClient, type Writer } from "../../kube/index.ts";
import { fakeServer } from "../../testkit/kube/fake_server.ts";
import type { WebhookDeps } from "../runtime/admission/webhook.ts";
import type { SharedDeps } from "../runtime/kind.ts";
import {
  controllerOfKind,
  dependantsIn,
  ownerKey,
  ownerKeyOf,
  scopeOf,
  writersInNamespaces,
  writersOf,
} from "./owners.ts";

interface Dependant {
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly owners: readonly string[];
}

const namespaces = ["a", "evil", "a-1"];
// Some look like the end of another key.
const uids = ["1", "2", "1#1"];

const written = fc.record({
  namespace: fc.constantFrom(...namespaces),
  name: fc.constantFrom("x", "y", "z"),
  owners: fc.uniqueArray(fc.constantFrom(...uids)),
});

t.test("of an owner is exactly what is in its namespace and names its UID, after any changes", (t) => {
  fc.assert(
    fc.property(fc.array(written, { maxLength: 30 }), (writes) => {
      const cache = new Cache<Dependant>({
        identify: ({ namespace, name, version }) => {
          const key = `${namespace}/${name}`;
          return { key, uid: key, version };
        },
      });
      const dependants = dependantsIn(cache, "owner", (object) => object);
      const held = new Map<string, Dependant>();
      for (const [at, write] of writes.entries()) {
        const object = { ...write, version: String(at + 1) };
        cache.upsert(object);
        held.set(`${object.namespace}/${object.name}`, object);
      }
      for (const namespace of namespaces) {
        for (const uid of uids) {
          const expected = [...held.values()].filter(
            (object) => object.namespace === namespace && object.owners.includes(uid),
          );
          t.same(new Set(dependants.of(ownerKey(namespace, uid))), new Set(expected));
        }
      }
    }),
    { numRuns: 1_000, seed: 23 },
  );
  t.end();
});

t.test("keys of different owners differ: a namespace has no character that parts it from the UID", (t) => {
  const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?$/);
  fc.assert(
    fc.property(label, fc.string(), label, fc.string(), (namespace, uid, other, otherUid) => {
      const isSame = namespace === other && uid === otherUid;
      t.equal(ownerKey(namespace, uid) === ownerKey(other, otherUid), isSame);
    }),
    { numRuns: 1_000, seed: 23 },
  );
  t.equal(ownerKeyOf({ namespace: "a", uid: "1" }), ownerKey("a", "1"));
  t.end();
});

t.test("writes of an owner with a namespace go there; one without says so", async (t) => {
  t.same(scopeOf("a/web"), { namespace: "a" });
  t.equal(scopeOf("web"), "Cluster");
  const { client, calls } = fakeServer();
  const writesFor = writersOf(client);
  const pod = { namespace: "evil", name: "x" };
  await t.rejects(writesFor(scopeOf("a/web")).delete(podResource, pod), { code: "OutsideNamespace" });
  t.same(calls, []);
  await t.rejects(writesFor(scopeOf("web")).delete(podResource, pod), { code: "NotFound" });
  await t.rejects(writesFor(scopeOf("evil/web")).delete(podResource, pod), { code: "NotFound" });
  t.equal(calls.length, 2);
  const inNamespaces = writersInNamespaces(client);
  t.throws(() => inNamespaces("Cluster"), "nor may one that is always in a namespace say so");
  await t.rejects(inNamespaces(scopeOf("a/web")).delete(podResource, pod), { code: "OutsideNamespace" });
  t.equal(calls.length, 2);
});

t.test("the controlling owner counts by group and kind", (t) => {
  const owner: OwnerReference = {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "CloneSet",
    name: "a",
    uid: "1",
    controller: true,
  };
  t.equal(controllerOfKind([owner], "CloneSet"), owner);
  t.equal(controllerOfKind([owner], "StatefulSet"), undefined);
  t.equal(controllerOfKind([{ ...owner, apiVersion: "evil.io/v1" }], "CloneSet"), undefined);
  t.equal(controllerOfKind([{ ...owner, controller: false }], "CloneSet"), undefined);
  t.equal(controllerOfKind(undefined, "CloneSet"), undefined);
  t.end();
});

/** True for what cannot write without saying for which owner: one that can is no `false` either, and is not compiled. */
type OnlyReads<C extends ReadingClient> = [Extract<keyof C, keyof Writer | "replace">] extends [never]
  ? Parameters<C["request"]>[0] extends "GET"
    ? true
    : never
  : never;

t.test("what controllers and webhooks are given as a client reads", (t) => {
  const controllers: OnlyReads<SharedDeps["client"]> = true;
  const webhooks: OnlyReads<WebhookDeps["client"]> = true;
  t.ok(controllers && webhooks, "the compiler says so");
  t.end();
});
