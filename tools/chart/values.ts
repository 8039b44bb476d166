/** The values of the chart: one table, from which values.yaml, values.schema.json and the table in docs/helm.md are made. */
import { agentPort, controllerPorts, usualServerPorts } from "../../cli/install/index.ts";

export interface ChartValue {
  /** `manager.log.level` */
  readonly path: string;
  /** Undefined: accepted, and nothing here reads it. */
  readonly default: unknown;
  /** JSON schema of the value. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The default of the reference's chart; undefined where that has no such value. */
  readonly reference: unknown;
  /** For the documents; the first sentence stands beside the value. */
  readonly help: string;
}

const port = { type: "integer", minimum: 1, maximum: 65_535 };
const text = { type: "string" };
const words = { type: "string", pattern: "^[^\\s]*$" };
const flag = { type: "boolean" };
const fields = { type: "object" };
const items = { type: "array", items: { type: "object" } };
const texts = { type: "object", additionalProperties: { type: "string" } };
const level = { type: ["string", "integer"], pattern: "^[0-9]*$" };
const tag = { type: ["string", "integer", "number"] };
const namespace = { type: "string", pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", maxLength: 63 };
const args = { type: "array", items: { type: "string", pattern: "^--?[a-z]" } };

export const controllerImage = "refit/controller";
export const agentImage = "refit/agent";

const common: readonly ChartValue[] = [
  {
    path: "crds.managed",
    default: true,
    schema: flag,
    reference: true,
    help: "Install the definitions with the release. Off, somebody else applies bundles/chart/definitions.",
  },
  {
    path: "installation.namespace",
    default: "kruise-system",
    schema: namespace,
    reference: "kruise-system",
    help: "Namespace of controller and agents, whatever the release's own is.",
  },
  {
    path: "installation.createNamespace",
    default: true,
    schema: flag,
    reference: true,
    help: "Create that namespace. Off where it exists already.",
  },
  {
    path: "installation.roleListGroups",
    default: ["*"],
    schema: { type: "array", items: text },
    reference: ["*"],
    help: "API groups whose objects the controller may list. Given only with gate DeletionProtectionForCRDCascadingGate; nothing else needs it.",
  },
  {
    path: "featureGates",
    default: "ImagePullJobGate=true",
    schema: { type: "string" },
    reference: "ImagePullJobGate=true",
    help: "Feature gates of controller and agents, as Name=true,Name=false. Empty: the programs' defaults.",
  },
  {
    path: "externalCerts.annotations",
    default: {},
    schema: texts,
    reference: {},
    help: "Annotations of webhook configurations and converted definitions with gate EnableExternalCerts, for example cert-manager.io/inject-ca-from.",
  },
  {
    path: "externalCerts.certManager.enabled",
    default: false,
    schema: flag,
    reference: undefined,
    help: "Let cert-manager issue the certificate of the webhooks and inject its authority. Switches gate EnableExternalCerts on.",
  },
  {
    path: "externalCerts.certManager.issuerRef",
    default: {},
    schema: fields,
    reference: undefined,
    help: "Issuer of that certificate, by name and kind. Empty: an authority of the installation's own, which cert-manager keeps.",
  },
  {
    path: "imagePullSecrets",
    default: [],
    schema: items,
    reference: [],
    help: "Pull secrets of the images, as a list of name: NAME.",
  },
  {
    path: "serviceAccount.annotations",
    default: {},
    schema: texts,
    reference: {},
    help: "Annotations of both service accounts.",
  },
  {
    path: "webhookConfiguration.timeoutSeconds",
    default: 10,
    schema: { type: "integer", minimum: 1, maximum: 30 },
    reference: 30,
    help: "How long the API server waits for an answer. A replica that is stuck holds up a write for so long.",
  },
  {
    path: "webhookConfiguration.aksIntegration",
    default: false,
    schema: flag,
    reference: false,
    help: "Exclude the namespaces that Azure's AKS manages from all webhooks.",
  },
  {
    path: "networkPolicy.enabled",
    default: true,
    schema: flag,
    reference: undefined,
    help: "Install a NetworkPolicy around the controller.",
  },
  {
    path: "networkPolicy.apiServerPorts",
    default: usualServerPorts,
    schema: { type: "array", items: port },
    reference: undefined,
    help: "Ports at which the API server listens: the controller may connect to no others.",
  },
  {
    path: "helmHooks.image.repository",
    default: "",
    schema: words,
    reference: "openkruise/kruise-helm-hook",
    help: "Image of the check before an uninstallation. Empty, or the reference's: the controller's.",
  },
  {
    path: "helmHooks.image.tag",
    default: "",
    schema: tag,
    reference: "v0.1.0",
    help: "Its tag, where a repository is given.",
  },
];

const manager: readonly ChartValue[] = [
  {
    path: "manager.image.repository",
    default: controllerImage,
    schema: { ...words, minLength: 1 },
    reference: "openkruise/kruise-manager",
    help: "Image of the controller. The reference's own name stands for the default.",
  },
  {
    path: "manager.image.tag",
    default: "",
    schema: tag,
    reference: "v1.9.0",
    help: "Its tag, or sha256:DIGEST. Empty: the chart's appVersion.",
  },
  {
    path: "manager.replicas",
    default: 2,
    schema: { type: "integer", minimum: 0, maximum: 64 },
    reference: 2,
    help: "One reconciles, all answer webhooks.",
  },
  {
    path: "manager.log.level",
    default: "",
    schema: level,
    reference: "4",
    help: "Verbosity; from 5 on details of each pass are logged. Empty: 0.",
  },
  {
    path: "manager.loggingFormat",
    default: "json",
    schema: { enum: ["", "text", "json"] },
    reference: "",
    help: "Form of the log lines: json, text, or empty for text.",
  },
  {
    path: "manager.webhook.port",
    default: 9876,
    schema: port,
    reference: 9876,
    help: "Port of admission and conversion.",
  },
  {
    path: "manager.metrics.port",
    default: controllerPorts.metrics,
    schema: port,
    reference: 8080,
    help: "Port of /metrics.",
  },
  {
    path: "manager.healthProbe.port",
    default: controllerPorts.health,
    schema: port,
    reference: 8000,
    help: "Port of /readyz and /healthz.",
  },
  {
    path: "manager.pprofAddr",
    default: "localhost:8090",
    schema: { type: "string", pattern: "^(0?|(localhost|127\\.[0-9.]+|\\[::1\\])?:[0-9]+)$" },
    reference: "localhost:8090",
    help: "Where profiles and the log's verbosity are served, on loopback: kubectl port-forward reaches it. Empty: nowhere. The reference ignores it.",
  },
  {
    path: "manager.resources",
    default: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "1Gi" } },
    schema: fields,
    reference: { limits: { cpu: "200m", memory: "512Mi" }, requests: { cpu: "100m", memory: "256Mi" } },
    help: "No limit of CPU: webhooks would be throttled while a rollout is computed.",
  },
  {
    path: "manager.hostNetwork",
    default: false,
    schema: flag,
    reference: false,
    help: "Run in the network of the host, where API servers reach no pods. No NetworkPolicy holds there.",
  },
  {
    path: "manager.nodeAffinity",
    default: {},
    schema: fields,
    reference: {},
    help: "Beside the replicas' own anti-affinity.",
  },
  {
    path: "manager.nodeSelector",
    default: {},
    schema: texts,
    reference: {},
    help: "Labels of the nodes that may run a replica.",
  },
  {
    path: "manager.tolerations",
    default: [],
    schema: items,
    reference: [],
    help: "Taints that replicas bear.",
  },
  {
    path: "manager.extraArgs",
    default: [],
    schema: args,
    reference: undefined,
    help: "Further flags, for example --shards=2; refit controller --help lists them.",
  },
];

