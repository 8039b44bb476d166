/** The chart's templates: the objects of an installation with the places that values fill. */
import {
  agentCommand,
  definitions,
  type InstallOptions,
  installObjects,
  installReasons,
  object,
  refitProgram,
  roleOf,
} from "../../cli/install/index.ts";
import { type FeatureGate, featureGateDefaults, kinds } from "../../controller/index.ts";
import {
  applyJsonPatch,
  isJsonObject,
  type JsonObject,
  type JsonPatchOperation,
} from "../../kube/core/index.ts";
import { Holes } from "./template.ts";
import { chartValues, controllerImage } from "./values.ts";

const values = (path: string): string => `.Values.${path}`;

/** A value that the reference's charts lack: with `--reuse-values` it is missing in the first upgrade from there. */
function ownValue(path: string): string {
  const found = chartValues.find((value) => value.path === path);
  if (found === undefined || found.reference !== undefined)
    throw new Error(`${path} is no value of this chart alone`);
  const names = path.split(".").map((name) => JSON.stringify(name));
  return `dig ${names.join(" ")} ${literal(found.default)} .Values.AsMap`;
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `(list ${value.map(literal).join(" ")})`.replace(" )", ")");
  if (isJsonObject(value) && Object.keys(value).length === 0) return "(dict)";
  return JSON.stringify(value);
}

const named = (template: string): string => `include "refit.${template}" .`;
const isGateOff = (gate: string): string => `include "refit.gateOff" (list . "${gate}")`;
const isGateOn = (gate: FeatureGate): string => {
  const group =
    featureGateDefaults.find(({ name }) => name === gate)?.stage === "beta" ? "AllBeta" : "AllAlpha";
  return `include "refit.gateOn" (list . "${gate}" "${group}")`;
};

type InstallObject = ReturnType<typeof installObjects>[number];

/** Text of each file below `templates/`, by its name. */
export function chartTemplates(): ReadonlyMap<string, string> {
  const holes = new Holes();
  const namespace = holes.text(values("installation.namespace"), "word");
  const files = new Map<string, string>([["_images.tpl", imageTemplates()]]);
  const write = (file: string, text: string): void => {
    files.set(file, (files.get(file) ?? header) + text);
  };
  for (const each of installObjects(installOptions(holes, namespace))) {
    if (each.kind === "CustomResourceDefinition") continue;
    const patches = patchesOf(each, holes);
    const patched = patches.length === 0 ? each : applyJsonPatch(each, patches);
    const comments = withoutComments(installReasons[nameOf(each)] ?? {}, patches);
    write(fileOf(each), conditional(conditionOf(each, namespace), holes.yaml(patched, comments)));
  }
  for (const [condition, each] of certManagerObjects(holes, namespace))
    write("cert_manager.yaml", conditional(condition, holes.yaml(each)));
  for (const each of uninstallHook(holes, namespace))
    write("uninstall_hook.yaml", conditional(undefined, holes.yaml(each)));
  return files;
}

const header =
  "{{- /* Written by `node tools/chart.ts` from cli/install and tools/chart: changes belong there. */}}\n";

function conditional(condition: string | undefined, text: string): string {
  return condition === undefined ? `---\n${text}` : `{{- if ${condition} }}\n---\n${text}{{- end }}\n`;
}

function nameOf({ kind, metadata }: InstallObject): string {
  return `${kind}/${metadata.name}`;
}

