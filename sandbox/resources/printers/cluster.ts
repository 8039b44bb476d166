/** Tables of nodes, namespaces, services, configuration and events. */
import type { StoredObject } from "../../cluster.ts";
import { type Fields, fieldsAt, listAt, numberAt, objectsAt, textAt } from "../../json.ts";
import { ageColumn, ageOf, ageOfObject, column, nameColumn, type Printer } from "../printer.ts";
import { labelText, simple } from "./parts.ts";

const wide = { priority: 1 };

export const namespacePrinter = simple([column("Status", "Active or Terminating.")], (object) => [
  textAt(object, "status", "phase"),
]);

export const nodePrinter: Printer = {
  columns: [
    nameColumn,
    column("Status", "Whether the node takes pods."),
    column("Roles", "From the labels node-role.kubernetes.io/."),
    ageColumn,
    column("Version", "Of the kubelet."),
    column("Internal-IP", "Address inside the cluster.", wide),
    column("External-IP", "Address outside the cluster.", wide),
    column("OS-Image", "Operating system.", wide),
    column("Kernel-Version", "Kernel.", wide),
    column("Container-Runtime", "Runtime and its version.", wide),
  ],
  row: (object, now) => [
    object.metadata.name ?? "",
    nodeStatus(object),
    nodeRoles(object),
    ageOfObject(object, now),
    textAt(object, "status", "nodeInfo", "kubeletVersion"),
    address(object, "InternalIP"),
    address(object, "ExternalIP"),
    textAt(object, "status", "nodeInfo", "osImage") || "<unknown>",
    textAt(object, "status", "nodeInfo", "kernelVersion") || "<unknown>",
    textAt(object, "status", "nodeInfo", "containerRuntimeVersion") || "<unknown>",
  ],
};

function nodeStatus(node: StoredObject): string {
  const ready = objectsAt(node, "status", "conditions").find((one) => one["type"] === "Ready");
  const status = ready === undefined ? "Unknown" : ready["status"] === "True" ? "Ready" : "NotReady";
  return fieldsAt(node, "spec")["unschedulable"] === true ? `${status},SchedulingDisabled` : status;
}

function nodeRoles(node: StoredObject): string {
  const prefix = "node-role.kubernetes.io/";
  const roles = Object.keys(node.metadata.labels ?? {})
    .filter((key) => key.startsWith(prefix) && key.length > prefix.length)
    .map((key) => key.slice(prefix.length));
  return roles.length === 0 ? "<none>" : roles.sort().join(",");
}

function address(node: StoredObject, type: string): string {
  const found = objectsAt(node, "status", "addresses").find((one) => one["type"] === type);
  return found === undefined ? "<none>" : textAt(found, "address");
}

export const servicePrinter: Printer = {
  columns: [
    nameColumn,
    column("Type", "How the service is reached."),
    column("Cluster-IP", "Address inside the cluster."),
    column("External-IP", "Address outside the cluster."),
    column("Port(s)", "Ports, with node ports behind a colon."),
    ageColumn,
    column("Selector", "Labels of its pods.", wide),
  ],
  row: (object, now) => [
    object.metadata.name ?? "",
    textAt(object, "spec", "type"),
    textAt(object, "spec", "clusterIP") || "<none>",
    externalAddress(object),
    ports(object),
    ageOfObject(object, now),
    labelText(fieldsAt(object, "spec", "selector")),
  ],
};

function externalAddress(service: StoredObject): string {
  switch (textAt(service, "spec", "type")) {
    case "ExternalName":
      return textAt(service, "spec", "externalName");
    case "LoadBalancer": {
      const given = objectsAt(service, "status", "loadBalancer", "ingress").map(
        (one) => textAt(one, "ip") || textAt(one, "hostname"),
      );
      return given.length === 0 ? "<pending>" : given.join(",");
    }
    default: {
      const external = listAt(service, "spec", "externalIPs");
      return external.length === 0 ? "<none>" : external.join(",");
    }
  }
}

function ports(service: StoredObject): string {
  const texts = objectsAt(service, "spec", "ports").map((port) => {
    const node = numberAt(port, "nodePort") ?? 0;
    const number = numberAt(port, "port") ?? 0;
    return `${number}${node === 0 ? "" : `:${node}`}/${textAt(port, "protocol")}`;
  });
  return texts.length === 0 ? "<none>" : texts.join(",");
}

