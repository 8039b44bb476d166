/** Pods as the API writes them. */
import type { KubeObject, Labels } from "../../kube/index.ts";

export function pod(name: string, labels: Labels, more: object = {}): KubeObject & Record<string, unknown> {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "ns", uid: `uid-${name}`, labels },
    ...more,
  };
}
