/** Every field and every word of pod templates that Kubernetes 1.34 publishes is known, and no other word is taken. */
import { readFileSync } from "node:fs";
import t from "tap";
import {
  coreStruct,
  defaultPodTemplate,
  formatFieldErrors,
  isJsonObject,
  type JsonObject,
  validatePodTemplate,
} from "../../index.ts";

/**
 * By type, the names of its fields; by type and field, the words that it may hold. From the OpenAPI document of an API server,
 * with the words that the API's comments name where the document has none. `restartPolicy` of containers is that of init containers:
 * the words for others belong to gate ContainerRestartRules, which is off in 1.34; the reference refuses them, as servers up to 1.33 do.
 */
const file = new URL("testdata/pod_template_1_34.json", import.meta.url);
const published: unknown = JSON.parse(readFileSync(file, "utf8"));

function textsIn(table: "fields" | "words"): Map<string, readonly string[]> {
  const entries = isJsonObject(published) && isJsonObject(published[table]) ? published[table] : {};
  return new Map(
    Object.entries(entries).map(([name, texts]) => [name, Array.isArray(texts) ? texts.map(String) : []]),
  );
}

t.test("the types have the published fields, and no others", (t) => {
  const types = textsIn("fields");
  t.ok(types.size > 90);
  for (const [name, fields] of types)
    t.strictSame([...(coreStruct(name)?.keys() ?? [])].sort(), fields, name);
  t.end();
});

const spec = (more: object) => ({ containers: [{ name: "c", image: "i" }], ...more });
const main = (more: object) => ({ containers: [{ name: "c", image: "i", ...more }] });
const volume = (source: object) => spec({ volumes: [{ name: "v", ...source }] });
const claim = (more: object) => {
  const resources = { requests: { storage: "1Gi" } };
  const claimed = { accessModes: ["ReadWriteOnce"], resources, ...more };
  return volume({ ephemeral: { volumeClaimTemplate: { spec: claimed } } });
};
const mounted = (mount: object) => ({
  ...volume({ emptyDir: {} }),
  ...main({
    volumeMounts: [{ name: "v", mountPath: "/v", ...mount }],
    securityContext: { privileged: true },
  }),
});
const spread = (more: object) =>
  spec({
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "zone",
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: { a: "b" } },
        ...more,
      },
    ],
  });
const pod = (securityContext: object) => spec({ securityContext });
const toleration = (more: object) => spec({ tolerations: [{ key: "k", ...more }] });

