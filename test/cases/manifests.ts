/** Builds CloneSet manifests and patches of either version from one description. */
import type { ApiVersion } from "./step_result.ts";

export type Policy = "ReCreate" | "InPlaceIfPossible" | "InPlaceOnly";

export interface Strategy {
  policy?: Policy;
  partition?: number | string;
  maxUnavailable?: number | string;
  maxSurge?: number | string;
  paused?: boolean;
  priorityStrategy?: object;
  scatterStrategy?: object[];
  inPlaceUpdateStrategy?: object;
}

export interface CloneSetShape {
  name: string;
  replicas?: number;
  /** Labels of the selector and of the template; default `case: <name>`. */
  labels?: Record<string, string>;
  selector?: object;
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  templateMetadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  containers?: object[];
  podSpec?: object;
  strategy?: Strategy;
  /** Keep claims of vanished pods; absent: the version's default. */
  reuse?: boolean;
  scaleStrategy?: object;
  /** Further fields of `spec`, equal in both versions. */
  more?: object;
}

export function container(name: string, image: string, more: object = {}): object {
  return { name, image, imagePullPolicy: "IfNotPresent", ...more };
}

/** A container that sleeps, for images of busybox. */
export function sleeper(name: string, image: string, more: object = {}): object {
  return container(name, image, { command: ["sleep", "86400"], ...more });
}

export interface PodShape {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Default: one, which is called `app`. */
  readonly containers?: readonly object[];
  /** Further fields of `spec`. */
  readonly spec?: object;
}

/** A pod without an owner. */
export function podOf(name: string, shape: PodShape = {}): object {
  const { labels = {}, annotations = {}, containers = [container("app", "nginx:1.20")], spec } = shape;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels, annotations },
    spec: { terminationGracePeriodSeconds: 1, containers, ...spec },
  };
}

export interface NativeShape {
  /** Labels of the selector and of the template; default `case: <name>`. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata?: object;
  /** Default: one, which is called `app`. */
  readonly containers?: readonly object[];
  readonly podSpec?: object;
  /** Further fields of `spec`. */
  readonly more?: object;
}

/** A workload of the built-in groups, or of a kind that has the same shape. */
export function nativeWorkload(
  apiVersion: string,
  kind: string,
  name: string,
  shape: NativeShape = {},
): object {
  const { labels = { case: name }, metadata, containers = [container("app", "nginx:1.20")] } = shape;
  return {
    apiVersion,
    kind,
    metadata: { name, ...metadata },
    spec: {
      // Of a Job the API server makes one up.
      ...(kind === "Job" ? {} : { selector: { matchLabels: labels } }),
      template: {
        metadata: { labels },
        spec: { terminationGracePeriodSeconds: 1, containers, ...shape.podSpec },
      },
      ...shape.more,
    },
  };
}

export function configMap(name: string, data: Readonly<Record<string, string>>): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

export function cloneSet(version: ApiVersion, shape: CloneSetShape): object {
  const labels = shape.labels ?? { case: shape.name };
  const scaleStrategy = { ...reuseField(version, shape.reuse), ...shape.scaleStrategy };
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "CloneSet",
    metadata: { name: shape.name, ...shape.metadata },
    spec: {
      replicas: shape.replicas ?? 1,
      selector: shape.selector ?? { matchLabels: labels },
      ...(shape.strategy === undefined ? {} : { updateStrategy: strategyOf(version, shape.strategy) }),
      ...(Object.keys(scaleStrategy).length === 0 ? {} : { scaleStrategy }),
      template: {
        metadata: {
          labels: { ...labels, ...shape.templateMetadata?.labels },
          ...(shape.templateMetadata?.annotations === undefined
            ? {}
            : { annotations: shape.templateMetadata.annotations }),
        },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: shape.containers ?? [container("nginx", "nginx:1.20")],
          ...shape.podSpec,
        },
      },
      ...shape.more,
    },
  };
}

function reuseField(version: ApiVersion, reuse: boolean | undefined): object {
  if (reuse === undefined) return {};
  return version === "v1alpha1" ? { disablePVCReuse: !reuse } : { enablePVCReuse: reuse };
}

function strategyOf(version: ApiVersion, { policy, ...fields }: Strategy): object {
  if (version === "v1alpha1") return { ...(policy === undefined ? {} : { type: policy }), ...fields };
  return {
    type: "RollingUpdate",
    rollingUpdate: { ...(policy === undefined ? {} : { podUpdatePolicy: policy }), ...fields },
  };
}

/** Merge patch of the strategy's fields. */
export function strategyPatch(
  version: ApiVersion,
  fields: Omit<Strategy, "policy">,
): { spec: { updateStrategy: object } } {
  return { spec: { updateStrategy: version === "v1alpha1" ? fields : { rollingUpdate: fields } } };
}

/** JSON patch of one field that is there. */
export function replacePatch(path: string, value: unknown): object[] {
  return [{ op: "replace", path, value }];
}

/** JSON patch of one container's image. */
export function imagePatch(image: string, index = 0): object[] {
  return replacePatch(`/spec/template/spec/containers/${index}/image`, image);
}

/** JSON patch that adds an environment to the first container, which no update in place can do. */
export function environmentPatch(env: readonly object[] = [{ name: "A", value: "1" }]): object[] {
  return [{ op: "add", path: "/spec/template/spec/containers/0/env", value: env }];
}

export function claimTemplate(name: string, storageClassName: string, storage = "1Gi"): object {
  return {
    metadata: { name },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName,
      resources: { requests: { storage } },
    },
  };
}

/** Where nodes make the folders of volumes. */
export const volumeFolder = "/tmp/refit-case-volumes";

/** Host folders as volumes, named so that two runs never share one. */
export function volumes(prefix: string, storageClassName: string, count: number, storage = "1Gi"): object[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `${prefix}-${index + 1}` },
    spec: {
      capacity: { storage },
      accessModes: ["ReadWriteOnce"],
      storageClassName,
      hostPath: { path: `${volumeFolder}/${prefix}-${index + 1}`, type: "DirectoryOrCreate" },
    },
  }));
}