function installOptions(holes: Holes, namespace: string): InstallOptions {
  const given = (flag: string, expression: string): string =>
    holes.either(expression, [`--${flag}=${holes.text(expression)}`]);
  const gates = given("feature-gates", named("featureGates"));
  return {
    namespace,
    webhookHost: undefined,
    webhookPort: holes.number(values("manager.webhook.port")),
    webhookTimeoutSeconds: holes.number(values("webhookConfiguration.timeoutSeconds")),
    guardsDefinitions: true,
    distributesResources: true,
    controller: {
      image: holes.text(named("controllerImage")),
      replicas: holes.number(values("manager.replicas")),
      flags: [given("v", values("manager.log.level")), gates, holes.items(ownValue("manager.extraArgs"))],
      serverPorts: [],
      ports: {
        metrics: holes.number(values("manager.metrics.port")),
        health: holes.number(values("manager.healthProbe.port")),
      },
    },
    agent: {
      image: holes.text(named("agentImage")),
      runtime: "node",
      socketFolder: holes.text(values("daemon.socketLocation")),
      port: holes.number(values("daemon.port")),
      flags: [
        given("v", values("daemon.log.level")),
        given("socket-file", values("daemon.socketFile")),
        gates,
        holes.items(ownValue("daemon.extraArgs")),
      ],
    },
  };
}

/** What the value alone decides, beyond what the options of an installation can say. */
function patchesOf(each: InstallObject, holes: Holes): readonly JsonPatchOperation[] {
  const name = nameOf(each);
  if (each.kind?.endsWith("WebhookConfiguration")) return webhookPatches(each, holes);
  if (each.kind === "ServiceAccount")
    return [add("/metadata", holes.fields(values("serviceAccount.annotations"), "annotations"))];
  return (patches[name]?.(holes) ?? []).flat();
}

function webhookPatches(configuration: InstallObject, holes: Holes): JsonPatchOperation[] {
  const webhooks = configuration["webhooks"];
  if (!Array.isArray(webhooks) || !webhooks.every(isJsonObject))
    throw new Error(`${nameOf(configuration)} has no webhooks`);
  const conditioned = webhooks.map((webhook) => {
    const outsideAks = withoutAks(webhook, holes);
    return isPodWebhook(webhook)
      ? holes.either(`not (${isGateOff("PodWebhook")})`, [outsideAks])
      : outsideAks;
  });
  return [
    { op: "replace", path: "/webhooks", value: conditioned },
    add("/metadata/annotations", annotationsOfCertificates(holes)),
  ];
}

/** With the namespaces that AKS manages left out of what the webhook sees, on request. */
function withoutAks(webhook: JsonObject, holes: Holes): JsonObject {
  const { namespaceSelector } = webhook;
  const condition = values("webhookConfiguration.aksIntegration");
  if (namespaceSelector === undefined)
    return {
      ...webhook,
      ...holes.fieldsIf(condition, { namespaceSelector: { matchExpressions: managedByAks } }),
    };
  const matches = isJsonObject(namespaceSelector) ? namespaceSelector["matchExpressions"] : undefined;
  if (!Array.isArray(matches))
    throw new Error(`${webhook["name"]} selects namespaces by other than expressions`);
  return {
    ...webhook,
    namespaceSelector: { matchExpressions: [...matches, holes.either(condition, managedByAks)] },
  };
}

/** What AKS itself writes into all webhooks: without it the two would change them in turns. */
const managedByAks = [
  { key: "control-plane", operator: "NotIn", values: ["true"] },
  { key: "kubernetes.azure.com/managedby", operator: "NotIn", values: ["aks"] },
];

const isPodWebhook = (webhook: JsonObject): boolean =>
  /^[mv]pod(eviction)?\.kb\.io$/.test(String(webhook["name"]));

function annotationsOfCertificates(holes: Holes): Record<string, null> {
  return holes.fields(`(fromYaml (${named("certificateAnnotations")}))`);
}

const pod = "/spec/template/spec";
const container = `${pod}/containers/0`;

const patches: Readonly<
  Record<string, (holes: Holes) => readonly (JsonPatchOperation | JsonPatchOperation[])[]>
