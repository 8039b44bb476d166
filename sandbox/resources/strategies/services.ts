/** Services: allocation of cluster addresses and the defaults that everybody reads. */
import { type FieldError, invalid } from "../../../kube/core/index.ts";
import type { StoredObject } from "../../cluster.ts";
import { fieldsAt, objectsAt, setAt, textAt } from "../../json.ts";
import type { Strategy, WriteContext } from "../resource.ts";

/** 10.96.0.0/16, as a cluster made by kubeadm has it; the first address is the API server's. */
const prefix = "10.96";

function freeAddress(context: WriteContext): string {
  const used = new Set<string>();
  for (const service of context.list("services")) used.add(textAt(service, "spec", "clusterIP"));
  for (;;) {
    const number = 2 + Math.floor(context.random() * 65_000);
    const address = `${prefix}.${number >> 8}.${number & 255}`;
    if (!used.has(address)) return address;
  }
}

function defaultService(draft: StoredObject): void {
  const spec = fieldsAt(draft, "spec");
  draft["spec"] = spec;
  spec["type"] ??= "ClusterIP";
  spec["sessionAffinity"] ??= "None";
  if (spec["type"] !== "ExternalName") {
    spec["internalTrafficPolicy"] ??= "Cluster";
    spec["ipFamilies"] ??= ["IPv4"];
    spec["ipFamilyPolicy"] ??= "SingleStack";
  }
  if (spec["type"] === "NodePort" || spec["type"] === "LoadBalancer")
    spec["externalTrafficPolicy"] ??= "Cluster";
  if (spec["type"] === "LoadBalancer") spec["allocateLoadBalancerNodePorts"] ??= true;
  for (const port of objectsAt(spec, "ports")) {
    port["protocol"] ??= "TCP";
    port["targetPort"] ??= port["port"];
  }
}

function allocate(draft: StoredObject, context: WriteContext): void {
  const spec = fieldsAt(draft, "spec");
  if (spec["type"] === "ExternalName") return;
  if (textAt(spec, "clusterIP") === "") spec["clusterIP"] = freeAddress(context);
  spec["clusterIPs"] = [spec["clusterIP"]];
  if (spec["type"] === "NodePort" || spec["type"] === "LoadBalancer") {
    for (const port of objectsAt(spec, "ports"))
      port["nodePort"] ??= 30_000 + Math.floor(context.random() * 2768);
  }
}

function validateServiceUpdate(object: StoredObject, stored: StoredObject): FieldError[] {
  const before = textAt(stored, "spec", "clusterIP");
  const after = textAt(object, "spec", "clusterIP");
  const external =
    textAt(object, "spec", "type") === "ExternalName" || textAt(stored, "spec", "type") === "ExternalName";
  if (before === after || external) return [];
  return [invalid("spec.clusterIPs[0]", [after], "may not change once set")];
}

export const serviceRules: Readonly<Record<string, Partial<Strategy>>> = {
  services: {
    defaults: defaultService,
    prepareCreate(draft, context) {
      allocate(draft, context);
      draft["status"] = { loadBalancer: {} };
    },
    prepareUpdate(draft, stored, context) {
      if (textAt(draft, "spec", "clusterIP") === "" && textAt(draft, "spec", "type") !== "ExternalName") {
        setAt(draft, ["spec", "clusterIP"], textAt(stored, "spec", "clusterIP"));
      }
      allocate(draft, context);
    },
    validateUpdate: validateServiceUpdate,
  },
};
