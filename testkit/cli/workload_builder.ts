import { type AnyObject, at, textAt } from "../../cli/fields.ts";

/** A CloneSet with its counters; `status` overrides them. */
export function cloneSet(
  name: string,
  options: { spec?: object; status?: object; metadata?: object } = {},
): AnyObject {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    metadata: { name, namespace: "default", uid: `uid-${name}`, generation: 1, ...options.metadata },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: name } },
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 1 },
      },
      template: podTemplate(name, "nginx:1.20"),
      ...options.spec,
    },
    status: {
      observedGeneration: 1,
      replicas: 3,
      readyReplicas: 3,
      updatedReplicas: 3,
      updatedReadyReplicas: 3,
      updateRevision: `${name}-79c667d6cb`,
      ...options.status,
    },
  };
}

export function podTemplate(app: string, image: string): object {
  return { metadata: { labels: { app } }, spec: { containers: [{ name: "nginx", image }] } };
}

export function controllerRevision(
  owner: AnyObject,
  hash: string,
  revision: number,
  image: string,
  cause?: string,
): AnyObject {
  const ownerName = owner.metadata.name ?? "";
  return {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name: `${ownerName}-${hash}`,
      namespace: "default",
      labels: { app: ownerName, "controller.kubernetes.io/hash": hash },
      annotations: cause === undefined ? {} : { "kubernetes.io/change-cause": cause },
      ownerReferences: [
        {
          apiVersion: "apps.kruise.io/v1beta1",
          kind: owner.kind ?? "",
          name: ownerName,
          uid: owner.metadata.uid ?? "",
          controller: true,
        },
      ],
    },
    revision,
    data: { spec: { template: { $patch: "replace", ...podTemplate(ownerName, image) } } },
  };
}

export function imageOf(object: AnyObject): string | undefined {
  return textAt(at(object, "spec", "template", "spec", "containers"), 0, "image");
}
