import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { parse, parseAllDocuments, stringify } from "yaml";
import { featureGateDefaults } from "../controller/index.ts";
import { run } from "../testkit/cli/command_fixture.ts";
import { helm, helmMissing } from "../testkit/cli/helm_fixture.ts";
import { missing, programPath } from "../testkit/cli/program_path.ts";
import { Holes } from "./chart/template.ts";
import { agentImage, chartValues, controllerImage, defaultValues } from "./chart/values.ts";
import { root, staleFiles } from "./chart.ts";

const runFile = promisify(execFile);
const chart = join(root, "bundles/chart");
const openKruiseValues = join(root, "tools/chart/testdata/openkruise_values.yaml");
const release = "0.1.0";

type Objects = Readonly<Record<string, unknown>>;

/** By kind, namespace and name. */
function objectsIn(text: string): Objects {
  const objects = parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((object) => object !== null);
  return Object.fromEntries(
    objects
      .map(({ kind, metadata: { namespace = "", name } }) => `${kind}/${namespace}/${name}`)
      .map((name, index) => [name, objects[index]] as const)
      .sort(([left], [right]) => (left < right ? -1 : 1)),
  );
}

function template(t: Test, values: unknown, ...more: readonly string[]) {
  const home = t.testdir();
  const file = join(home, "values.yaml");
  writeFileSync(file, typeof values === "string" ? values : stringify(values));
  const args = ["template", "kruise", chart, "--kube-version", "1.34.0", "--values", file, ...more];
  return helm(home, ...args);
}

async function rendered(t: Test, values: unknown, ...more: readonly string[]): Promise<Objects> {
  const { code, stdout, stderr } = await template(t, values, "--no-hooks", ...more);
  t.equal(code, 0, stderr);
  return objectsIn(stdout);
}

async function manifests(t: Test, flags: string): Promise<Objects> {
  const { code, stdout, stderr } = await run(`manifests ${flags}`);
  t.equal(code, 0, stderr);
  return objectsIn(stdout);
}

t.test("the chart is what the manifest code and the table of values give", async (t) => {
  t.same(staleFiles(), [], "node tools/chart.ts writes them");
});

t.test("a hole keeps its place and its type", async (t) => {
  const holes = new Holes();
  const port = holes.number(".port");
  const text = holes.yaml({
    metadata: { ...holes.fields(".labels", "labels") },
    spec: {
      port,
      env: [{ name: "PORT", value: String(port) }],
      args: [`--addr=:${port}`, holes.either(".gates", [`--gates=${holes.text(".gates")}`])],
      name: holes.text(".name", "word"),
      command: holes.either(".deno", ["deno"], ["node"]),
    },
  });
  t.matchOnlyStrict(text.split("\n"), [
    "metadata:",
    "  {{- with .labels }}",
    "  labels:",
    "    {{- toYaml . | nindent 4 }}",
    "  {{- end }}",
    "spec:",
    "  port: {{ .port }}",
    "  env:",
    "    - name: PORT",
    "      value: {{ .port | quote }}",
    "  args:",
    "    - --addr=:{{ .port }}",
    "    {{- if .gates }}",
    '    - {{ printf "--gates=%v" (.gates) | quote }}',
    "    {{- end }}",
    "  name: {{ .name | quote }}",
    "  command:",
    "    {{- if .deno }}",
    "    - deno",
    "    {{- else }}",
    "    - node",
    "    {{- end }}",
    "",
  ]);
  t.throws(() => holes.yaml({ text: "{{ .Values.x }}" }), /no expression/);
  t.throws(() => holes.yaml({ text: `a ${holes.tree(".b")} c` }), /within a text/);
});

t.test("defaults of the two charts that differ are named as such", async (t) => {
  const openKruise: unknown = parse(readFileSync(openKruiseValues, "utf8"));
  const valueAt = (tree: unknown, path: string): unknown =>
    path
      .split(".")
      .reduce<unknown>((at, name) => (at instanceof Object ? Reflect.get(at, name) : undefined), tree);
  for (const { path, reference, default: own } of chartValues) {
    t.strictSame(valueAt(openKruise, path), reference === "the same" ? own : reference, path);
    t.strictSame(valueAt(defaultValues(), path), own, path);
  }
});

