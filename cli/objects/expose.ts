import { textFlag } from "../arguments.ts";
import type { Call, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at, isFields, listAt, numberAt, textAt, textsAt } from "../fields.ts";
import { dryRunFlag, outputFlag } from "../global_flags.ts";
import { objectName, pluralName, type ResourceType } from "../resource_types.ts";
import { dryRunOf, printResult } from "../result.ts";
import { oneTarget, readTarget } from "../target.ts";
import { createObject } from "../write.ts";

export const expose: Command = {
  name: "expose",
  summary: "Make a Service for the pods of a workload.",
  usage: "TYPE/NAME --port N [--target-port N|NAME] [--name S] [--type T]",
  details: "For CloneSets, Deployments, StatefulSets, ReplicaSets, DaemonSets, Services and Pods.",
  examples: ["refit expose clone/sample --port 80 --target-port 8080"],
  flags: {
    port: textFlag("N", "Port of the Service; else the ports of the containers."),
    "target-port": textFlag("N|NAME", "Port of the pods; else the same."),
    name: textFlag("NAME", "Name of the Service; else that of the object."),
    type: textFlag("ClusterIP|NodePort|LoadBalancer", "How it is reached."),
    protocol: textFlag("TCP|UDP|SCTP", "Protocol of the port.", { default: "TCP" }),
    selector: textFlag("KEY=VALUE,...", "Labels of the pods; else from the object."),
    labels: textFlag("KEY=VALUE,...", "Labels of the Service.", { short: "l" }),
    "cluster-ip": textFlag("IP|None", "Address of the Service; None makes it headless."),
    ...dryRunFlag,
    ...outputFlag,
  },
  async run(call) {
    const target = await oneTarget(call);
    const access = await call.cluster();
    const object = await readTarget(access, target);
    const service = serviceFor(call, target.type, object);
    const type = await access.types.find("services");
    const dryRun = dryRunOf(call);
    printResult(call, type, await createObject(access, type, service, dryRun), "exposed", dryRun);
    return 0;
  },
};

function serviceFor(call: Call, type: ResourceType, object: AnyObject): AnyObject {
  const { flags } = call;
  const labels = flags.text("labels");
  const serviceType = flags.text("type");
  const clusterIP = flags.text("cluster-ip");
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: flags.text("name") ?? object.metadata.name ?? "",
      ...(object.metadata.namespace === undefined ? {} : { namespace: object.metadata.namespace }),
      labels: labels === undefined ? { ...object.metadata.labels } : pairs(labels, "labels"),
    },
    spec: {
      selector: selectorFor(call, type, object),
      ports: portsFor(call, type, object),
      ...(serviceType === undefined ? {} : { type: serviceType }),
      ...(clusterIP === undefined ? {} : { clusterIP }),
    },
  };
}

function selectorFor(call: Call, type: ResourceType, object: AnyObject): Record<string, string> {
  const given = call.flags.text("selector");
  if (given !== undefined) return pairs(given, "selector");
  const name = objectName(type, object.metadata.name ?? "");
  if (type.kind === "Pod") {
    const labels = textsAt(object, "metadata", "labels");
    if (Object.keys(labels).length > 0) return labels;
    throw new CliError(`${name} has no labels that a Service could select; name some with --selector`);
  }
  if (type.kind === "Service") return textsAt(object, "spec", "selector");
  if (!isFields(at(object, "spec", "selector")))
    throw new CliError(`cannot expose ${pluralName(type)}: it selects no pods`);
  if (listAt(object, "spec", "selector", "matchExpressions").length > 0) {
    throw new CliError(`${name} selects by expressions, which a Service cannot; name labels with --selector`);
  }
  return textsAt(object, "spec", "selector", "matchLabels");
}

function portsFor(call: Call, type: ResourceType, object: AnyObject): object[] {
  const port = call.flags.integer("port", 1, 65_535);
  const target = call.flags.text("target-port");
  const targetPort = target === undefined ? undefined : /^\d+$/.test(target) ? Number(target) : target;
  const withTarget = targetPort === undefined ? {} : { targetPort };
  if (port !== undefined) return [{ port, protocol: call.flags.text("protocol"), ...withTarget }];
  const spec = type.kind === "Pod" ? at(object, "spec") : at(object, "spec", "template", "spec");
  const declared = listAt(spec, "containers").flatMap((container) => listAt(container, "ports"));
  const ports = declared.map((entry, index) => ({
    ...(declared.length > 1 ? { name: textAt(entry, "name") ?? `port-${index + 1}` } : {}),
    port: numberAt(entry, "containerPort"),
    protocol: textAt(entry, "protocol") ?? "TCP",
    ...withTarget,
  }));
  if (ports.length === 0) throw new CliError("couldn't find port via --port flag or introspection");
  return ports;
}

function pairs(text: string, flag: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const pair of text.split(",")) {
    const [key = "", value] = pair.split("=");
    if (key === "" || value === undefined)
      throw new CliError(`invalid value "${text}" for --${flag}: must be KEY=VALUE,...`);
    found[key] = value;
  }
  return found;
}
