/** PodProbeMarker and NodePodProbe: which pods are probed, and what the probes say. Spec: containers 4. */
import { nodeProbeName } from "../../../controller/index.ts";
import { counted, formatSelector } from "../../../kube/core/index.ts";
import { type AnyObject, listAt, selectorAt, textAt } from "../../fields.ts";
import { inNamespace } from "../../resource_types.ts";
import type { Cause } from "../causes/cause.ts";
import type { Facts } from "../causes/facts.ts";
import { readAgents } from "../causes/gather.ts";
import { agentProblem, agentsCommand } from "../causes/nodes.ts";
import { conditionsOf, timeAt } from "../causes/pod_facts.ts";
import { shownName, shownText } from "../causes/shown_text.ts";
import type { Agents } from "./pull_tasks.ts";
import { earliestOf, type Findings, groupedCauses, named, statusSource } from "./status_source.ts";

/** One probe of one pod, and its last result. */
interface ProbeResult {
  readonly pod: string;
  readonly namespace: string;
  readonly node: string;
  readonly probe: string;
  readonly container: string;
  /** Succeeded, Failed or Unknown; empty while there is no result. */
  readonly state: string;
  readonly message: string;
  readonly since: number | undefined;
}

interface MarkerRelated {
  /** Those that the selector matches. */
  readonly pods: readonly AnyObject[];
  readonly nodePodProbes: readonly AnyObject[];
  readonly agents: Agents;
}

export const podProbeMarkerStatus = statusSource<MarkerRelated>({
  group: "apps.kruise.io",
  kind: "PodProbeMarker",
  isLasting: true,
  async read(reader, marker) {
    const { namespace = "" } = marker.metadata;
    const labelSelector = formatSelector(selectorAt(marker, "spec", "selector"));
    return {
      pods: await reader.collect("", "Pod", { namespace, labelSelector }),
      nodePodProbes: await reader.collect("apps.kruise.io", "NodePodProbe", {}),
      agents: await readAgents(reader),
    };
  },
  explain: explainPodProbeMarker,
});

export const nodePodProbeStatus = statusSource<Agents>({
  group: "apps.kruise.io",
  kind: "NodePodProbe",
  isLasting: true,
  read: (reader) => readAgents(reader),
  explain: explainNodePodProbe,
});

export function explainPodProbeMarker(
  marker: AnyObject,
  { pods, nodePodProbes, agents }: MarkerRelated,
  facts: Facts,
): Findings {
  const states = new Map(nodePodProbes.flatMap((each) => [...statesByPod(each)]));
  const probed = pods.filter((pod) => isProbed(pod));
  const results = probed.flatMap((pod) => markerResults(marker, pod, states));
  return {
    summary: `${counted(pods.length, "pod")} ${pods.length === 1 ? "matches" : "match"}, ${probed.length} probed${countsOf(results)}`,
    causes: [
      ...(pods.length === 0 ? [noPods(facts)] : []),
      ...groupedCauses(
        pods.filter((pod) => !isProbed(pod)),
        () => "",
        (first, all) => notStarted(first, all, facts),
      ),
      ...resultCauses(results, agents, facts),
    ],
  };
}

export function explainNodePodProbe(object: AnyObject, agents: Agents, facts: Facts): Findings {
  const node = textAt(object, "metadata", "name") ?? "";
  const states = statesByPod(object);
  const entries = listAt(object, "spec", "podProbes");
  const results = entries.flatMap((entry) => {
    const reported = states.get(textAt(entry, "uid") ?? "");
    const pod = { pod: textAt(entry, "name") ?? "", namespace: textAt(entry, "namespace") ?? "", node };
    return listAt(entry, "probes").map((probe) => {
      const name = textAt(probe, "name") ?? "";
      return resultOf(pod, name, textAt(probe, "containerName") ?? "", reported?.get(name));
    });
  });
  return {
    summary: `${counted(entries.length, "pod")} probed${countsOf(results)}`,
    causes: resultCauses(results, agents, facts),
  };
}

/** What the agent of one node reported: by the UIDs of pods, by the names of probes there. */
function statesByPod(nodePodProbe: AnyObject): Map<string, Map<string, unknown>> {
  const entries = listAt(nodePodProbe, "status", "podProbeStatuses");
  return new Map(
    entries.map((entry) => [
      textAt(entry, "uid") ?? "",
      new Map(listAt(entry, "probeStates").map((state) => [textAt(state, "name") ?? "", state])),
    ]),
  );
}

/** As the controller chooses them: on a node, and past its init containers. */
function isProbed(pod: AnyObject): boolean {
  const isOver = ["Succeeded", "Failed"].includes(textAt(pod, "status", "phase") ?? "");
  const isDeleted = textAt(pod, "metadata", "deletionTimestamp") !== undefined;
  const isInitialized = conditionsOf(pod["status"]).get("Initialized")?.status === "True";
  return !isOver && !isDeleted && (textAt(pod, "spec", "nodeName") ?? "") !== "" && isInitialized;
}

