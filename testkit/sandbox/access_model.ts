/** Access by roles as its definition has it: every binding and every rule is looked at for every question. */
import type { Attributes } from "../../sandbox/authorization/attributes.ts";
import type { StoredObject } from "../../sandbox/cluster.ts";
import { listAt, objectsAt, textAt } from "../../sandbox/json.ts";

export interface Roles {
  readonly roles: readonly StoredObject[];
  readonly bindings: readonly StoredObject[];
}

/** Whether any rule of any role that is bound to the user allows the request. */
export function modelAllows({ roles, bindings }: Roles, attributes: Attributes): boolean {
  const { user, verb } = attributes;
  if (user.groups.includes("system:masters")) return true;
  if (!("resource" in attributes) && /^\/(healthz|livez|readyz)$/.test(attributes.path)) return true;
  return bindings.some((binding) => {
    const place = binding.metadata.namespace ?? "";
    if (place !== "" && !("resource" in attributes && attributes.namespace === place)) return false;
    if (!objectsAt(binding, "subjects").some((subject) => means(subject, place, attributes))) return false;
    const kind = textAt(binding, "roleRef", "kind");
    const bound = roles.filter(
      (role) =>
        role.kind === kind &&
        role.metadata.name === textAt(binding, "roleRef", "name") &&
        (kind === "ClusterRole" || role.metadata.namespace === place),
    );
    return bound
      .flatMap((role) => objectsAt(role, "rules"))
      .some((rule) => {
        const has = (list: string, ...wanted: readonly string[]): boolean =>
          listAt(rule, list).some((item) => item === "*" || wanted.includes(String(item)));
        if (!has("verbs", verb)) return false;
        if (!("resource" in attributes)) {
          return listAt(rule, "nonResourceURLs").some((pattern) => fits(String(pattern), attributes.path));
        }
        const { group, resource, subresource, name } = attributes;
        const names = listAt(rule, "resourceNames");
        const wanted = subresource === "" ? [resource] : [`${resource}/${subresource}`, `*/${subresource}`];
        return (
          has("apiGroups", group) &&
          has("resources", ...wanted) &&
          (names.length === 0 || names.includes(name))
        );
      });
  });
}

function means(subject: unknown, place: string, { user }: Attributes): boolean {
  const name = textAt(subject, "name");
  switch (textAt(subject, "kind")) {
    case "User":
      return user.username === name;
    case "Group":
      return user.groups.includes(name);
    case "ServiceAccount": {
      const namespace = textAt(subject, "namespace") || place;
      return namespace !== "" && user.username === `system:serviceaccount:${namespace}:${name}`;
    }
    default:
      return false;
  }
}

function fits(pattern: string, path: string): boolean {
  return pattern.endsWith("*") ? path.startsWith(pattern.replace(/\*+$/, "")) : pattern === path;
}
