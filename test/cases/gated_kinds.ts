/** Kinds whose gates are off unless they are switched on, with objects that do nothing. */
import type { World } from "./world.ts";

const nowhere = { matchLabels: { "case/no-such-label": "true" } };
const completionPolicy = { type: "Always" };

interface GatedObject {
  readonly resource: string;
  readonly kind: string;
  readonly gate: string;
  readonly spec: object;
  /** What the row shows without name and age with the gate on. */
  readonly row: RegExp;
  readonly isClusterScoped?: true;
}

export const gatedObjects: readonly GatedObject[] = [
  {
    resource: "imagepulljobs.v1beta1.apps.kruise.io",
    kind: "ImagePullJob",
    gate: "ImagePullJobGate",
    spec: { image: "busybox:1.35", selector: nowhere, completionPolicy },
    row: /^(0 0 0 0)?$/,
  },
  {
    resource: "imagelistpulljobs.v1beta1.apps.kruise.io",
    kind: "ImageListPullJob",
    gate: "ImagePullJobGate",
    spec: { images: ["busybox:1.35", "nginx:1.20"], selector: nowhere, completionPolicy },
    row: /^2 2 2$/,
  },
  {
    resource: "resourcedistributions.v1beta1.apps.kruise.io",
    kind: "ResourceDistribution",
    gate: "ResourceDistributionGate",
    spec: {
      resource: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "gated" }, data: { key: "value" } },
      targets: {},
    },
    row: /^(0 0 0)?$/,
    isClusterScoped: true,
  },
];

/** What has no namespace has a name of its own in every run. */
export function nameOf({ isClusterScoped }: GatedObject, world: World): string {
  return isClusterScoped ? `gated-${world.namespace.split("-").at(-1)}` : "gated";
}

export function manifestOf(gated: GatedObject, world: World): object {
  const [, version = "", ...group] = gated.resource.split(".");
  const { kind, spec } = gated;
  return {
    apiVersion: `${group.join(".")}/${version}`,
    kind,
    metadata: { name: nameOf(gated, world) },
    spec,
  };
}
