/** What the chart should give for values: what `refit install` applies, with what only values can say put into it. */
import { parse } from "yaml";
import { type AnyObject, toAnyObject } from "../../cli/fields.ts";
import { refitProgram } from "../../cli/install/controller_deployment.ts";
import { installObjects } from "../../cli/install/index.ts";
import { object, roleOf } from "../../cli/install/objects.ts";
import { applyJsonPatch, type JsonPatchOperation } from "../../kube/core/index.ts";
import { uninstallRules } from "../../tools/chart.ts";

type Image = { readonly repository: string; readonly tag: string | number };
type Texts = Readonly<Record<string, string>>;

/** Values of the chart that something reads. */
export interface ChartValues {
  readonly crds: { readonly managed: boolean };
  readonly installation: {
    readonly namespace: string;
    readonly createNamespace: boolean;
    readonly roleListGroups: readonly string[];
  };
  readonly featureGates: string;
  readonly externalCerts: {
    readonly annotations: Texts;
    readonly certManager: { readonly enabled: boolean; readonly issuerRef: Texts };
  };
  readonly imagePullSecrets: readonly object[];
  readonly serviceAccount: { readonly annotations: Texts };
  readonly webhookConfiguration: { readonly timeoutSeconds: number; readonly aksIntegration: boolean };
  readonly networkPolicy: { readonly enabled: boolean; readonly apiServerPorts: readonly number[] };
  readonly helmHooks: { readonly image: Image };
  readonly manager: {
    readonly image: Image;
    readonly replicas: number;
    readonly log: { readonly level: string | number };
    readonly loggingFormat: string;
    readonly webhook: { readonly port: number };
    readonly metrics: { readonly port: number };
    readonly healthProbe: { readonly port: number };
    readonly pprofAddr: string;
    readonly resources: object;
    readonly hostNetwork: boolean;
    readonly nodeAffinity: object;
    readonly nodeSelector: Texts;
    readonly tolerations: readonly object[];
    readonly extraArgs: readonly string[];
  };
  readonly daemon: {
    readonly image: Image;
    readonly runtime: "node" | "deno";
    readonly log: { readonly level: string | number };
    readonly port: number;
    readonly socketLocation: string;
    readonly socketFile: string;
    readonly resources: object;
    readonly affinity: object;
    readonly nodeSelector: Texts;
    readonly extraEnvs: readonly object[];
    readonly extraArgs: readonly string[];
    readonly credentialProvider: {
      readonly enable: boolean;
      readonly configmap: string;
      readonly hostPath: string;
      readonly awsCredentialsDir: string;
    };
  };
}

/** By kind, namespace and name. */
export type Objects = Readonly<Record<string, AnyObject>>;

