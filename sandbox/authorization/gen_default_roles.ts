/**
 * Writes gen/default_roles.json from the roles and bindings that a real API server makes at its first start. Run by hand
 * with KUBECONFIG set when the version changes: `node sandbox/authorization/gen_default_roles.ts`.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fieldsAt, objectsAt, textAt, valueAt } from "../json.ts";

/** Those of people and of add-ons. Parts of the control plane have no accounts here: they run inside the sandbox. */
const kept = [
  "cluster-admin",
  "admin",
  "edit",
  "view",
  "system:aggregate-to-admin",
  "system:aggregate-to-edit",
  "system:aggregate-to-view",
  "system:auth-delegator",
  "system:basic-user",
  "system:discovery",
  "system:kubelet-api-admin",
  "system:monitoring",
  "system:node",
  "system:persistent-volume-provisioner",
  "system:public-info-viewer",
  "system:service-account-issuer-discovery",
];
const keptInNamespaces = ["kube-system/extension-apiserver-authentication-reader"];

const plurals = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

function defaults(plural: string): object[] {
  const path = `/apis/rbac.authorization.k8s.io/v1/${plural}?labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults`;
  const list: unknown = JSON.parse(execFileSync("kubectl", ["get", "--raw", path]).toString());
  return objectsAt(list, "items").flatMap((item) => {
    const { name, namespace } = {
      name: textAt(item, "metadata", "name"),
      namespace: textAt(item, "metadata", "namespace"),
    };
    const isKept = namespace === "" ? kept.includes(name) : keptInNamespaces.includes(`${namespace}/${name}`);
    if (!isKept) return [];
    const { metadata: _metadata, ...rest } = item;
    // What aggregated roles hold follows from the others.
    if (valueAt(item, "aggregationRule") !== undefined) delete rest["rules"];
    const metadata = {
      name,
      ...(namespace === "" ? {} : { namespace }),
      labels: fieldsAt(item, "metadata", "labels"),
      annotations: fieldsAt(item, "metadata", "annotations"),
    };
    return [{ metadata, ...rest }];
  });
}

const file = new URL("./gen/default_roles.json", import.meta.url);
const found = Object.fromEntries(plurals.map((plural) => [plural, defaults(plural)]));
writeFileSync(file, `${JSON.stringify(found)}\n`);
