/** Keeps an index of roles and bindings up with what is stored. */
import type { Registry } from "../resources/registry.ts";
import type { Revision } from "../revision.ts";
import { RoleIndex } from "./role_index.ts";

const group = "rbac.authorization.k8s.io";

export function watchedRoles(registry: Registry): RoleIndex {
  const index = new RoleIndex();
  const follow = (
    plural: string,
    set: (revision: Revision) => void,
    remove: (revision: Revision) => void,
  ): void => {
    registry.known(`${plural}.${group}`).table.subscribe({
      onChange: ({ type, current }) => (type === "DELETED" ? remove(current) : set(current)),
    });
  };
  for (const plural of ["roles", "clusterroles"]) {
    follow(
      plural,
      ({ namespace, name, object }) => index.setRole(namespace, name, object),
      ({ namespace, name }) => index.deleteRole(namespace, name),
    );
  }
  for (const plural of ["rolebindings", "clusterrolebindings"]) {
    follow(
      plural,
      ({ namespace, name, object }) => index.setBinding(namespace, name, object),
      ({ namespace, name }) => index.deleteBinding(namespace, name),
    );
  }
  return index;
}