/** A pod's spec with the word where the field is. */
const placed: Readonly<Record<string, (word: string) => object>> = {
  "AppArmorProfile.type": (type) =>
    pod({ appArmorProfile: { type, ...(type === "Localhost" ? { localhostProfile: "p" } : {}) } }),
  "AzureDiskVolumeSource.cachingMode": (cachingMode) =>
    volume({ azureDisk: { diskName: "d", diskURI: "https://blob/d", cachingMode, kind: "Shared" } }),
  "AzureDiskVolumeSource.kind": (kind) =>
    volume({
      azureDisk: { diskName: "d", diskURI: kind === "Managed" ? "/subscriptions/d" : "https://blob/d", kind },
    }),
  "Container.imagePullPolicy": (imagePullPolicy) => main({ imagePullPolicy }),
  "Container.restartPolicy": (restartPolicy) =>
    spec({ initContainers: [{ name: "i", image: "i", restartPolicy }] }),
  "Container.terminationMessagePolicy": (terminationMessagePolicy) => main({ terminationMessagePolicy }),
  "ContainerPort.protocol": (protocol) => main({ ports: [{ containerPort: 80, protocol }] }),
  "ContainerResizePolicy.resourceName": (resourceName) =>
    main({ resizePolicy: [{ resourceName, restartPolicy: "NotRequired" }] }),
  "ContainerResizePolicy.restartPolicy": (restartPolicy) =>
    main({ resizePolicy: [{ resourceName: "cpu", restartPolicy }] }),
  "HTTPGetAction.scheme": (scheme) => main({ livenessProbe: { httpGet: { path: "/", port: 80, scheme } } }),
  "HostPathVolumeSource.type": (type) => volume({ hostPath: { path: "/p", type } }),
  "ImageVolumeSource.pullPolicy": (pullPolicy) => volume({ image: { reference: "r", pullPolicy } }),
  "Lifecycle.stopSignal": (stopSignal) => ({ ...main({ lifecycle: { stopSignal } }), os: { name: "linux" } }),
  "NodeSelectorRequirement.operator": (operator) => {
    const values = /Exist/.test(operator) ? [] : ["1"];
    const nodeSelectorTerms = [{ matchExpressions: [{ key: "k", operator, values }] }];
    return spec({
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
    });
  },
  "PersistentVolumeClaimSpec.accessModes": (mode) => claim({ accessModes: [mode] }),
  "PersistentVolumeClaimSpec.volumeMode": (volumeMode) => claim({ volumeMode }),
  "PodCertificateProjection.keyType": (keyType) => {
    const podCertificate = { signerName: "example.com/signer", keyType, credentialBundlePath: "bundle" };
    return volume({ projected: { sources: [{ podCertificate }] } });
  },
  "PodOS.name": (name) => spec({ os: { name } }),
  "PodSecurityContext.fsGroupChangePolicy": (fsGroupChangePolicy) => pod({ fsGroupChangePolicy }),
  "PodSecurityContext.seLinuxChangePolicy": (seLinuxChangePolicy) => pod({ seLinuxChangePolicy }),
  "PodSecurityContext.supplementalGroupsPolicy": (supplementalGroupsPolicy) =>
    pod({ supplementalGroupsPolicy }),
  "PodSpec.dnsPolicy": (dnsPolicy) =>
    spec({ dnsPolicy, ...(dnsPolicy === "None" ? { dnsConfig: { nameservers: ["1.2.3.4"] } } : {}) }),
  "PodSpec.preemptionPolicy": (preemptionPolicy) => spec({ preemptionPolicy }),
  "PodSpec.restartPolicy": (restartPolicy) => spec({ restartPolicy }),
  "SeccompProfile.type": (type) =>
    pod({ seccompProfile: { type, ...(type === "Localhost" ? { localhostProfile: "p" } : {}) } }),
  "SecurityContext.procMount": (procMount) => ({
    ...main({ securityContext: { procMount } }),
    hostUsers: false,
  }),
  "Toleration.effect": (effect) => toleration({ effect, operator: "Exists" }),
  "Toleration.operator": (operator) => toleration({ operator }),
  "TopologySpreadConstraint.nodeAffinityPolicy": (nodeAffinityPolicy) => spread({ nodeAffinityPolicy }),
  "TopologySpreadConstraint.nodeTaintsPolicy": (nodeTaintsPolicy) => spread({ nodeTaintsPolicy }),
  "TopologySpreadConstraint.whenUnsatisfiable": (whenUnsatisfiable) => spread({ whenUnsatisfiable }),
  "VolumeMount.mountPropagation": (mountPropagation) => mounted({ mountPropagation }),
  "VolumeMount.recursiveReadOnly": (recursiveReadOnly) =>
    mounted({ recursiveReadOnly, readOnly: true, mountPropagation: "None" }),
};

function complaints(podSpec: object): string {
  const template: JsonObject = { metadata: { labels: { a: "b" } }, spec: { ...podSpec } };
  const defaulted = defaultPodTemplate(template, { imagePullPolicy: "ByTag" });
  return formatFieldErrors(validatePodTemplate(defaulted, "template"));
}

t.test("every published word is taken, and another one is refused", (t) => {
  const words = textsIn("words");
  t.strictSame([...words.keys()].sort(), Object.keys(placed).sort());
  for (const [field, known] of words) {
    for (const word of known) t.equal(complaints(placed[field]?.(word) ?? {}), "", `${field}: ${word}`);
    t.match(
      complaints(placed[field]?.("NoSuchWord") ?? {}),
      /(Unsupported|Invalid) value: "NoSuchWord"/,
      field,
    );
  }
  t.end();
});
