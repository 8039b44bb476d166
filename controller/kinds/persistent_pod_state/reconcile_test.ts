import t from "tap";
import type { PersistentPodState } from "../../../crds/index.ts";
import { isJsonObject, type JsonObject } from "../../../kube/core/index.ts";
import {
  type Doing,
  doingOf,
  type Heard,
  type MakeReconciler,
  type Watch,
} from "../../../testkit/small_worlds/heard_records.ts";
import type { Reply, Request } from "../../../testkit/small_worlds/pending_requests.ts";
import { PersistentPodStateReconciler } from "./reconcile.ts";

const make: MakeReconciler = (deps) => new PersistentPodStateReconciler(deps);
const turn: Heard = { is: "turn" };
let version = 10;

function metadata(name: string, more: JsonObject): JsonObject {
  return { name, namespace: "default", resourceVersion: String(version++), ...more };
}

function news(watch: Watch, object: JsonObject, isGone = false): Heard {
  return { is: "news", watch, object, isGone };
}

function workload(uid: string, annotations: JsonObject = {}): JsonObject {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "StatefulSet",
    metadata: metadata("web", { uid, annotations, generation: 1 }),
    spec: { replicas: 2, selector: { matchLabels: { app: "web" } } },
  };
}

function record(status: object, spec: JsonObject = { requiredPersistentTopology: { keys: ["zone"] } }) {
  const targetRef = { apiVersion: "apps.kruise.io/v1beta1", kind: "StatefulSet", name: "web" };
  return { metadata: metadata("web", { uid: "r", generation: 1 }), spec: { targetRef, ...spec }, status };
}

function pod(name: string, owner: string | undefined, more: JsonObject = {}): JsonObject {
  const controller = {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "StatefulSet",
    name: "web",
    controller: true,
  };
  const ownerReferences = owner === undefined ? [] : [{ ...controller, uid: owner }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: metadata(name, { uid: name, labels: { app: "web" }, ownerReferences, ...more }),
    spec: { nodeName: "east", containers: [] },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  };
}

const east = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "east", uid: "east", resourceVersion: "1", labels: { zone: "a" } },
};
const onEast = { nodeName: "east", nodeTopologyLabels: { zone: "a" } };
const observed = { observedGeneration: 1 };

/** A controller that has seen these pods, and passed. */
function began(stored: ReturnType<typeof record>, pods: readonly JsonObject[]): Heard[] {
  const all = [news("nodes", east), news("workload", workload("web-1")), news("record", stored)];
  return [...all, turn, { is: "list", pods, version: String(version++) }, turn];
}

function answer({ requests: [request] }: Doing, reply: Reply): Heard {
  if (request === undefined) throw new Error("nothing is asked");
  return { is: "answer", request, reply };
}

/** The records as they are once the request is carried out on this object. */
function podStatesIn(request: Request | undefined): unknown {
  const { status } = request?.body ?? {};
  return isJsonObject(status) ? status["podStates"] : undefined;
}

t.test("a status is for the version of the object alone that it was worked out of", async (t) => {
  const stored = record({});
  const { requests } = await doingOf(began(stored, [pod("web-0", "web-1")]), make);
  t.match(requests, [{ subresource: "status", resourceVersion: stored.metadata["resourceVersion"] }]);
});

t.test(
  "a pod that was ready is recorded, also where it goes before that is stored (4, rules 1, 5 and 8)",
  async (t) => {
    const before = began(record({}), [pod("web-0", "web-1")]);
    const writing = await doingOf(before, make);
    t.same(podStatesIn(writing.requests[0]), { "web-0": onEast });
    const gone = news("pods", pod("web-0", "web-1", { deletionTimestamp: "2026-01-01T00:00:00Z" }));
    const later: Heard[] = [{ is: "time" }, turn];
    const again = [gone, turn, answer(writing, { error: "Conflict" }), ...later, ...later];
    const { requests } = await doingOf([...before, ...again], make);
    t.same(podStatesIn(requests[0]), { "web-0": onEast });
  },
);

t.test(
  "records are those of a workload, not of another one that is made by its name at once (4, rule 10)",
  async (t) => {
    const stored = record({ ...observed, podStates: { "web-0": onEast } });
    const before = began(stored, []);
    t.same((await doingOf(before, make)).requests, []);
    const others = [news("workload", workload("web-1"), true), news("workload", workload("web-2"))];
    const { requests } = await doingOf([...before, ...others, turn], make);
    t.same(requests.map(podStatesIn), [null]);
  },
);

t.test("a ready pod that the workload adopts is recorded (4, rule 3)", async (t) => {
  const before = began(record(observed), [pod("web-0", undefined)]);
  t.same((await doingOf(before, make)).requests, []);
  const { requests } = await doingOf([...before, news("pods", pod("web-0", "web-1")), turn], make);
  t.same(requests.map(podStatesIn), [{ "web-0": onEast }]);
});

t.test(
  "annotations that change while an object is made of them are acted on, too (4, rules 20 and 21)",
  async (t) => {
    const asked = (keys: string): Heard =>
      news(
        "workload",
        workload("web-1", {
          "kruise.io/auto-generate-persistent-pod-state": "true",
          "kruise.io/required-persistent-topology": keys,
        }),
      );
    const before = [asked("zone"), turn];
    const making = await doingOf(before, make);
    t.match(making.requests, [{ verb: "create" }]);
    const owner: NonNullable<PersistentPodState["metadata"]["ownerReferences"]> = [
      {
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "StatefulSet",
        name: "web",
        uid: "web-1",
        controller: true,
      },
    ];
    const { metadata: made, ...rest } = record({});
    const object = { ...rest, metadata: { ...made, ownerReferences: owner } };
    const { requests } = await doingOf([...before, asked("rack"), answer(making, { object }), turn], make);
    t.match(requests, [
      { verb: "patch", body: { spec: { requiredPersistentTopology: { keys: ["rack"] } } } },
    ]);
  },
);
