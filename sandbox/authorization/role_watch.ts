/** Keeps an index of roles and bindings up with what is stored. */
import type { Registry } from "../resources/registry.ts";
import { RoleIndex } from "./role_index.ts";

const group = "rbac.authorization.k8s.io";

export function watchedRoles(registry: Registry): RoleIndex {
  const index = new RoleIndex();
  for (const plural of ["roles", "clusterroles"]) {
    registry.known(`${plural}.${group}`).table.subscribe({
      onChange({ type, current: { namespace, name, object } }) {
        if (type === "DELETED") index.deleteRole(namespace, name);
        else index.setRole(namespace, name, object);
      },
    });
  }
  for (const plural of ["rolebindings", "clusterrolebindings"]) {
    registry.known(`${plural}.${group}`).table.subscribe({
      onChange({ type, current: { namespace, name, object } }) {
        if (type === "DELETED") index.deleteBinding(namespace, name);
        else index.setBinding(namespace, name, object);
      },
    });
  }
  return index;
}