const daemon: readonly ChartValue[] = [
  {
    path: "daemon.image.repository",
    default: agentImage,
    schema: { ...words, minLength: 1 },
    reference: undefined,
    help: "Image of the agent. The reference runs both programs from one image.",
  },
  {
    path: "daemon.image.tag",
    default: "",
    schema: tag,
    reference: undefined,
    help: "Its tag, or sha256:DIGEST. Empty: the chart's appVersion.",
  },
  {
    path: "daemon.runtime",
    default: "node",
    schema: { enum: ["node", "deno"] },
    reference: undefined,
    help: "What the image runs the agent on; with deno every permission is spelled out.",
  },
  {
    path: "daemon.log.level",
    default: "",
    schema: level,
    reference: "4",
    help: "Verbosity; from 5 on details are logged. Empty: 4. The reference ignores it.",
  },
  {
    path: "daemon.port",
    default: agentPort,
    schema: port,
    reference: 10_221,
    help: "Port of health checks and metrics, on each node.",
  },
  {
    path: "daemon.socketLocation",
    default: "/var/run",
    schema: { type: "string", pattern: "^/" },
    reference: "/var/run",
    help: "Folder of the nodes below which the runtime's socket is; K3s: /run/k3s.",
  },
  {
    path: "daemon.socketFile",
    default: "",
    schema: words,
    reference: "",
    help: "The socket's name below that folder. Empty: found by itself, cri-dockerd's, too.",
  },
  {
    path: "daemon.resources",
    default: { requests: { cpu: "0", memory: "0" }, limits: { memory: "128Mi" } },
    schema: fields,
    reference: { limits: { cpu: "50m", memory: "128Mi" }, requests: { cpu: "0", memory: "0" } },
    help: "No limit of CPU: a start would be throttled for nothing.",
  },
  {
    path: "daemon.affinity",
    default: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "type", operator: "NotIn", values: ["virtual-kubelet"] }] },
          ],
        },
      },
    },
    schema: fields,
    reference: "the same",
    help: "Which nodes get an agent.",
  },
  {
    path: "daemon.nodeSelector",
    default: {},
    schema: texts,
    reference: {},
    help: "Labels of the nodes that get an agent.",
  },
  {
    path: "daemon.extraEnvs",
    default: [],
    schema: items,
    reference: [],
    help: "Further environment, for example HTTPS_PROXY.",
  },
  {
    path: "daemon.extraArgs",
    default: [],
    schema: args,
    reference: undefined,
    help: "Further flags, for example --direct-swap=true.",
  },
  {
    path: "daemon.credentialProvider.enable",
    default: false,
    schema: flag,
    reference: false,
    help: "Pull images with credential provider plugins, as a kubelet does. Not with daemon.runtime deno.",
  },
  {
    path: "daemon.credentialProvider.configmap",
    default: "credential-provider-config",
    schema: text,
    reference: "credential-provider-config",
    help: "ConfigMap with their configuration under the key CredentialProviderPlugin.yaml.",
  },
  {
    path: "daemon.credentialProvider.hostPath",
    default: "credential-provider-plugin",
    schema: text,
    reference: "credential-provider-plugin",
    help: "Folder of the nodes with the plugins; an absolute path.",
  },
  {
    path: "daemon.credentialProvider.awsCredentialsDir",
    default: "",
    schema: text,
    reference: "",
    help: "Folder of the nodes with AWS credentials. Empty: none.",
  },
];