> = {
  "ClusterRole/kruise-definition-guard-role": (holes) => [
    { op: "replace", path: "/rules/0/apiGroups", value: holes.tree(values("installation.roleListGroups")) },
  ],
  "NetworkPolicy/kruise-controller-manager": (holes) => [
    {
      op: "replace",
      path: "/spec/egress/0/ports",
      value: holes.lines(
        `{{- range ${ownValue("networkPolicy.apiServerPorts")} }}`,
        "- port: {{ . }}",
        "  protocol: TCP",
        "{{- end }}",
      ),
    },
  ],
  "Deployment/kruise-controller-manager": (holes) => [
    add(pod, holes.fields(values("imagePullSecrets"), "imagePullSecrets")),
    add(
      pod,
      holes.fieldsIf(values("manager.hostNetwork"), {
        hostNetwork: true,
        dnsPolicy: "ClusterFirstWithHostNet",
      }),
    ),
    add(pod, holes.fields(values("manager.nodeSelector"), "nodeSelector")),
    add(pod, holes.fields(values("manager.tolerations"), "tolerations")),
    add(`${pod}/affinity`, holes.fields(values("manager.nodeAffinity"), "nodeAffinity")),
    { op: "test", path: `${container}/args/2`, value: "--logging-format=json" },
    {
      op: "replace",
      path: `${container}/args/2`,
      value: `--logging-format=${holes.text(`${values("manager.loggingFormat")} | default "text"`, "word")}`,
    },
    { op: "test", path: `${container}/args/4`, value: "--enable-pprof=true" },
    { op: "test", path: `${container}/args/5`, value: "--pprof-addr=localhost:8090" },
    { op: "remove", path: `${container}/args/5` },
    { op: "replace", path: `${container}/args/4`, value: debugFlags(holes) },
    { op: "replace", path: `${container}/resources`, value: holes.tree(values("manager.resources")) },
  ],
  "DaemonSet/kruise-daemon": (holes) => [
    add(pod, holes.fields(values("imagePullSecrets"), "imagePullSecrets")),
    add(pod, holes.fields(values("daemon.nodeSelector"), "nodeSelector")),
    { op: "replace", path: `${pod}/affinity`, value: holes.tree(values("daemon.affinity")) },
    { op: "replace", path: `${container}/command`, value: agentCommands(holes) },
    { op: "replace", path: `${container}/resources`, value: holes.tree(values("daemon.resources")) },
    append(`${container}/env`, holes.items(values("daemon.extraEnvs"))),
    append(`${container}/volumeMounts`, holes.either(withPlugins, pluginMounts(holes))),
    append(`${pod}/volumes`, holes.either(withPlugins, pluginVolumes(holes))),
  ],
};

function debugFlags(holes: Holes): string {
  const address = values("manager.pprofAddr");
  return holes.either(address, ["--enable-pprof=true", `--pprof-addr=${holes.text(address)}`]);
}

/** A field whose name is a mark, which needs no escaping in a pointer. */
function add(path: string, field: Record<string, null>): JsonPatchOperation {
  return { op: "add", path: `${path}/${Object.keys(field)[0]}`, value: null };
}

function append(path: string, value: unknown): JsonPatchOperation {
  return { op: "add", path: `${path}/-`, value };
}

/** As an installation with either runtime has it. */
function agentCommands(holes: Holes): string {
  const condition = `eq "deno" (${ownValue("daemon.runtime")})`;
  return holes.either(condition, agentCommand("deno"), agentCommand("node"));
}

const withPlugins = values("daemon.credentialProvider.enable");
const withAws = values("daemon.credentialProvider.awsCredentialsDir");

function pluginMounts(holes: Holes): unknown[] {
  const file = "CredentialProviderPlugin.yaml";
  return [
    { name: "credential-provider-config", mountPath: `/kruise/${file}`, subPath: file, readOnly: true },
    { name: "credential-provider-plugin", mountPath: "/kruise/plugins", readOnly: true },
    holes.either(withAws, [{ name: "aws-credentials", mountPath: "/root/.aws", readOnly: true }]),
  ];
}

