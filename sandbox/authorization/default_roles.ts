/** The roles and bindings that every cluster has from its first start. */
import type { Cluster } from "../cluster.ts";
import { asObject } from "../json.ts";
import defaults from "./gen/default_roles.json" with { type: "json" };

export function createDefaultRoles(cluster: Cluster): void {
  for (const [plural, objects] of Object.entries(defaults)) {
    for (const entry of objects) {
      const object = asObject(structuredClone(entry));
      if (object !== undefined) cluster.create(`${plural}.rbac.authorization.k8s.io`, object);
    }
  }
}
