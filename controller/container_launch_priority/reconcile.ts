/** Writes the keys for which the kubelet holds containers back. Spec: containers 2.2. */
import { isKubeError, keyOf, type Pod, podResource } from "../../kube/index.ts";
import { configMapResource } from "../config_maps.ts";
import type { SharedDeps } from "../kind.ts";
import type { PlainPass, PlainReconciler, Write } from "../reconciler.ts";
import { awaitsLaunch, barrierName, type LaunchPlan, launchCompletedAnnotation, planLaunch } from "./plan.ts";

/**
 * Tells the level that was let go last. The kubelet tries containers that lacked a key again after 10 to 15 seconds,
 * but looks at once when the pod changes: this annotation is such a change.
 */
const launchReleasedAnnotation = "refit.dev/launch-released";

/** Pods that wait are held in the shared cache whoever owns them: nothing else has to be watched. */
export class LaunchPriorityReconciler implements PlainReconciler {
  readonly #deps: SharedDeps;
  /** By UID, the keys that this process has written. One that starts writes once more: it does no harm. */
  readonly #released = new Map<string, ReadonlySet<string>>();

  constructor(deps: SharedDeps) {
    this.#deps = deps;
    deps.caches.pods.subscribe(({ type, object }) => {
      if (type !== "removed" && awaitsLaunch(object)) deps.queue.add(keyOf(object), "high");
      else this.#released.delete(object.uid);
    });
  }

  reconcile(key: string): PlainPass | undefined {
    const pod = this.#deps.caches.pods.get(key);
    if (pod === undefined || !awaitsLaunch(pod)) return undefined;
    const plan = planLaunch(pod);
    const { keys, completed } = plan;
    const isReleased = this.#released.get(pod.uid)?.has(keys.at(-1) ?? "") ?? false;
    const actions: Write[] = isReleased ? [] : [() => this.#release(pod, plan)];
    if (completed) {
      const annotations = { [launchCompletedAnnotation]: "true", [launchReleasedAnnotation]: null };
      actions.push(() => this.#annotate(pod, annotations));
    }
    return { actions };
  }

  async #release(pod: Pod, { keys, completed, waitsFor }: LaunchPlan): Promise<void> {
    const newest = keys.at(-1) ?? "";
    // Without a report of the kubelet nothing has been let go before, and nothing has to be enqueued.
    const fresh = pod.containerStatuses.length === 0;
    await letGo(this.#deps, pod, Object.fromEntries(keys.map((key) => [key, "true"])), fresh);
    this.#deps.log.info("containers are let go", {
      pod: keyOf(pod),
      key: newest,
      waitsFor: waitsFor.join(","),
    });
    if (!completed && !fresh) await this.#annotate(pod, { [launchReleasedAnnotation]: newest });
    this.#released.set(pod.uid, new Set(keys));
  }

  async #annotate(
    { namespace, name, uid }: Pod,
    annotations: Readonly<Record<string, string | null>>,
  ): Promise<void> {
    const { writesFor, caches, signal } = this.#deps;
    const patch = { type: "strategic", body: { metadata: { uid, annotations } } } as const;
    const options = { signal, flow: uid, priority: "high" } as const;
    caches.pods.writeBack(
      await writesFor({ namespace }).patch(podResource, { namespace, name }, patch, options),
    );
  }
}

/** Adds the keys; makes the ConfigMap where there is none. One request unless something is odd. */
async function letGo(
  deps: SharedDeps,
  pod: Pod,
  data: Record<string, string>,
  fresh: boolean,
): Promise<void> {
  const writer = deps.writesFor(pod);
  const options = { signal: deps.signal, flow: pod.uid, priority: "high" } as const;
  const place = { namespace: pod.namespace, name: barrierName(pod) };
  const create = () => writer.create(configMapResource, pod.namespace, configMapOf(pod, data), options);
  const patch = () => writer.patch(configMapResource, place, { type: "merge", body: { data } }, options);
  if (!fresh) {
    try {
      await patch();
      return;
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
    }
  }
  try {
    await create();
  } catch (error) {
    if (!isKubeError(error, "AlreadyExists")) throw error;
    if (await removeFormer(deps, pod)) await create();
    else await patch();
  }
}

/** The ConfigMap of a former pod of this name would let everything start at once; it only waits for its collection. */
async function removeFormer({ client, writesFor, log, signal }: SharedDeps, pod: Pod): Promise<boolean> {
  const place = { namespace: pod.namespace, name: barrierName(pod) };
  try {
    const { metadata } = await client.get(configMapResource, place, { signal });
    const owners = metadata.ownerReferences ?? [];
    const former = owners.some(
      ({ kind, name, uid }) => kind === "Pod" && name === pod.name && uid !== pod.uid,
    );
    if (owners.some(({ uid }) => uid === pod.uid)) return false;
    if (!former) {
      log.warn("a ConfigMap of another owner is used as it is", { pod: keyOf(pod), configMap: place.name });
      return false;
    }
    await writesFor(pod).delete(configMapResource, place, {
      signal,
      ...(metadata.uid ? { uid: metadata.uid } : {}),
    });
    return true;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return true;
    throw error;
  }
}

function configMapOf({ namespace, name, uid }: Pod, data: Record<string, string>): object {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: barrierName({ name }),
      namespace,
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid }],
    },
    data,
  };
}