function pluginVolumes(holes: Holes): unknown[] {
  const hostPath = (expression: string) => ({ path: holes.text(expression), type: "" });
  const map = { name: holes.text(values("daemon.credentialProvider.configmap")) };
  return [
    { name: "credential-provider-config", configMap: map },
    { name: "credential-provider-plugin", hostPath: hostPath(values("daemon.credentialProvider.hostPath")) },
    holes.either(withAws, [{ name: "aws-credentials", hostPath: hostPath(withAws) }]),
  ];
}

/** A reason speaks of what it stands above: not of what a value may have replaced. */
function withoutComments(
  comments: Readonly<Record<string, string>>,
  applied: readonly JsonPatchOperation[],
): Record<string, string> {
  const replaced = new Set(
    applied.filter(({ op }) => op === "replace").map(({ path }) => path.slice(1).replaceAll("/", ".")),
  );
  return Object.fromEntries(Object.entries(comments).filter(([path]) => !replaced.has(path)));
}

const conditions: Readonly<Record<string, string>> = {
  "Secret/kruise-webhook-certs": `not (${isGateOn("EnableExternalCerts")})`,
  "NetworkPolicy/kruise-controller-manager": ownValue("networkPolicy.enabled"),
  "DaemonSet/kruise-daemon": `not (${isGateOff("KruiseDaemon")})`,
};

function conditionOf(each: InstallObject, namespace: string): string | undefined {
  const name = each.metadata.name ?? "";
  if (each.kind === "Namespace" && name === namespace) return values("installation.createNamespace");
  if (name.startsWith("kruise-certs-")) return `not (${isGateOn("EnableExternalCerts")})`;
  if (name.startsWith("kruise-definition-guard-")) return isGateOn("DeletionProtectionForCRDCascadingGate");
  if (name.startsWith("kruise-resource-distribution-")) return isGateOn("ResourceDistributionGate");
  return conditions[nameOf(each)];
}

function fileOf({ apiVersion = "", kind = "" }: InstallObject): string {
  if (apiVersion.startsWith("rbac.") || kind === "ServiceAccount") return "rbac.yaml";
  if (kind === "Namespace" || kind === "ResourceQuota") return "namespaces.yaml";
  if (kind.endsWith("WebhookConfiguration")) return "webhook_configurations.yaml";
  return kind === "DaemonSet" ? "daemon.yaml" : "manager.yaml";
}

/**
 * What cert-manager is asked for, each with its condition. Without an issuer of the user's: an authority that signs itself, and
 * what it signs, so that a renewed certificate is trusted by whoever trusted the former one.
 */
function certManagerObjects(holes: Holes, namespace: string): readonly (readonly [string, object])[] {
  const enabled = ownValue("externalCerts.certManager.enabled");
  const issuerRef = ownValue("externalCerts.certManager.issuerRef");
  const issuer = (name: string, spec: object) =>
    object("cert-manager.io/v1", "Issuer", { name, namespace }, { spec });
  const certificate = (name: string, spec: object) =>
    object(
      "cert-manager.io/v1",
      "Certificate",
      { name, namespace },
      { spec: { secretName: name, privateKey: { algorithm: "ECDSA", size: 256 }, ...spec } },
    );
  const root = "kruise-webhook-selfsigned";
  const authority = "kruise-webhook-ca";
  const service = `kruise-webhook-service.${namespace}.svc`;
  const own = `and (${enabled}) (not (${issuerRef}))`;
  return [
    [own, issuer(root, { selfSigned: {} })],
    [
      own,
      certificate(authority, {
        isCA: true,
        commonName: authority,
        duration: "87600h",
        issuerRef: { kind: "Issuer", name: root },
      }),
    ],
    [own, issuer(authority, { ca: { secretName: authority } })],
    [
      enabled,
      certificate("kruise-webhook-certs", {
        // The server asks itself at localhost whether it can be reached.
        dnsNames: [service, "localhost"],
        usages: ["digital signature", "key encipherment", "server auth"],
        ...holes.fields(`(${issuerRef})`, "issuerRef"),
        ...holes.fieldsIf(`not (${issuerRef})`, { issuerRef: { kind: "Issuer", name: authority } }),
      }),
    ],
  ];
}