function markerResults(
  marker: AnyObject,
  pod: AnyObject,
  states: ReadonlyMap<string, ReadonlyMap<string, unknown>>,
): ProbeResult[] {
  const reported = states.get(textAt(pod, "metadata", "uid") ?? "");
  const place = {
    pod: textAt(pod, "metadata", "name") ?? "",
    namespace: textAt(pod, "metadata", "namespace") ?? "",
    node: textAt(pod, "spec", "nodeName") ?? "",
  };
  return listAt(marker, "spec", "probes").map((probe) => {
    const name = textAt(probe, "name") ?? "";
    const state = reported?.get(nodeProbeName({ name: marker.metadata.name ?? "" }, { name }));
    return resultOf(place, name, textAt(probe, "containerName") ?? "", state);
  });
}

function resultOf(
  { pod, namespace, node }: Pick<ProbeResult, "pod" | "namespace" | "node">,
  probe: string,
  container: string,
  state: unknown,
): ProbeResult {
  return {
    pod: shownName(pod),
    namespace,
    node: shownName(node),
    probe: shownName(probe),
    container: shownName(container),
    state: shownText(textAt(state, "state") ?? ""),
    message: textAt(state, "message") ?? "",
    since: timeAt(state, "lastTransitionTime"),
  };
}

/** `; idle: 2 Succeeded, 1 Failed`. */
function countsOf(results: readonly ProbeResult[]): string {
  const byProbe = [...Map.groupBy(results, ({ probe }) => probe)].map(([probe, all]) => {
    const counts = [...Map.groupBy(all, ({ state }) => state || "without a result")];
    return `${probe}: ${counts.map(([state, some]) => `${some.length} ${state}`).join(", ")}`;
  });
  return byProbe.map((text) => `; ${text}`).join("");
}

/** What probes that have not succeeded say; the same words are one cause. */
function resultCauses(results: readonly ProbeResult[], agents: Agents, facts: Facts): Cause[] {
  const failing = results.filter(({ state }) => state === "Failed");
  const silent = results.filter(({ state }) => state !== "Failed" && state !== "Succeeded");
  return [
    ...groupedCauses(failing, ({ probe, message }) => `${probe} ${message}`, failedCause(facts)),
    ...groupedCauses(
      silent,
      ({ probe, node, message }) => `${probe} ${agentProblem(node, agents) ?? message}`,
      silentCause(agents, facts),
    ),
  ];
}

type Grouping = (first: ProbeResult, all: readonly ProbeResult[]) => Cause;

const podsOf = (all: readonly ProbeResult[], { subject }: Facts): string =>
  named(all.map(({ namespace, pod }) => (subject.namespace === "" ? `${namespace}/${pod}` : pod)));

function failedCause(facts: Facts): Grouping {
  return (first, all) => ({
    reason: "ProbeFailed",
    message: `${counted(all.length, "pod")}: probe ${first.probe} in container ${first.container} failed: ${shownText(first.message) || "no output"}${podsOf(all, facts)}`,
    until: "the probe succeeds",
    since: earliestOf(all.map(({ since }) => since)),
    next: `kubectl logs ${first.pod} -c ${first.container}${inNamespace(first.namespace)}`,
    outlook: "held",
  });
}

function silentCause(agents: Agents, facts: Facts): Grouping {
  return (first, all) => {
    const problem = agentProblem(first.node, agents);
    const said = shownText(first.message);
    return {
      reason: problem === undefined ? "NoResult" : "AgentAbsent",
      message: `${counted(all.length, "pod")}: probe ${first.probe} in container ${first.container} has no result${problem === undefined ? (said === "" ? "" : `: ${said}`) : `, ${problem}`}${podsOf(all, facts)}`,
      until:
        problem === undefined
          ? "the node's agent has run it, after initialDelaySeconds and periodSeconds"
          : "the node agent (DaemonSet kruise-daemon) runs there",
      since: earliestOf(all.map(({ since }) => since)),
      next:
        problem === undefined ? `kubectl get nodepodprobe ${first.node} -o yaml` : agentsCommand(first.node),
      outlook: problem === undefined ? "moving" : "stuck",
    };
  };
}

function noPods({ subject }: Facts): Cause {
  return {
    reason: "NoPods",
    message: "spec.selector matches no pod of the namespace",
    until: "a pod matches, or the selector is corrected",
    since: subject.createdAt,
    next: `kubectl get pods --show-labels${inNamespace(subject.namespace)}`,
    outlook: "stuck",
  };
}

function notStarted(first: AnyObject, all: readonly AnyObject[], { subject }: Facts): Cause {
  const names = all.map((pod) => textAt(pod, "metadata", "name") ?? "");
  return {
    reason: "NotProbed",
    message: `${counted(all.length, "pod")}: not on a node, not initialized yet, or ending${named(names)}`,
    until: "its init containers have ended",
    since: timeAt(first, "metadata", "creationTimestamp"),
    next: `refit why pod/${shownName(names[0] ?? "")}${inNamespace(subject.namespace)}`,
    outlook: "moving",
  };
}