export function byName(objects: readonly AnyObject[]): Objects {
  const named = objects.map((object): [string, AnyObject] => {
    const { kind, metadata } = object;
    return [`${kind}/${metadata.namespace ?? ""}/${metadata.name}`, object];
  });
  return Object.fromEntries(named.sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** Most objects are the same whatever a value is, and reading them takes long. */
const readBefore = new Map<string, unknown>();

/** Those of a printed text. */
export function objectsIn(text: string): Objects {
  const documents = text.split(/^---$/m).map((document) => {
    if (!readBefore.has(document)) readBefore.set(document, parse(document));
    return readBefore.get(document);
  });
  return byName(documents.filter((object) => object !== null).map(toAnyObject));
}

/** Why values are refused that the schema lets through, or undefined. */
export function refusalOf({ daemon, externalCerts, featureGates, manager }: ChartValues): string | undefined {
  const { repository } = manager.image;
  if (daemon.credentialProvider.enable && daemon.runtime === "deno") return "needs daemon.runtime=node";
  if (daemon.credentialProvider.enable && !daemon.credentialProvider.hostPath.startsWith("/"))
    return "must be an absolute path";
  if (externalCerts.certManager.enabled && gateIn(featureGates, "EnableExternalCerts") === false)
    return "certManager.enabled needs gate EnableExternalCerts";
  return repository.endsWith("/kruise-manager") && !isOfReference(repository)
    ? `manager.image.repository=${repository} is OpenKruise's manager`
    : undefined;
}

/** All objects of the release `kruise`, hooks included. */
export function chartObjects(values: ChartValues, version: string): AnyObject[] {
  const { namespace } = values.installation;
  return [
    ...installed(values, version).flatMap((each) => {
      if (!isThere(each, values)) return [];
      const patches = patchesOf(each, values);
      return patches.length === 0 ? [each] : [{ ...each, ...applyJsonPatch(each, patches) }];
    }),
    ...certManagerObjects(namespace, values.externalCerts.certManager),
    ...uninstallHook(namespace, values, version),
  ];
}

function installed(values: ChartValues, version: string): AnyObject[] {
  const { daemon, installation, manager, networkPolicy } = values;
  const gates = given("feature-gates", gatesOf(values));
  return installObjects({
    namespace: installation.namespace,
    webhookHost: undefined,
    webhookPort: manager.webhook.port,
    guardsDefinitions: isOn(values, "DeletionProtectionForCRDCascadingGate", "AllAlpha"),
    distributesResources: isOn(values, "ResourceDistributionGate", "AllBeta"),
    controller: {
      image: controllerImageOf(values, version),
      replicas: manager.replicas,
      flags: [...given("v", manager.log.level), ...gates, ...manager.extraArgs],
      serverPorts: networkPolicy.apiServerPorts,
      ports: { metrics: manager.metrics.port, health: manager.healthProbe.port },
    },
    agent: {
      image: imageOf(daemon.image, version),
      runtime: daemon.runtime,
      socketFolder: daemon.socketLocation,
      port: daemon.port,
      flags: [
        ...given("v", daemon.log.level),
        ...given("socket-file", daemon.socketFile),
        ...gates,
        ...daemon.extraArgs,
      ],
    },
  });
}

const given = (flag: string, value: string | number): string[] =>
  value === "" || value === 0 ? [] : [`--${flag}=${value}`];

function imageOf({ repository, tag }: Image, version: string): string {
  const name = String(tag === "" || tag === 0 ? version : tag);
  return `${repository}${name.startsWith("sha256:") ? "@" : ":"}${name}`;
}

const isOfReference = (repository: string): boolean =>
  /^(docker\.io\/)?openkruise\/kruise-manager$/.test(repository);

function controllerImageOf({ manager: { image } }: ChartValues, version: string): string {
  return imageOf(
    isOfReference(image.repository) ? { repository: "refit/controller", tag: "" } : image,
    version,
  );
}

/** The first mention counts; undefined for a gate that is not named. */
function gateIn(gates: string, name: string): boolean | undefined {
  const words = gates.split(",").map((entry) => entry.split("=").map((word) => word.trim()));
  const value = words.find(([key]) => key === name)?.[1];
  return value === undefined ? undefined : /^(true|t|1)$/i.test(value);
}

function gatesOf({ featureGates, externalCerts }: ChartValues): string {
  const isNamed = gateIn(featureGates, "EnableExternalCerts") !== undefined;
  if (!externalCerts.certManager.enabled || isNamed) return featureGates;
  return [featureGates, "EnableExternalCerts=true"].filter((text) => text !== "").join(",");
}

function isOn(values: ChartValues, gate: string, group: string): boolean {
  const gates = gatesOf(values);
  return gateIn(gates, gate) ?? gateIn(gates, group) ?? false;
}

function isThere({ kind = "", metadata: { name = "" } }: AnyObject, values: ChartValues): boolean {
  if (kind === "CustomResourceDefinition") return values.crds.managed;
  if (kind === "NetworkPolicy") return values.networkPolicy.enabled;
  if (kind === "DaemonSet") return gateIn(values.featureGates, "KruiseDaemon") !== false;
  if (kind === "Namespace" && name === values.installation.namespace)
    return values.installation.createNamespace;
  const isOfCertificates = kind === "Secret" || name.startsWith("kruise-certs-");
  return !(isOfCertificates && isOn(values, "EnableExternalCerts", "AllAlpha"));
}

const set = (path: string, value: unknown): JsonPatchOperation => ({ op: "add", path, value });
const setUnlessEmpty = (path: string, value: object): JsonPatchOperation[] =>
  Object.keys(value).length === 0 ? [] : [set(path, value)];

const pod = "/spec/template/spec";
const container = `${pod}/containers/0`;

function patchesOf(each: AnyObject, values: ChartValues): JsonPatchOperation[] {
  switch (each.kind) {
    case "CustomResourceDefinition":
      return JSON.stringify(each["spec"]).includes('"conversion":{"strategy":"Webhook"')
        ? setUnlessEmpty("/metadata/annotations", certificateAnnotations(values))
        : [];
    case "ServiceAccount":
      return setUnlessEmpty("/metadata/annotations", values.serviceAccount.annotations);
    case "ClusterRole":
      return each.metadata.name === "kruise-definition-guard-role"
        ? [set("/rules/0/apiGroups", values.installation.roleListGroups)]
        : [];
    case "Deployment":
      return deploymentPatches(values);
    case "DaemonSet":
      return daemonSetPatches(values);
    case "MutatingWebhookConfiguration":
    case "ValidatingWebhookConfiguration":
      return webhookPatches(each, values);
    default:
      return [];
  }
}

function certificateAnnotations(values: ChartValues): Texts {
  if (!isOn(values, "EnableExternalCerts", "AllAlpha")) return {};
  const { annotations, certManager } = values.externalCerts;
  const from = `${values.installation.namespace}/kruise-webhook-certs`;
  return { ...annotations, ...(certManager.enabled ? { "cert-manager.io/inject-ca-from": from } : {}) };
}

function deploymentPatches({ imagePullSecrets, manager }: ChartValues): JsonPatchOperation[] {
  const { hostNetwork, loggingFormat, pprofAddr } = manager;
  const args = `${container}/args`;
  return [
    ...setUnlessEmpty(`${pod}/imagePullSecrets`, imagePullSecrets),
    ...setUnlessEmpty(`${pod}/nodeSelector`, manager.nodeSelector),
    ...setUnlessEmpty(`${pod}/tolerations`, manager.tolerations),
    ...setUnlessEmpty(`${pod}/affinity/nodeAffinity`, manager.nodeAffinity),
    ...(hostNetwork
      ? [set(`${pod}/hostNetwork`, true), set(`${pod}/dnsPolicy`, "ClusterFirstWithHostNet")]
      : []),
    set(`${container}/resources`, manager.resources),
    { op: "test", path: `${args}/2`, value: "--logging-format=json" },
    { op: "replace", path: `${args}/2`, value: `--logging-format=${loggingFormat || "text"}` },
    { op: "test", path: `${args}/4`, value: "--enable-pprof=true" },
    { op: "test", path: `${args}/5`, value: "--pprof-addr=localhost:8090" },
    ...(pprofAddr === ""
      ? ([5, 4] as const).map((index): JsonPatchOperation => ({ op: "remove", path: `${args}/${index}` }))
      : [{ op: "replace", path: `${args}/5`, value: `--pprof-addr=${pprofAddr}` } as const]),
  ];
}

function daemonSetPatches({ imagePullSecrets, daemon }: ChartValues): JsonPatchOperation[] {
  const { configmap, enable, hostPath, awsCredentialsDir } = daemon.credentialProvider;
  const file = "CredentialProviderPlugin.yaml";
  const mounts = [
    { name: "credential-provider-config", mountPath: `/kruise/${file}`, subPath: file, readOnly: true },
    { name: "credential-provider-plugin", mountPath: "/kruise/plugins", readOnly: true },
    { name: "aws-credentials", mountPath: "/root/.aws", readOnly: true },
  ];
  const volumes = [
    { name: "credential-provider-config", configMap: { name: configmap } },
    { name: "credential-provider-plugin", hostPath: { path: hostPath, type: "" } },
    { name: "aws-credentials", hostPath: { path: awsCredentialsDir, type: "" } },
  ];
  const count = enable ? (awsCredentialsDir === "" ? 2 : 3) : 0;
  const appended = (path: string, all: readonly object[]) => all.map((value) => set(`${path}/-`, value));
  return [
    ...setUnlessEmpty(`${pod}/imagePullSecrets`, imagePullSecrets),
    ...setUnlessEmpty(`${pod}/nodeSelector`, daemon.nodeSelector),
    set(`${pod}/affinity`, daemon.affinity),
    set(`${container}/resources`, daemon.resources),
    ...appended(`${container}/env`, daemon.extraEnvs),
    ...appended(`${container}/volumeMounts`, mounts.slice(0, count)),
    ...appended(`${pod}/volumes`, volumes.slice(0, count)),
  ];
}

function webhookPatches(configuration: AnyObject, values: ChartValues): JsonPatchOperation[] {
  const all: readonly unknown[] = Array.isArray(configuration["webhooks"]) ? configuration["webhooks"] : [];
  const managedByAks = [
    { key: "control-plane", operator: "NotIn", values: ["true"] },
    { key: "kubernetes.azure.com/managedby", operator: "NotIn", values: ["aks"] },
  ];
  const { aksIntegration, timeoutSeconds } = values.webhookConfiguration;
  const patches = all.flatMap((webhook, index): JsonPatchOperation[] => {
    const selector = `/webhooks/${index}/namespaceSelector`;
    const timeout = set(`/webhooks/${index}/timeoutSeconds`, timeoutSeconds);
    if (!aksIntegration) return [timeout];
    return JSON.stringify(webhook).includes('"namespaceSelector":{"matchExpressions":[')
      ? [timeout, ...managedByAks.map((expression) => set(`${selector}/matchExpressions/-`, expression))]
      : [timeout, set(selector, { matchExpressions: managedByAks })];
  });
  const ofPods = all
    .map((webhook, index) => ({ index, text: JSON.stringify(webhook) }))
    .filter(({ text }) => /"name":"[mv]pod(eviction)?\.kb\.io"/.test(text))
    .reverse();
  const removed = gateIn(values.featureGates, "PodWebhook") === false ? ofPods : [];
  return [
    ...Object.entries(certificateAnnotations(values)).map(([name, value]) =>
      set(`/metadata/annotations/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, value),
    ),
    ...patches,
    ...removed.map(({ index }): JsonPatchOperation => ({ op: "remove", path: `/webhooks/${index}` })),
  ];
}

function certManagerObjects(
  namespace: string,
  { enabled, issuerRef }: ChartValues["externalCerts"]["certManager"],
): AnyObject[] {
  if (!enabled) return [];
  const made = (kind: string, name: string, spec: object) =>
    object("cert-manager.io/v1", kind, { name, namespace }, { spec });
  const certificate = (name: string, spec: object) =>
    made("Certificate", name, {
      secretName: name,
      privateKey: { algorithm: "ECDSA", size: 256 },
      ...spec,
    });
  const [self, authority] = ["kruise-webhook-selfsigned", "kruise-webhook-ca"];
  const isOwn = Object.keys(issuerRef).length === 0;
  const own = [
    made("Issuer", self, { selfSigned: {} }),
    certificate(authority, {
      isCA: true,
      commonName: authority,
      duration: "87600h",
      issuerRef: { kind: "Issuer", name: self },
    }),
    made("Issuer", authority, { ca: { secretName: authority } }),
  ];
  return [
    ...(isOwn ? own : []),
    certificate("kruise-webhook-certs", {
      dnsNames: [`kruise-webhook-service.${namespace}.svc`, "localhost"],
      usages: ["digital signature", "key encipherment", "server auth"],
      issuerRef: isOwn ? { kind: "Issuer", name: authority } : issuerRef,
    }),
  ];
}

function uninstallHook(namespace: string, values: ChartValues, version: string): AnyObject[] {
  const account = { name: "kruise-helm-hook", namespace };
  const hook = (weight: string) => ({
    "helm.sh/hook": "pre-delete",
    "helm.sh/hook-weight": weight,
    "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
  });
  const access = [
    object("v1", "ServiceAccount", account),
    ...roleOf(account, account.name, uninstallRules()),
  ];
  const { image } = values.helmHooks;
  const isOwn = image.repository === "" || /(^|\/)kruise-helm-hook$/.test(image.repository);
  const podSpec = {
    serviceAccountName: account.name,
    restartPolicy: "Never",
    securityContext: { runAsUser: 65_534, runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "check",
        image: isOwn ? controllerImageOf(values, version) : imageOf(image, version),
        imagePullPolicy: "IfNotPresent",
        command: [...refitProgram, "uninstall", "--check"],
        securityContext: {
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
        },
      },
    ],
  };
  const job = object(
    "batch/v1",
    "Job",
    { name: "kruise-finalizer", namespace, annotations: hook("0") },
    { spec: { backoffLimit: 0, activeDeadlineSeconds: 120, template: { spec: podSpec } } },
  );
  const patches = [
    ...setUnlessEmpty(`${pod}/imagePullSecrets`, values.imagePullSecrets),
    ...setUnlessEmpty(`${pod}/nodeSelector`, values.manager.nodeSelector),
    ...setUnlessEmpty(`${pod}/tolerations`, values.manager.tolerations),
  ];
  return [
    ...access.map((each) => ({ ...each, metadata: { ...each.metadata, annotations: hook("-1") } })),
    { ...job, ...applyJsonPatch(job, patches) },
  ];
}