const size = (object: StoredObject, ...members: readonly string[]): number =>
  members.reduce((sum, member) => sum + Object.keys(fieldsAt(object, member)).length, 0);

export const configMapPrinter = simple([column("Data", "Number of entries.")], (object) => [
  size(object, "data", "binaryData"),
]);

export const secretPrinter = simple(
  [column("Type", "What the secret is for."), column("Data", "Number of entries.")],
  (object) => [textAt(object, "type"), size(object, "data")],
);

export const serviceAccountPrinter = simple([column("Secrets", "Number of secrets.")], (object) => [
  listAt(object, "secrets").length,
]);

export const leasePrinter = simple([column("Holder", "Who holds the lease.")], (object) => [
  textAt(object, "spec", "holderIdentity"),
]);

export const endpointsPrinter = simple([column("Endpoints", "Addresses with ports.")], (object) => {
  const found = objectsAt(object, "subsets").flatMap((subset) => {
    const numbers = objectsAt(subset, "ports").map((port) => numberAt(port, "port") ?? 0);
    return objectsAt(subset, "addresses").flatMap((one) =>
      numbers.length === 0 ? [textAt(one, "ip")] : numbers.map((number) => `${textAt(one, "ip")}:${number}`),
    );
  });
  return [shortened(found)];
});

function shortened(texts: readonly string[]): string {
  if (texts.length === 0) return "<none>";
  return texts.length > 3 ? `${texts.slice(0, 3).join(",")} + ${texts.length - 3} more...` : texts.join(",");
}

export const endpointSlicePrinter = simple(
  [
    column("AddressType", "Family of the addresses."),
    column("Ports", "Ports of the endpoints."),
    column("Endpoints", "Addresses."),
  ],
  (object) => {
    const numbers = objectsAt(object, "ports").map((port) => String(numberAt(port, "port") ?? "*"));
    const addresses = objectsAt(object, "endpoints").flatMap((one) => listAt(one, "addresses").map(String));
    return [
      textAt(object, "addressType"),
      numbers.length === 0 ? "<unset>" : numbers.join(","),
      addresses.length === 0 ? "<unset>" : shortened(addresses),
    ];
  },
);

/** Reads the core form, which both event groups are stored in. */
export const eventPrinter: Printer = {
  columns: [
    column("Last Seen", "When it happened last."),
    column("Type", "Normal or Warning."),
    column("Reason", "Short reason."),
    column("Object", "What it is about."),
    column("Subobject", "Part of the object.", wide),
    column("Source", "Who reported it.", wide),
    column("Message", "What happened."),
    column("First Seen", "When it happened first.", wide),
    column("Count", "How often it happened.", wide),
    column("Name", "Name of the event.", { format: "name", priority: 1 }),
  ],
  row(object, now) {
    const eventTime = textAt(object, "eventTime");
    const created = textAt(object, "metadata", "creationTimestamp");
    const first =
      textAt(object, "firstTimestamp") || textAt(object, "deprecatedFirstTimestamp") || eventTime || created;
    const last =
      textAt(object, "series", "lastObservedTime") ||
      textAt(object, "lastTimestamp") ||
      textAt(object, "deprecatedLastTimestamp") ||
      first;
    const about = "regarding" in object ? fieldsAt(object, "regarding") : fieldsAt(object, "involvedObject");
    return [
      ageOf(last, now),
      textAt(object, "type"),
      textAt(object, "reason"),
      aboutText(about),
      textAt(about, "fieldPath"),
      sourceText(object),
      (textAt(object, "message") || textAt(object, "note")).trim(),
      ageOf(first, now),
      numberAt(object, "series", "count") ??
        numberAt(object, "count") ??
        numberAt(object, "deprecatedCount") ??
        1,
      object.metadata.name ?? "",
    ];
  },
};

function aboutText(about: Fields): string {
  const kind = textAt(about, "kind").toLowerCase();
  const name = textAt(about, "name");
  return name === "" ? kind : `${kind}/${name}`;
}

function sourceText(event: StoredObject): string {
  const source = fieldsAt(event, "source");
  const component =
    textAt(source, "component") ||
    textAt(event, "reportingComponent") ||
    textAt(event, "reportingController");
  const host = textAt(source, "host") || textAt(event, "reportingInstance");
  return host === "" ? component : `${component}, ${host}`;
}
