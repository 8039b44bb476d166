/** The controller in a cluster: replicas that share a lease and all answer webhooks. Spec: platform 1.1. */
import { controllerEnvironment, controllerNodeFlags } from "../controller/launch.ts";
import type { AnyObject } from "../fields.ts";
import { object } from "./objects.ts";
import type { Reasons } from "./reasons.ts";

export interface ControllerInstall {
  /** An image with `/refit/refit.mjs` (and `/refit/refit/` beside it) and Node on its PATH. */
  readonly image: string;
  readonly replicas: number;
  /** Appended to the controller's arguments. */
  readonly flags: readonly string[];
  /** At which the API server listens: the controller may connect to no others. */
  readonly serverPorts: readonly number[];
  readonly ports: ControllerPorts;
}

/** At which the controller listens beside its webhooks. */
export interface ControllerPorts {
  readonly metrics: number;
  readonly health: number;
}

export const controllerPorts: ControllerPorts = { metrics: 8080, health: 8000 };
const bundle = "/refit/refit.mjs";
/** Program and arguments of the command line in the controller's image, without those of a command. */
export const refitProgram: readonly string[] = ["node", ...controllerNodeFlags, bundle];
export const controllerPriorityClass = "system-cluster-critical";

export const deploymentReasons: Reasons = {
  "Deployment/kruise-controller-manager": {
    "spec.strategy": "Admission must never be without an answer: new replicas come before old ones go.",
    "spec.template.spec.priorityClassName":
      "While no replica runs pods cannot be created in most namespaces: nothing less important may displace one.",
    "spec.template.spec.containers.0.args.4":
      "Loopback of the pod: profiles, and PUT /debug/flags/v for the log's verbosity, by kubectl port-forward.",
    "spec.template.spec.containers.0.resources":
      "No limit of CPU: webhooks would be throttled while a rollout is computed.",
  },
};

export function controllerDeployment(
  place: { namespace: string; account: string; webhookPort: number },
  controller: ControllerInstall,
): AnyObject {
  const labels = { "control-plane": "controller-manager" };
  const metadata = { name: "kruise-controller-manager", namespace: place.namespace, labels };
  const spec = {
    replicas: controller.replicas,
    minReadySeconds: 3,
    selector: { matchLabels: labels },
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "100%", maxUnavailable: 0 } },
    template: { metadata: { labels }, spec: podSpec(place, controller, labels) },
  };
  return object("apps/v1", "Deployment", metadata, { spec });
}

function podSpec(
  { namespace, account, webhookPort }: { namespace: string; account: string; webhookPort: number },
  controller: ControllerInstall,
  labels: Readonly<Record<string, string>>,
): object {
  const apart = { labelSelector: { matchLabels: labels }, topologyKey: "kubernetes.io/hostname" };
  return {
    serviceAccountName: account,
    priorityClassName: controllerPriorityClass,
    terminationGracePeriodSeconds: 10,
    securityContext: { runAsUser: 65_534, runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: apart }],
      },
    },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "topology.kubernetes.io/zone",
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: { matchLabels: labels },
      },
    ],
    containers: [container(namespace, webhookPort, controller)],
  };
}

function container(namespace: string, webhookPort: number, controller: ControllerInstall): object {
  const { metrics, health } = controller.ports;
  const probe = (path: string) => ({ httpGet: { path, port: health, scheme: "HTTP" } });
  return {
    name: "manager",
    image: controller.image,
    imagePullPolicy: "IfNotPresent",
    command: [...refitProgram, "controller"],
    args: [
      `--metrics-addr=:${metrics}`,
      `--health-probe-addr=:${health}`,
      "--logging-format=json",
      `--leader-election-namespace=${namespace}`,
      "--enable-pprof=true",
      "--pprof-addr=localhost:8090",
      ...controller.flags,
    ],
    env: [
      {
        name: "POD_NAMESPACE",
        valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } },
      },
      { name: "WEBHOOK_PORT", value: String(webhookPort) },
      { name: "WEBHOOK_CERT_WRITER", value: "secret" },
      ...Object.entries(controllerEnvironment).map(([name, value]) => ({ name, value })),
    ],
    ports: [
      { name: "webhook-server", containerPort: webhookPort, protocol: "TCP" },
      { name: "metrics", containerPort: metrics, protocol: "TCP" },
      { name: "health", containerPort: health, protocol: "TCP" },
    ],
    readinessProbe: { ...probe("/readyz"), periodSeconds: 5 },
    livenessProbe: { ...probe("/healthz"), initialDelaySeconds: 30, periodSeconds: 10, failureThreshold: 3 },
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "1Gi" } },
    securityContext: {
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
    },
  };
}
