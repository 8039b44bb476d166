/** Who is told, and how often, that an object cannot be worked with. */
import type { KubeObject } from "../kube/core/index.ts";
import { type EventRecorder, isKubeError, type Outcome } from "../kube/index.ts";
import type { Kind, KindDeps } from "./kind.ts";

type Reconcile = (key: string) => Promise<Outcome>;

/**
 * An object that a plan cannot work with (stored before an upgrade, edited around admission) is told about
 * once a generation by an event on itself; all others go on.
 */
export function tellingFailedPlans<T extends KubeObject>(
  kind: Pick<Kind<T>, "resource">,
  { objects, recorder }: Pick<KindDeps<T>, "objects" | "recorder">,
  reconcile: Reconcile,
): Reconcile {
  /** Generation by key; whatever is here is tried again, which ends with its success or its removal. */
  const told = new Map<string, number>();
  return async (key) => {
    try {
      const outcome = await reconcile(key);
      told.delete(key);
      return outcome;
    } catch (error) {
      // What the server refused is tried again; that is no matter of the object.
      if (isKubeError(error)) throw error;
      const object = objects.get(key);
      const generation = object?.metadata.generation ?? 0;
      if (object !== undefined && told.get(key) !== generation) {
        told.set(key, generation);
        tell(recorder, kind, object, error);
      }
      throw error;
    }
  };
}

function tell<T extends KubeObject>(
  recorder: EventRecorder,
  { resource }: Pick<Kind<T>, "resource">,
  { metadata }: T,
  error: unknown,
): void {
  const { group, version, kind } = resource;
  const reason = error instanceof Error ? error.message : String(error);
  recorder.event(
    {
      apiVersion: `${group}/${version}`,
      kind,
      ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
      name: metadata.name ?? "",
      uid: metadata.uid ?? "",
      resourceVersion: metadata.resourceVersion ?? "",
    },
    "Warning",
    "FailedReconcile",
    `${kind} cannot be reconciled: ${reason}`,
  );
}
