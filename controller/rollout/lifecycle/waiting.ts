/** Why a pod waits for the handlers of a lifecycle hook. Spec: inplace-update 4.10. */
import type { Pod } from "../../../kube/index.ts";
import type { Waiting } from "../writes/actions.ts";
import type { Hook } from "./lifecycle.ts";

/**
 * `on`: it waits for handlers that are to come, as at `preNormal` and after an update; `off`: for those that are on it.
 * The message names them, and the patch is what their owner would do.
 */
export function waitingForHook(
  pod: Pod,
  name: "preDelete" | "inPlaceUpdate" | "preNormal",
  hook: Hook | undefined,
  wanted: "on" | "off",
): Waiting {
  const isOn = wanted === "on";
  const labels = Object.entries(hook?.labelsHandler ?? {}).filter(
    ([key, value]) => (pod.labels[key] === value) !== isOn,
  );
  const finalizers = (hook?.finalizersHandler ?? []).filter((each) => pod.finalizers.includes(each) !== isOn);
  const handlers = [
    ...labels.map(([key, value]) => `label ${key}=${value}`),
    ...finalizers.map((each) => `finalizer ${each}`),
  ].join(", ");
  const others = pod.finalizers.filter((each) => !finalizers.includes(each));
  return {
    reason: "Hook",
    message: `pod ${pod.name} is held by the ${name} hook: ${handlers} ${isOn ? "not on it yet" : "on it"}`,
    until: isOn ? "every handler of the hook is on the pod" : "the handlers of the hook are off the pod",
    pods: [pod.name],
    podPatch: {
      metadata: {
        ...(labels.length === 0
          ? {}
          : { labels: Object.fromEntries(labels.map(([key, value]) => [key, isOn ? value : null])) }),
        ...(finalizers.length === 0 ? {} : { finalizers: isOn ? [...others, ...finalizers] : others }),
      },
    },
  };
}