t.test("the kustomize base is what refit manifests prints", { skip: missing("kubectl") }, async (t) => {
  const built = await runFile(programPath("kubectl") ?? "", ["kustomize", join(root, "bundles/kustomize")], {
    maxBuffer: 64 * 1024 * 1024,
  });
  const images = `--controller-image ${controllerImage}:${release} --agent-image ${agentImage}:${release}`;
  t.same(objectsIn(built.stdout), await manifests(t, images));
});

t.test("with helm", { skip: helmMissing }, async (t) => {
  const gates = "--feature-gates=ImagePullJobGate=true";
  const images = `--controller-image ${controllerImage}:${release} --agent-image ${agentImage}:${release}`;

  await t.test("default values give what refit manifests prints", async (t) => {
    const expected = await manifests(t, `${images} --controller-flag=${gates} --agent-flag=${gates}`);
    t.same(await rendered(t, {}), expected);
  });

  await t.test("other values give what other flags print", async (t) => {
    const values = {
      installation: { namespace: "elsewhere" },
      featureGates: "ResourceDistributionGate=true,DeletionProtectionForCRDCascadingGate=true",
      manager: {
        image: { repository: "registry.local:5000/controller", tag: "sha256:abc" },
        replicas: 3,
        webhook: { port: 9999 },
        extraArgs: ["--shards=2"],
      },
      daemon: {
        image: { repository: "registry.local:5000/agent", tag: 7 },
        runtime: "deno",
        socketLocation: "/run/k3s",
        socketFile: "containerd.sock",
      },
      networkPolicy: { apiServerPorts: [1234] },
    };
    const expected = await manifests(
      t,
      [
        "--controller-namespace elsewhere --distribute-resources --guard-definitions",
        "--controller-image registry.local:5000/controller@sha256:abc --controller-replicas 3 --webhook-port 9999",
        `--controller-flag=--feature-gates=${values.featureGates} --controller-flag=--shards=2`,
        "--agent-image registry.local:5000/agent:7 --agent-runtime deno --agent-socket-folder /run/k3s",
        "--agent-flag=--socket-file=containerd.sock",
        `--agent-flag=--feature-gates=${values.featureGates} --api-server-port 1234`,
      ].join(" "),
    );
    t.same(await rendered(t, values), expected);
  });

  await t.test("a file with every value of OpenKruise's chart is taken as it is", async (t) => {
    const { code, stdout, stderr } = await helm(
      t.testdir(),
      ...["template", "kruise", chart, "--kube-version", "1.34.0", "--values", openKruiseValues],
    );
    t.equal(code, 0, stderr);
    const objects = objectsIn(stdout);
    const pod = { limits: { cpu: "200m", memory: "512Mi" }, requests: { cpu: "100m", memory: "256Mi" } };
    t.match(objects["Deployment/kruise-system/kruise-controller-manager"], {
      spec: {
        template: { spec: { containers: [{ image: `${controllerImage}:${release}`, resources: pod }] } },
      },
    });
    t.match(objects["Job/kruise-system/kruise-finalizer"], {
      spec: { template: { spec: { containers: [{ image: `${controllerImage}:${release}` }] } } },
    });
    t.match(objects["MutatingWebhookConfiguration//kruise-mutating-webhook-configuration"], {
      webhooks: [{ timeoutSeconds: 30 }],
    });
  });

  await t.test("gates leave out what has no use without them", async (t) => {
    const objects = await rendered(t, {
      featureGates: "PodWebhook=false, KruiseDaemon=false, AllAlpha=true",
      externalCerts: { annotations: { "cert-manager.io/inject-ca-from": "a/b" } },
      crds: { managed: false },
      installation: { createNamespace: false },
      networkPolicy: { enabled: false },
    });
    const absent =
      /^(DaemonSet|Secret|NetworkPolicy|CustomResourceDefinition)|kruise-(certs|resource-distribution)-|^Namespace\/\/kruise-system$/;
    t.strictSame(
      Object.keys(objects).filter((name) => absent.test(name)),
      [],
    );
    t.ok(objects["ClusterRole//kruise-definition-guard-role"]);
    const configuration = objects["ValidatingWebhookConfiguration//kruise-validating-webhook-configuration"];
    t.match(configuration, {
      metadata: { annotations: { "cert-manager.io/inject-ca-from": "a/b", template: "" } },
    });
    t.notMatch(JSON.stringify(configuration), /vpod\.kb\.io|vpodeviction/);
  });

  await t.test("rights follow the group of a gate's stage, and its own name before it", async (t) => {
    const roles = {
      DeletionProtectionForCRDCascadingGate: "definition-guard",
      ResourceDistributionGate: "resource-distribution",
    };
    const stages = new Map(featureGateDefaults.map(({ name, stage }) => [String(name), stage]));
    for (const group of ["AllAlpha", "AllBeta"]) {
      for (const [gate, role] of Object.entries(roles)) {
        const isOn = async (featureGates: string) =>
          `ClusterRole//kruise-${role}-role` in (await rendered(t, { featureGates }));
        t.equal(
          await isOn(`${group}=true`),
          `All${stages.get(gate)}`.toLowerCase() === group.toLowerCase(),
          gate,
        );
        t.equal(await isOn(`${group}=true,${gate}=false`), false);
        t.equal(await isOn(`${gate}=true,${group}=false`), true);
      }
    }
  });

  await t.test(
    "cert-manager is asked for the certificate, by an authority of its own or a given issuer",
    async (t) => {
      const annotations = { "cert-manager.io/inject-ca-from": "kruise-system/kruise-webhook-certs" };
      const enabled = (more: object) =>
        rendered(t, { externalCerts: { certManager: { enabled: true, ...more } } });
      const objects = await enabled({});
      const asked = (all: object) =>
        Object.keys(all)
          .filter((name) => /^(Issuer|Certificate)\//.test(name))
          .sort();
      t.strictSame(asked(objects), [
        "Certificate/kruise-system/kruise-webhook-ca",
        "Certificate/kruise-system/kruise-webhook-certs",
        "Issuer/kruise-system/kruise-webhook-ca",
        "Issuer/kruise-system/kruise-webhook-selfsigned",
      ]);
      t.match(objects["Certificate/kruise-system/kruise-webhook-certs"], {
        spec: {
          secretName: "kruise-webhook-certs",
          privateKey: { algorithm: "ECDSA", size: 256 },
          dnsNames: ["kruise-webhook-service.kruise-system.svc", "localhost"],
          usages: ["digital signature", "key encipherment", "server auth"],
          issuerRef: { kind: "Issuer", name: "kruise-webhook-ca" },
        },
      });
      t.notOk(objects["Secret/kruise-system/kruise-webhook-certs"]);
      t.notOk(objects["ClusterRole//kruise-certs-role"]);
      for (const name of [
        "MutatingWebhookConfiguration//kruise-mutating-webhook-configuration",
        "ValidatingWebhookConfiguration//kruise-validating-webhook-configuration",
        "CustomResourceDefinition//clonesets.apps.kruise.io",
      ])
        t.match(objects[name], { metadata: { annotations } }, name);
      t.match(
        JSON.stringify(objects["Deployment/kruise-system/kruise-controller-manager"]),
        /"--feature-gates=ImagePullJobGate=true,EnableExternalCerts=true"/,
      );
      const issuerRef = { kind: "ClusterIssuer", name: "company" };
      const given = await enabled({ issuerRef });
      t.strictSame(asked(given), ["Certificate/kruise-system/kruise-webhook-certs"]);
      t.match(given["Certificate/kruise-system/kruise-webhook-certs"], { spec: { issuerRef } });
    },
  );

  await t.test("what the reference's values say of pods holds", async (t) => {
    const tolerations = [{ operator: "Exists" }];
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists" }] }],
      },
    };
    const objects = await rendered(t, {
      imagePullSecrets: [{ name: "pull" }],
      serviceAccount: { annotations: { role: "arn" } },
      webhookConfiguration: { aksIntegration: true },
      manager: {
        tolerations,
        nodeAffinity,
        nodeSelector: { disk: "ssd" },
        hostNetwork: true,
        loggingFormat: "",
        log: { level: 5 },
      },
      daemon: {
        affinity: {},
        nodeSelector: { os: "linux" },
        extraEnvs: [{ name: "HTTPS_PROXY", value: "http://proxy:1" }],
        log: { level: "6" },
        credentialProvider: { enable: true, hostPath: "/opt/plugins", awsCredentialsDir: "/root/.aws" },
      },
    });
    t.match(objects["ServiceAccount/kruise-system/kruise-daemon"], {
      metadata: { annotations: { role: "arn" } },
    });
    const manager = objects["Deployment/kruise-system/kruise-controller-manager"];
    t.match(manager, {
      spec: {
        template: {
          spec: {
            tolerations,
            nodeSelector: { disk: "ssd" },
            affinity: { nodeAffinity, podAntiAffinity: {} },
            hostNetwork: true,
            dnsPolicy: "ClusterFirstWithHostNet",
            imagePullSecrets: [{ name: "pull" }],
          },
        },
      },
    });
    t.match(JSON.stringify(manager), /"--logging-format=text".*"--v=5"/);
    const daemon = objects["DaemonSet/kruise-system/kruise-daemon"];
    t.match(daemon, {
      spec: {
        template: {
          spec: {
            nodeSelector: { os: "linux" },
            affinity: {},
            imagePullSecrets: [{ name: "pull" }],
            volumes: [
              { name: "runtime-socket" },
              { name: "state" },
              { configMap: { name: "credential-provider-config" } },
              { hostPath: { path: "/opt/plugins" } },
              { hostPath: { path: "/root/.aws" } },
            ],
          },
        },
      },
    });
    t.match(JSON.stringify(daemon), /"--v=6".*"HTTPS_PROXY"/);
    const mutating = objects["MutatingWebhookConfiguration//kruise-mutating-webhook-configuration"];
    const managed = [
      { key: "control-plane", operator: "NotIn", values: ["true"] },
      { key: "kubernetes.azure.com/managedby", operator: "NotIn", values: ["aks"] },
    ];
    const webhooks: unknown = mutating instanceof Object ? Reflect.get(mutating, "webhooks") : undefined;
    t.ok(Array.isArray(webhooks));
    for (const webhook of Array.isArray(webhooks) ? webhooks : [])
      t.strictSame(webhook.namespaceSelector.matchExpressions.slice(-2), managed, webhook.name);
  });

  await t.test("values that cannot be meant end in one line that names them", async (t) => {
    const cases: readonly (readonly [unknown, RegExp])[] = [
      [{ manager: { replicas: "two" } }, /replicas.*want integer/s],
      [{ manager: { replica: 3 } }, /manager.*additional properties 'replica' not allowed/s],
      [{ installation: { namespace: "Not A Name" } }, /namespace.*does not match pattern/s],
      [{ daemon: { runtime: "bun" } }, /runtime.*must be one of/s],
      [{ manager: { image: { repository: "mirror.local/kruise-manager" } } }, /is OpenKruise's manager/],
      [
        { daemon: { runtime: "deno", credentialProvider: { enable: true, hostPath: "/a" } } },
        /needs daemon\.runtime=node/,
      ],
      [{ daemon: { credentialProvider: { enable: true } } }, /must be an absolute path/],
      [
        { featureGates: "EnableExternalCerts=false", externalCerts: { certManager: { enabled: true } } },
        /certManager\.enabled needs gate EnableExternalCerts/,
      ],
    ];
    for (const [values, message] of cases) {
      const { code, stderr } = await template(t, values);
      t.equal(code, 1);
      t.match(stderr, message);
    }
    const old = await helm(t.testdir(), "template", "kruise", chart, "--kube-version", "1.22.0");
    t.match([old.code, old.stderr], [1, /requires kubeVersion: >=1\.27/]);
  });
});
