/** Storage classes as admission asks for them: by name, or the default of the cluster. */
import type { FoundStorageClass } from "../../crds/index.ts";
import type { KubeObject } from "../../kube/core/index.ts";
import { ignoreNotFound, jsonResource, type ReadingClient } from "../../kube/index.ts";

interface StorageClass extends KubeObject {
  allowVolumeExpansion?: boolean;
}

const storageClassResource = jsonResource<StorageClass>({
  group: "storage.k8s.io",
  version: "v1",
  plural: "storageclasses",
  kind: "StorageClass",
  namespaced: false,
});

const DEFAULT = "storageclass.kubernetes.io/is-default-class";

/** The newest default class for undefined, as the API server takes it for new claims; undefined when there is none. */
export async function lookupStorageClass(
  client: ReadingClient,
  name: string | undefined,
): Promise<FoundStorageClass | undefined> {
  if (name === undefined) return found(newestDefault((await client.list(storageClassResource, {})).items));
  return found(await client.get(storageClassResource, { name }).catch(ignoreNotFound));
}

function newestDefault(classes: readonly StorageClass[]): StorageClass | undefined {
  const createdAt = ({ metadata }: StorageClass) => Date.parse(metadata.creationTimestamp ?? "") || 0;
  return classes
    .filter(({ metadata }) => metadata.annotations?.[DEFAULT] === "true")
    .sort((a, b) => createdAt(b) - createdAt(a))
    .at(0);
}

function found(object: StorageClass | undefined): FoundStorageClass | undefined {
  if (object === undefined) return undefined;
  return { name: object.metadata.name ?? "", allowVolumeExpansion: object.allowVolumeExpansion };
}
