/** What the caches tell of pods and claims reaches the index of the set that it is about. */

import t from "tap";
import type { Pod } from "../../../kube/index.ts";
import { noChance } from "../../../testkit/controller/no_chance.ts";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { plainClaim } from "../../../testkit/controller/projection_builder.ts";
import { defaultOptions, statefulSet } from "../../../testkit/controller/stateful_set_model.ts";
import { ownerKey, ownerKeyOf } from "../../plan/owners.ts";
import { mostCreations } from "../../rollout/writes/creation_room.ts";
import { PendingPods } from "../../rollout/writes/pending_pods.ts";
import { sharedCaches } from "../../runtime/caches.ts";
import { observeStatefulSet } from "./observe.ts";
import { planStatefulSet } from "./plan.ts";
import { setIndexes } from "./reconcile.ts";
import { statefulSetState } from "./state.ts";

function world() {
  const shared = sharedCaches();
  const caches = { ...shared, pullJobs: () => [], pullJobWritten: () => {}, nodeImage: () => undefined };
  const pending = new PendingPods();
  const set = statefulSet("app", {
    replicas: 2,
    podManagementPolicy: "Parallel",
    volumeClaimTemplates: [{ metadata: { name: "data" } }],
  });
  const controller = { group: "apps.kruise.io", kind: "StatefulSet", name: "app", uid: "set-app" };
  const indexes = setIndexes(shared, { get: (key) => (key === "default/app" ? set : undefined) });
  let version = 1;
  return {
    caches: shared,
    indexes,
    put: (name: string, change: Partial<Pod> = {}) =>
      shared.pods.upsert(
        barePod(name, { labels: { app: "app" }, controller, resourceVersion: `${version++}`, ...change }),
      ),
    plan() {
      const writes = {
        pending: () => pending,
        failures: () => ({}),
        creationRoom: () => mostCreations,
        isClaimWritten: () => false,
      };
      const observed = observeStatefulSet(set, caches, defaultOptions, { writes, indexes });
      return planStatefulSet(
        statefulSetState({ observed, options: defaultOptions, now: 0, random: noChance }),
      );
    },
    status() {
      const { replicas, volumeClaims } = this.plan().status;
      return [replicas, volumeClaims?.[0]?.compatibleReplicas];
    },
    adopts() {
      return this.plan().actions.some(
        (action) =>
          action.type === "patch pod" && action.effects.some(({ type }) => type === "confirm object"),
      );
    },
    index: () => indexes.get(ownerKeyOf(set.metadata)),
  };
}

t.test("pods that come, are released, are taken over and go", async (t) => {
  const here = world();
  const { caches, put } = here;

  t.same(here.status(), [0, 0]);
  put("app-0");
  put("app-1");
  t.same(here.status(), [2, 0]);
  put("app-1", { controller: undefined });
  t.same(here.status(), [1, 0]);
  t.ok(here.adopts());
  put("app-1");
  t.same(here.status(), [2, 0]);
  t.notOk(here.adopts());
  put("app-1", { controller: { group: "apps.kruise.io", kind: "StatefulSet", name: "b", uid: "set-b" } });
  t.same(here.status(), [1, 0]);
  caches.pods.remove("default/app-0", caches.pods.get("default/app-0")?.uid ?? "");
  t.same(here.status(), [0, 0]);
});

t.test("claims, by their names, of this set alone", async (t) => {
  const here = world();
  here.put("app-0");
  t.same(here.status(), [1, 0]);
  here.caches.claims.upsert(plainClaim("default", "data-app-0"));
  here.caches.claims.upsert(plainClaim("elsewhere", "data-app-1"));
  t.same(here.status(), [1, 1]);
  here.caches.claims.upsert(plainClaim("default", "data-app-0", { resourceVersion: "2", deletionAt: 1 }));
  t.same(here.status(), [1, 0]);
});

t.test("a set of the same name later has an index of its own", async (t) => {
  const here = world();
  here.put("app-0");
  t.same(here.status(), [1, 0]);
  const before = here.index();
  here.plan();
  t.equal(here.index(), before);
  here.indexes.forget(ownerKey("default", "set-app"));
  t.same(here.status(), [1, 0]);
  t.not(here.index(), before);
});
