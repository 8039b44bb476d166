/** Who owns an object. */
import type { KubeObject, OwnerReference } from "../kube/core/index.ts";
import { GROUP } from "./resource.ts";

export type Owners = readonly OwnerReference[] | undefined;

export function ownersOf({ metadata }: KubeObject): Owners {
  return metadata.ownerReferences;
}

/** The controlling owner if it is of this kind; by group and kind, whatever the version. */
export function controllerOfKind(owners: Owners, kind: string): OwnerReference | undefined {
  const owner = owners?.find((each) => each.controller);
  return owner?.kind === kind && owner.apiVersion.split("/")[0] === GROUP ? owner : undefined;
}
