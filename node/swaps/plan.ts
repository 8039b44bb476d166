/** Which containers the agent swaps, and when their kubelet lets it. Pure. docs/direct-swap.md. */
import type { AgentPod } from "../pod.ts";

/** On a pod, usually from its workload's template: `"true"` asks for direct swaps. */
export const swapAnnotation = "agent.refit/direct-swap";

/** Containers whose image changed and that the agent may swap. Pure. */
export function swapsOf(before: AgentPod, after: AgentPod): { name: string; lastImage: string }[] {
  if (after.annotations[swapAnnotation] !== "true" || after.deleting || before.uid !== after.uid) return [];
  // Without generations it is not known when the kubelet has the new spec, and until then it undoes the swap.
  if (after.generation === 0) return [];
  return after.containers.flatMap((container) => {
    const old = before.containers.find((one) => one.name === container.name);
    if (!old || old.image === container.image) return [];
    // The kubelet runs the hook when it stops the container: it must not run twice.
    return container.preStop ? [] : [{ name: container.name, lastImage: old.image }];
  });
}

/** What the pod says of the kubelet; undefined: it does not know yet that this container has a new image. */
export function kubeletEvidence(
  pod: AgentPod | undefined,
  name: string,
  image: string,
): "reported" | "none" | undefined {
  if (!pod || pod.deleting || imageOf(pod, name) !== image) return "none";
  return pod.observedGeneration >= pod.generation ? "reported" : undefined;
}

export function imageOf(pod: AgentPod | undefined, name: string): string | undefined {
  return pod?.containers.find((one) => one.name === name)?.image;
}