/** What asks, before anything is removed, whether objects are left that would go with their definitions. Spec: platform 9, 15. */
function uninstallHook(holes: Holes, namespace: string): object[] {
  const account = { name: "kruise-helm-hook", namespace };
  const listed = Map.groupBy(
    kinds.filter(({ perNode }) => !perNode),
    ({ resource }) => resource.group,
  );
  const rules = [...listed].map(([group, of]) => ({
    apiGroups: [group],
    resources: of.map(({ resource }) => resource.plural),
    verbs: ["list"],
  }));
  const hook = (weight: number) => ({
    "helm.sh/hook": "pre-delete",
    "helm.sh/hook-weight": String(weight),
    "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
  });
  const access = [object("v1", "ServiceAccount", account), ...roleOf(account, account.name, rules)];
  return [
    ...access.map((each) => ({ ...each, metadata: { ...each.metadata, annotations: hook(-1) } })),
    object(
      "batch/v1",
      "Job",
      { name: `${holes.text(".Release.Name", "word")}-finalizer`, namespace, annotations: hook(0) },
      {
        spec: {
          backoffLimit: 0,
          activeDeadlineSeconds: 120,
          template: { spec: hookPod(holes, account.name) },
        },
      },
    ),
  ];
}

function hookPod(holes: Holes, account: string): object {
  return {
    serviceAccountName: account,
    restartPolicy: "Never",
    ...holes.fields(values("imagePullSecrets"), "imagePullSecrets"),
    ...holes.fields(values("manager.nodeSelector"), "nodeSelector"),
    ...holes.fields(values("manager.tolerations"), "tolerations"),
    securityContext: { runAsUser: 65_534, runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "check",
        image: holes.text(named("hookImage")),
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
}

/** Images of OpenKruise named in values that came from there: their programs are not these. */
function imageTemplates(): string {
  return `${header}
{{- /* Image of a repository and a tag or digest; an empty tag is the chart's version. */}}
{{- define "refit.image" -}}
{{- $tag := .tag | default .chart.AppVersion | toString -}}
{{ .repository }}{{ if hasPrefix "sha256:" $tag }}@{{ else }}:{{ end }}{{ $tag }}
{{- end }}

{{- define "refit.controllerImage" -}}
{{- $image := .Values.manager.image -}}
{{- if regexMatch "^(docker\\\\.io/)?openkruise/kruise-manager$" $image.repository -}}
{{- include "refit.image" (dict "chart" .Chart "repository" "${controllerImage}") -}}
{{- else if regexMatch "(^|/)kruise-manager$" $image.repository -}}
{{- fail (printf "manager.image.repository=%s is OpenKruise's manager: name an image of this chart's controller, or leave the value out" $image.repository) -}}
{{- else -}}
{{- include "refit.image" (dict "chart" .Chart "repository" $image.repository "tag" $image.tag) -}}
{{- end -}}
{{- end }}

{{- define "refit.agentImage" -}}
{{- $repository := ${ownValue("daemon.image.repository")} -}}
{{- include "refit.image" (dict "chart" .Chart "repository" $repository "tag" (${ownValue("daemon.image.tag")})) -}}
{{- end }}

{{- define "refit.hookImage" -}}
{{- $image := .Values.helmHooks.image -}}
{{- if or (not $image.repository) (regexMatch "(^|/)kruise-helm-hook$" $image.repository) -}}
{{- include "refit.controllerImage" . -}}
{{- else -}}
{{- include "refit.image" (dict "chart" .Chart "repository" $image.repository "tag" $image.tag) -}}
{{- end -}}
{{- end }}
`;
}

/** The definitions as an installation into the default namespace has them: files that serve the chart and kustomizations. */
export function definitionFiles(): ReadonlyMap<string, object> {
  const all = definitions({ namespace: "kruise-system", webhookHost: undefined, webhookPort: 9876 });
  return new Map(all.map((definition) => [`${definition.metadata.name}.yaml`, definition]));
}
