/** What a report consists of: which files, and what the API server is asked for them. Pure. */
import { at, fieldsAt, listAt, textAt } from "../fields.ts";

export interface Part {
  /** Path below the report's folder. */
  readonly file: string;
  /** Of the request. */
  readonly path: string;
}

export interface PartOptions {
  /** Of the controller and the agents. */
  readonly namespace: string;
  /** Whose pods, revisions and events are wanted. */
  readonly workloads: string | undefined;
  /** Objects of a list. */
  readonly limit: number;
}

/** Custom resources, each by a list of all namespaces. */
export interface ReportedKind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

export function objectParts(kinds: readonly ReportedKind[], options: PartOptions): Part[] {
  const { namespace, workloads, limit } = options;
  const inNamespace = (group: string, place: string): string =>
    `${group}/namespaces/${encodeURIComponent(place)}`;
  const installed = (group: string): string => inNamespace(group, namespace);
  const lists: List[] = [
    ["installation", installed("/apis/apps/v1"), ["deployments", "replicasets", "daemonsets"]],
    ["installation", installed("/api/v1"), ["pods", "services", "events", "resourcequotas"]],
    ["installation", installed("/apis/coordination.k8s.io/v1"), ["leases"]],
    ["installation", installed("/apis/networking.k8s.io/v1"), ["networkpolicies"]],
    ["installation", installed("/apis/policy/v1"), ["poddisruptionbudgets"]],
    ["cluster", "/apis/admissionregistration.k8s.io/v1", webhookConfigurations],
    ["cluster", "/api/v1", ["nodes", "namespaces"]],
  ];
  for (const { group, version, plural } of kinds)
    lists.push(["kinds", `/apis/${group}/${version}`, [plural]]);
  const configuration = {
    file: "installation/kruise-configuration.json",
    path: `${installed("/api/v1")}/configmaps/kruise-configuration`,
  };
  const parts = [...lists.flatMap((list) => listParts(list, limit)), configuration];
  if (workloads === undefined) return parts;
  const folder = `namespaces/${encodeURIComponent(workloads)}`;
  const ofWorkloads: List[] = [
    [folder, inNamespace("/api/v1", workloads), ["pods", "events", "persistentvolumeclaims"]],
    [folder, inNamespace("/apis/apps/v1", workloads), ["controllerrevisions"]],
  ];
  return [...parts, ...ofWorkloads.flatMap((list) => listParts(list, limit))];
}

type List = readonly [folder: string, root: string, names: readonly string[]];

function listParts([folder, root, names]: List, limit: number): Part[] {
  return names.map((name) => ({ file: `${folder}/${name}.json`, path: `${root}/${name}?limit=${limit}` }));
}

const webhookConfigurations = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

/** More than one container's logs are seldom looked at: agents differ little. */
const mostPods = 10;

/** Logs and metrics of the controller's and the agents' pods, those that were restarted first. */
export function podParts(pods: readonly unknown[], lines: number): Part[] {
  const chosen = ["controller-manager", "daemon"].flatMap((label) =>
    pods
      .filter((pod) => textAt(pod, "metadata", "labels", "control-plane") === label)
      .toSorted((left, right) => restartsOf(right) - restartsOf(left))
      .slice(0, mostPods),
  );
  return chosen.flatMap((pod) => partsOfPod(pod, lines));
}

function restartsOf(pod: unknown): number {
  return listAt(pod, "status", "containerStatuses").reduce<number>((sum, status) => {
    const count = at(status, "restartCount");
    return sum + (typeof count === "number" ? count : 0);
  }, 0);
}

function partsOfPod(pod: unknown, lines: number): Part[] {
  const name = textAt(pod, "metadata", "name") ?? "";
  const path = `/api/v1/namespaces/${encodeURIComponent(textAt(pod, "metadata", "namespace") ?? "")}/pods/${encodeURIComponent(name)}`;
  const logs = listAt(pod, "spec", "containers").flatMap((container) => {
    const of = textAt(container, "name") ?? "";
    const log = `${path}/log?container=${encodeURIComponent(of)}&tailLines=${lines}`;
    const file = `logs/${name}.${of}`;
    const ended = listAt(pod, "status", "containerStatuses").some(
      (status) => textAt(status, "name") === of && Object.keys(fieldsAt(status, "lastState")).length > 0,
    );
    return [{ file: `${file}.log`, path: log }].concat(
      ended ? [{ file: `${file}.previous.log`, path: `${log}&previous=true` }] : [],
    );
  });
  const ports = listAt(pod, "spec", "containers").flatMap((container) => listAt(container, "ports"));
  const metrics = ports.find((port) => textAt(port, "name") === "metrics");
  if (metrics === undefined) return logs;
  const proxied = `${path}:${at(metrics, "containerPort")}/proxy/metrics`;
  return [...logs, { file: `metrics/${name}.txt`, path: proxied }];
}
