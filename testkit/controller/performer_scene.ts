/** A performer on a server that serves what a test says, and what becomes of its writes. */
import { controlledPods } from "../../controller/rollout/pods/owned_pods.ts";
import type { Action } from "../../controller/rollout/writes/actions.ts";
import { type Owner, Performer } from "../../controller/runtime/executor/perform.ts";
import { workloadWrites } from "../../controller/runtime/workload_reconciler.ts";
import { type Client, jsonResource, KubeError, type KubeObject, type Resource } from "../../kube/index.ts";
import { testClock } from "../kube/fake_clock.ts";
import { kindDeps } from "./kind_deps_builder.ts";

export const owner: Owner = { key: "d/app", namespace: "d", uid: "set-1" };
const sets = jsonResource<KubeObject>({
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "clonesets",
  kind: "CloneSet",
  namespaced: true,
});
const set: KubeObject = {
  metadata: { namespace: "d", name: "app", uid: "set-1", resourceVersion: "1", generation: 1 },
};

interface Settings {
  readonly clock?: ReturnType<typeof testClock>;
  /** Milliseconds. */
  readonly maxDelayMs?: number;
  readonly mayDisrupt?: () => Promise<boolean>;
}

/** `served`: all that the server can do. */
export function performerOn(served: Partial<Client>, settings: Settings = {}) {
  const { clock = testClock(), maxDelayMs = 1, mayDisrupt } = settings;
  const none = () => Promise.reject(new KubeError("MethodNotAllowed", "not served here"));
  const client: Client = {
    get: none,
    list: none,
    create: none,
    replace: none,
    patch: none,
    delete: none,
    watch: none,
    request: none,
    stream: none,
    close: async () => undefined,
    ...served,
  };
  const deps = kindDeps(sets, client, clock);
  deps.objects.upsert(set);
  /** Milliseconds after which it is planned again. */
  const again: number[] = [];
  /** Events, pull jobs that were written back, and when to plan again, in their order. */
  const happened: string[] = [];
  const recorder: typeof deps.recorder = {
    event: (_, type, reason, message) => happened.push(`${type} ${reason} ${message}`),
  };
  const caches = {
    ...deps.caches,
    pullJobWritten: ({ metadata }: KubeObject) => happened.push(`holds ${metadata.name}`),
  };
  const pods = controlledPods(caches.pods);
  const performer = new Performer(
    { ...deps, caches, recorder, mayDisrupt, options: { ...deps.options, baseDelayMs: 1, maxDelayMs } },
    {
      pods,
      writes: workloadWrites(caches, pods),
      requeue(_owner, afterMs) {
        again.push(afterMs);
        happened.push(`again after ${afterMs} ms`);
      },
      unblocked: () => happened.push("again at once"),
    },
  );
  const pending = () => performer.pending("d#set-1");
  const once = (...actions: Action[]) => {
    performer.perform(owner, set, actions);
    return performer.drained();
  };
  /** Somebody has written another spec. */
  const changed = () => {
    const { metadata } = set;
    performer.observe("d#set-1", { ...set, metadata: { ...metadata, generation: 2, resourceVersion: "2" } });
  };
  const failures = () => performer.failures("d#set-1");
  const creationRoom = () => performer.creationRoom("d#set-1");
  const isClaimWritten = (name: string) => performer.isClaimWritten("d#set-1", name);
  const { log, objects } = deps;
  const asked = { failures, creationRoom, isClaimWritten, pending };
  return { once, changed, ...asked, again, caches, objects, happened, log, clock };
}

export function shownAs<T>({ codec }: Resource<T>, object: object): T {
  return codec.decode(new TextEncoder().encode(JSON.stringify(object)), "application/json");
}
