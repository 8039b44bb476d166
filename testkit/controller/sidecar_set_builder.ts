/** SidecarSets of the usual size, for measurements of what they cost new pods. */
import type { SidecarSet } from "../../crds/index.ts";

/** Label of pods: which of the sets select them. */
export const wantsSidecars = "refit.dev/sidecars";

/**
 * One of many, in namespaces with the labels that it has itself: number 0 selects pods that want `one` or `all`, the others
 * those that want `all`.
 */
export function sidecarSetOfMany(
  name: string,
  index: number,
  labels: Record<string, string>,
): Omit<SidecarSet, "status"> {
  const values = index === 0 ? ["one", "all"] : ["all"];
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "SidecarSet",
    metadata: { name, labels },
    spec: {
      selector: { matchExpressions: [{ key: wantsSidecars, operator: "In", values }] },
      namespaceSelector: { matchLabels: labels },
      containers: [
        {
          name: `sidecar-${index}`,
          image: "registry.example/sidecar:1",
          shareVolumePolicy: { type: "enabled" },
          transferEnv: [{ sourceContainerName: "main", envNames: ["VARIABLE_1", "VARIABLE_2"] }],
          env: Array.from({ length: 5 }, (_, nth) => ({ name: `SIDECAR_${nth}`, value: `value ${nth}` })),
          resources: { limits: { cpu: "200m", memory: "128Mi" }, requests: { cpu: "50m", memory: "64Mi" } },
          volumeMounts: [{ name: `log-${index}`, mountPath: `/var/log/sidecar-${index}` }],
        },
      ],
      volumes: [{ name: `log-${index}`, emptyDir: {} }],
    },
  };
}
