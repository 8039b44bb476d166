/** The node agent in a cluster: its account, its rights, and the DaemonSet. Spec: agent 1, 9. */
import { type AgentRuntime, agentEnvironment, agentProgram, denoPermissions } from "../../agent/index.ts";
import type { AnyObject } from "../fields.ts";
import { agentRules, agentSecretRules } from "./access.ts";
import { object, roleOf } from "./objects.ts";
import type { Reasons } from "./reasons.ts";

export interface AgentInstall {
  /** An image with `/refit/agent.mjs` and, on its PATH, the runtime. */
  readonly image: string;
  readonly runtime: AgentRuntime;
  /** Folder of the host below which the container runtime's socket is. */
  readonly socketFolder: string;
  /** Of health checks and metrics. */
  readonly port: number;
  /** Appended to the agent's arguments. */
  readonly flags: readonly string[];
}

/** Where the manager puts the pull secrets that agents may read. */
export const agentConfigNamespace = "kruise-daemon-config";
const account = "kruise-daemon";

/** Account and rights; they stand also where the agents are started by other means. */
export function agentAccess(namespace: string): AnyObject[] {
  const agent = { name: account, namespace };
  return [
    object("v1", "ServiceAccount", agent),
    ...roleOf(agent, "kruise-daemon", agentRules()),
    ...roleOf(agent, "kruise-daemon-secret", agentSecretRules, agentConfigNamespace),
  ];
}

const bundle = "/refit/agent.mjs";
const stateFolder = "/var/lib/refit-agent";
/** Where the agent looks for the host's sockets first; also what the reference's manifests mount. */
const hostRun = "/hostvarrun";
const pluginConfigFile = "/kruise/CredentialProviderPlugin.yaml";
export const agentPort = 10221;
export const agentPriorityClass = "system-node-critical";

export const agentReasons: Reasons = {
  "DaemonSet/kruise-daemon": {
    "spec.template.spec.hostNetwork":
      "Works while the node's pod network does not, and probes pods from the node as a kubelet does. No NetworkPolicy applies to a pod in the network of its host: the only open port is that of metrics and health, see --addr.",
    "spec.template.spec.priorityClassName":
      "Every node needs its agent: restarts, pulls and probes of all its pods wait for it.",
    "spec.template.spec.containers.0.readinessProbe":
      "Ready once the runtime answers and the watches are open. A lost runtime is no reason for a restart: only a process that no longer answers is.",
    "spec.template.spec.containers.0.resources":
      "No limit of CPU: a start, or the first seconds after an outage, would be throttled for nothing.",
    "spec.template.spec.containers.0.securityContext":
      "The runtime's socket and the state folder are root's; being their owner needs no capability.",
    "spec.template.spec.containers.0.volumeMounts":
      "Connecting to a socket is possible on a read-only mount.",
  },
};

/** One agent on every node that runs containers. */
export function agentDaemonSet(namespace: string, agent: AgentInstall): AnyObject {
  const labels = { "control-plane": "daemon" };
  return object(
    "apps/v1",
    "DaemonSet",
    { name: "kruise-daemon", namespace, labels },
    {
      spec: {
        selector: { matchLabels: labels },
        minReadySeconds: 3,
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%" } },
        template: { metadata: { labels }, spec: podSpec(agent) },
      },
    },
  );
}

function podSpec(agent: AgentInstall): object {
  const virtual = { key: "type", operator: "NotIn", values: ["virtual-kubelet"] };
  return {
    serviceAccountName: account,
    priorityClassName: agentPriorityClass,
    hostNetwork: true,
    dnsPolicy: "ClusterFirstWithHostNet",
    terminationGracePeriodSeconds: 10,
    tolerations: [{ operator: "Exists" }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [virtual] }],
        },
      },
    },
    containers: [container(agent)],
    volumes: [
      { name: "runtime-socket", hostPath: { path: agent.socketFolder, type: "" } },
      { name: "state", hostPath: { path: stateFolder, type: "DirectoryOrCreate" } },
    ],
  };
}

function container(agent: AgentInstall): object {
  const { port } = agent;
  const probe = (path: string) => ({ httpGet: { path, port, scheme: "HTTP" }, timeoutSeconds: 1 });
  return {
    name: "daemon",
    image: agent.image,
    imagePullPolicy: "IfNotPresent",
    command: agentCommand(agent.runtime),
    args: [`--addr=:${port}`, `--state-dir=${stateFolder}`, ...agent.flags],
    env: [
      { name: "NODE_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "spec.nodeName" } } },
      ...Object.entries(agentEnvironment).map(([name, value]) => ({ name, value })),
    ],
    ports: [{ name: "metrics", containerPort: port, hostPort: port, protocol: "TCP" }],
    readinessProbe: { ...probe("/readyz"), periodSeconds: 5 },
    livenessProbe: { ...probe("/healthz"), initialDelaySeconds: 60, periodSeconds: 10, failureThreshold: 3 },
    resources: { requests: { cpu: "0", memory: "0" }, limits: { memory: "128Mi" } },
    securityContext: {
      runAsUser: 0,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    },
    volumeMounts: [
      { name: "runtime-socket", mountPath: hostRun, readOnly: true },
      { name: "state", mountPath: stateFolder },
    ],
  };
}

/** Command of the container without the agent's own flags. */
export function agentCommand(runtime: AgentRuntime): string[] {
  const permissions = denoPermissions({
    stateFolder,
    socketFolder: hostRun,
    pluginConfigFile,
    home: "/root",
  });
  return agentProgram(runtime, permissions, bundle);
}
