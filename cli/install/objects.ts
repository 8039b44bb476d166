/** How objects of an installation are written down. */
import type { PolicyRule } from "../../controller/index.ts";
import { type AnyObject, toAnyObject } from "../fields.ts";

const rbac = "rbac.authorization.k8s.io";

export interface Account {
  readonly name: string;
  readonly namespace: string;
}

export function object(apiVersion: string, kind: string, metadata: object, rest: object = {}): AnyObject {
  return toAnyObject({ apiVersion, kind, metadata, ...rest });
}

/** The role `<name>-role` and its binding to the account: in one namespace, or, without `place`, in the whole cluster. */
export function roleOf(
  account: Account,
  name: string,
  rules: readonly PolicyRule[],
  place?: string,
): AnyObject[] {
  const kind = place === undefined ? "ClusterRole" : "Role";
  const scope = place === undefined ? {} : { namespace: place };
  const roleRef = { apiGroup: rbac, kind, name: `${name}-role` };
  const subjects = [{ kind: "ServiceAccount", ...account }];
  const bound = { name: `${name}-rolebinding`, ...scope };
  return [
    object(`${rbac}/v1`, kind, { name: `${name}-role`, ...scope }, { rules }),
    object(`${rbac}/v1`, `${kind}Binding`, bound, { roleRef, subjects }),
  ];
}