/** Values that users have and that nothing here reads. */
const withoutEffect: readonly ChartValue[] = [
  {
    path: "enableKubeCacheMutationDetector",
    default: undefined,
    schema: flag,
    reference: false,
    help: "Cached objects are read-only.",
  },
  {
    path: "manager.resyncPeriod",
    default: undefined,
    schema: { type: ["string", "integer"] },
    reference: "0",
    help: "Caches follow the server and are never resynchronized by time.",
  },
  {
    path: "manager.podAntiAffinity",
    default: undefined,
    schema: fields,
    reference: undefined,
    help: "Replicas keep apart by themselves; in some articles, never a value of the reference.",
  },
  {
    path: "daemon.enablePprof",
    default: undefined,
    schema: flag,
    reference: true,
    help: "Profiling is the runtime's: --cpu-prof of Node and Deno.",
  },
  {
    path: "daemon.pprofAddr",
    default: undefined,
    schema: text,
    reference: "localhost:10222",
    help: "As daemon.enablePprof.",
  },
];

export const chartValues: readonly ChartValue[] = [...common, ...manager, ...daemon, ...withoutEffect];

/** As values.yaml has them. */
export function defaultValues(): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const value of chartValues)
    if (value.default !== undefined) put(values, value.path.split("."), value.default);
  return values;
}

export function valueComments(): Record<string, string> {
  return Object.fromEntries(
    chartValues
      .filter((value) => value.default !== undefined)
      .map(({ path, help }) => [path, help.split(". ")[0]?.replace(/\.$/, "") ?? help]),
  );
}

/** Refuses what no value is named: a typo must not be installed as if it had not been written. */
export function valuesSchema(): object {
  const properties: Record<string, unknown> = {};
  for (const { path, schema } of chartValues) put(properties, path.split("."), { leaf: schema });
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    ...schemaOf({ ...properties, global: { leaf: { type: "object" } } }),
  };
}

function schemaOf(tree: Readonly<Record<string, unknown>>): object {
  const properties = Object.fromEntries(
    Object.entries(tree).map(([name, branch]) => {
      if (!isRecord(branch)) throw new Error(`${name} is no branch of values`);
      return [name, isRecord(branch["leaf"]) ? branch["leaf"] : schemaOf(branch)];
    }),
  );
  return { type: "object", additionalProperties: false, properties };
}

function put(tree: Record<string, unknown>, [first = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    tree[first] = value;
    return;
  }
  const branch = tree[first] ?? {};
  if (!isRecord(branch)) throw new Error(`${first} is a value and a group of values`);
  tree[first] = branch;
  put(branch, rest, value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
