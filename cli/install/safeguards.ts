/** What stands around the processes in a cluster: who may talk to them, how many may go at once, which pods go first. */
import type { AnyObject } from "../fields.ts";
import { agentPriorityClass } from "./agent.ts";
import { type ControllerInstall, controllerPriorityClass } from "./controller_deployment.ts";
import { object } from "./objects.ts";
import type { Reasons } from "./reasons.ts";

const controllerPods = { matchLabels: { "control-plane": "controller-manager" } };

/** Ports at which API servers listen: managed clusters, kubeadm and K3s, minikube, MicroK8s. */
export const usualServerPorts: readonly number[] = [443, 6443, 8443, 16443];

export function controllerSafeguards(
  { namespace, webhookPort }: { readonly namespace: string; readonly webhookPort: number },
  { serverPorts, ports }: Pick<ControllerInstall, "serverPorts" | "ports">,
): AnyObject[] {
  const metadata = { name: "kruise-controller-manager", namespace };
  const tcp = (port: number) => ({ port, protocol: "TCP" });
  const policy = {
    podSelector: controllerPods,
    policyTypes: ["Ingress", "Egress"],
    ingress: [
      { ports: [tcp(webhookPort), tcp(ports.health)] },
      { ports: [tcp(ports.metrics)], from: [{ namespaceSelector: {} }] },
    ],
    egress: [{ ports: serverPorts.map(tcp) }, { ports: [{ port: 53, protocol: "UDP" }, tcp(53)] }],
  };
  const budget = { maxUnavailable: 1, selector: controllerPods, unhealthyPodEvictionPolicy: "AlwaysAllow" };
  return [
    object("networking.k8s.io/v1", "NetworkPolicy", metadata, { spec: policy }),
    object("policy/v1", "PodDisruptionBudget", metadata, { spec: budget }),
  ];
}

/** For the namespace of the controller and the agents. */
export function criticalPodsQuota(namespace: string): AnyObject {
  const values = [controllerPriorityClass, agentPriorityClass];
  const spec = {
    hard: { pods: "1G" },
    scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values }] },
  };
  return object("v1", "ResourceQuota", { name: "kruise-critical-pods", namespace }, { spec });
}

export const safeguardReasons: Reasons = {
  "NetworkPolicy/kruise-controller-manager": {
    "spec.ingress.0.ports.0":
      "Webhooks: API servers call from the network of their hosts, or through a tunnel, with addresses that no selector describes. Callers are not authenticated; SECURITY.md says what they can learn. The second port is that of the kubelet's probes.",
    "spec.ingress.1.ports": "Metrics are plain HTTP: pods of this cluster only.",
    "spec.egress.0.ports":
      "The API server, and nothing else. Its addresses differ from cluster to cluster; these are the usual ports, others come with --api-server-port.",
    "spec.egress.1.ports": "DNS, also of a cache on the node, which no pod selector describes.",
  },
  "PodDisruptionBudget/kruise-controller-manager": {
    "spec.maxUnavailable":
      "Some webhooks fail closed, so that one replica has to be left. Not minAvailable: with a single replica that would block every drain.",
    "spec.unhealthyPodEvictionPolicy":
      "A replica that is not ready answers nothing: it must not block a drain.",
  },
  "ResourceQuota/kruise-critical-pods": {
    "spec.hard":
      "No limit. Some clusters admit critical pods outside of kube-system only where a quota speaks of them (GKE does).",
  },
};
