/** Tables of nodes, namespaces, services, configuration and events. */
import type { StoredObject } from "../../cluster.ts";
import { type Fields, fieldsAt, listAt, numberAt, objectsAt, textAt } from "../../json.ts";
import {
  ageColumn,
  ageOf,
  at,
  type Cell,
  column,
  nameColumn,
  type Printer,
  tableOf,
  wide,
} from "../printer.ts";
import { labelText, simple } from "./parts.ts";

const size = (object: StoredObject, ...members: readonly string[]): number =>
  members.reduce((sum, member) => sum + Object.keys(fieldsAt(object, member)).length, 0);
const nodeInfo = (name: string): Cell => {
  return (object) => textAt(object, "status", "nodeInfo", name) || "<unknown>";
};

/** Reads the core form, which both event groups are stored in. */
const events = tableOf([
  column("Last Seen", "When it happened last.", (object, now) => ageOf(lastSeen(object), now)),
  column("Type", "Normal or Warning.", at("type")),
  column("Reason", "Short reason.", at("reason")),
  column("Object", "What it is about.", (object) => aboutText(about(object))),
  column("Subobject", "Part of the object.", (object) => textAt(about(object), "fieldPath"), wide),
  column("Source", "Who reported it.", sourceText, wide),
  column("Message", "What happened.", (object) =>
    (textAt(object, "message") || textAt(object, "note")).trim(),
  ),
  column("First Seen", "When it happened first.", (object, now) => ageOf(firstSeen(object), now), wide),
  column("Count", "How often it happened.", timesSeen, wide),
  column("Name", "Name of the event.", at("metadata", "name"), { format: "name", priority: 1 }),
]);

export const clusterPrinters: Readonly<Record<string, Printer>> = {
  events,
  "events.events.k8s.io": events,
  namespaces: simple([column("Status", "Active or Terminating.", at("status", "phase"))]),
  nodes: tableOf([
    nameColumn,
    column("Status", "Whether the node takes pods.", nodeStatus),
    column("Roles", "From the labels node-role.kubernetes.io/.", nodeRoles),
    ageColumn,
    column("Version", "Of the kubelet.", at("status", "nodeInfo", "kubeletVersion")),
    column("Internal-IP", "Address inside the cluster.", (object) => address(object, "InternalIP"), wide),
    column("External-IP", "Address outside the cluster.", (object) => address(object, "ExternalIP"), wide),
    column("OS-Image", "Operating system.", nodeInfo("osImage"), wide),
    column("Kernel-Version", "Kernel.", nodeInfo("kernelVersion"), wide),
    column("Container-Runtime", "Runtime and its version.", nodeInfo("containerRuntimeVersion"), wide),
  ]),
  services: simple(
    [
      column("Type", "How the service is reached.", at("spec", "type")),
      column(
        "Cluster-IP",
        "Address inside the cluster.",
        (object) => textAt(object, "spec", "clusterIP") || "<none>",
      ),
      column("External-IP", "Address outside the cluster.", externalAddress),
      column("Port(s)", "Ports, with node ports behind a colon.", ports),
    ],
    [
      column(
        "Selector",
        "Labels of its pods.",
        (object) => labelText(fieldsAt(object, "spec", "selector")),
        wide,
      ),
    ],
  ),
  configmaps: simple([column("Data", "Number of entries.", (object) => size(object, "data", "binaryData"))]),
  secrets: simple([
    column("Type", "What the secret is for.", at("type")),
    column("Data", "Number of entries.", (object) => size(object, "data")),
  ]),
  serviceaccounts: simple([
    column("Secrets", "Number of secrets.", (object) => listAt(object, "secrets").length),
  ]),
  "leases.coordination.k8s.io": simple([
    column("Holder", "Who holds the lease.", at("spec", "holderIdentity")),
  ]),
  endpoints: simple([column("Endpoints", "Addresses with ports.", endpointsText)]),
  "endpointslices.discovery.k8s.io": simple([
    column("AddressType", "Family of the addresses.", at("addressType")),
    column("Ports", "Ports of the endpoints.", (object) => {
      const numbers = objectsAt(object, "ports").map((port) => String(numberAt(port, "port") ?? "*"));
      return numbers.join(",") || "<unset>";
    }),
    column("Endpoints", "Addresses.", (object) => {
      const addresses = objectsAt(object, "endpoints").flatMap((one) => listAt(one, "addresses").map(String));
      return addresses.length === 0 ? "<unset>" : shortened(addresses);
    }),
  ]),
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

function endpointsText(endpoints: StoredObject): string {
  const found = objectsAt(endpoints, "subsets").flatMap((subset) => {
    const numbers = objectsAt(subset, "ports").map((port) => numberAt(port, "port") ?? 0);
    return objectsAt(subset, "addresses").flatMap((one) =>
      numbers.length === 0 ? [textAt(one, "ip")] : numbers.map((number) => `${textAt(one, "ip")}:${number}`),
    );
  });
  return shortened(found);
}

function shortened(texts: readonly string[]): string {
  if (texts.length === 0) return "<none>";
  return texts.length > 3 ? `${texts.slice(0, 3).join(",")} + ${texts.length - 3} more...` : texts.join(",");
}

function firstSeen(event: StoredObject): string {
  return (
    textAt(event, "firstTimestamp") ||
    textAt(event, "deprecatedFirstTimestamp") ||
    textAt(event, "eventTime") ||
    textAt(event, "metadata", "creationTimestamp")
  );
}

function lastSeen(event: StoredObject): string {
  return (
    textAt(event, "series", "lastObservedTime") ||
    textAt(event, "lastTimestamp") ||
    textAt(event, "deprecatedLastTimestamp") ||
    firstSeen(event)
  );
}

function timesSeen(event: StoredObject): number {
  return (
    numberAt(event, "series", "count") ?? numberAt(event, "count") ?? numberAt(event, "deprecatedCount") ?? 1
  );
}

function about(event: StoredObject): Fields {
  return "regarding" in event ? fieldsAt(event, "regarding") : fieldsAt(event, "involvedObject");
}

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
