import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import fc from "fast-check";
import t, { type Test } from "tap";
import { parse, stringify } from "yaml";
import { featureGateDefaults } from "../controller/index.ts";
import {
  byName,
  type ChartValues,
  chartObjects,
  type Objects,
  objectsIn,
  refusalOf,
} from "../testkit/cli/chart_model.ts";
import { run } from "../testkit/cli/command_fixture.ts";
import { readChart } from "../testkit/cli/fake_helm.ts";
import { helm, helmMissing } from "../testkit/cli/helm_fixture.ts";
import { missing, programPath } from "../testkit/cli/program_path.ts";
import { agentImage, controllerImage, root, staleFiles, version } from "./chart.ts";

const runFile = promisify(execFile);
const chart = join(root, "bundles/chart");
const openKruiseValues = join(root, "tools/chart/testdata/openkruise_values.yaml");
const templates = readChart(chart);

/** The objects that differ are shown, and no others: there are many. */
function sameObjects(t: Test, found: Objects, wanted: Objects, name: string): void {
  const differing = Object.keys({ ...found, ...wanted }).filter(
    (object) => !isDeepStrictEqual(found[object], wanted[object]),
  );
  t.strictSame(differing, [], name);
  for (const object of differing) t.same(found[object], wanted[object], object);
}

function template(t: Test, values: unknown) {
  const home = t.testdir();
  const file = join(home, "values.yaml");
  // In quotes: Helm reads more words as true and false than YAML 1.2 has.
  writeFileSync(file, JSON.stringify(values));
  const args = ["template", "kruise", chart, "--kube-version", "1.34.0", "--values", file];
  return helm(home, ...args);
}

interface Rendering {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function renderedHere(given: unknown): Promise<Rendering> {
  try {
    return { code: 0, stdout: templates.render(templates.valuesWith(given)), stderr: "" };
  } catch (error) {
    return { code: 1, stdout: "", stderr: String(error) };
  }
}

async function manifests(t: Test, flags: string): Promise<Objects> {
  const { code, stdout, stderr } = await run(`manifests ${flags}`);
  t.equal(code, 0, stderr);
  return objectsIn(stdout);
}

/** What an uninstallation runs is not part of an installation. */
function withoutHooks(objects: Objects): Objects {
  const isHook = ({ metadata }: Objects[string]) => "helm.sh/hook" in (metadata.annotations ?? {});
  return Object.fromEntries(Object.entries(objects).filter(([, object]) => !isHook(object)));
}

const valueAt = (tree: unknown, path: string): unknown =>
  path
    .split(".")
    .reduce<unknown>((at, name) => (at instanceof Object ? Reflect.get(at, name) : undefined), tree);

const withValue = (path: string, value: unknown): unknown =>
  path.split(".").reduceRight((inner, name) => ({ [name]: inner }), value);

t.test("definitions, rights and webhooks of the chart are what the code has", async (t) => {
  t.same(staleFiles(), [], "node tools/chart.ts writes them");
});

t.test("the chart has the version of the project", async (t) => {
  t.match(parse(readFileSync(join(chart, "Chart.yaml"), "utf8")), { version, appVersion: version });
});

interface Row {
  readonly path: string;
  readonly state: string;
  readonly own: unknown;
  readonly reference: unknown;
  readonly help: string;
}

/** The table of values in docs/helm.md. */
const rows: readonly Row[] = readFileSync(join(root, "docs/helm.md"), "utf8")
  .split("\n")
  .map((line) => /^\| `([\w.]+)` \| ([\w, ]+) \| (.*?) \| (.*?) \| (.*) \|$/.exec(line) ?? [])
  .flatMap(([, path, state = "", own = "", reference = "", help = ""]) => {
    if (path === undefined) return [];
    return [{ path, state, own: cell(own, path), reference: cell(reference, path), help }];
  });

function cell(text: string, path: string): unknown {
  if (text.trim() === "") return undefined;
  if (text === "the same" || text === "see values.yaml") return text;
  if (!/^`.*`$/.test(text)) throw new Error(`${path}: ${text} is no value`);
  return JSON.parse(text.slice(1, -1));
}

const ownValues: unknown = templates.valuesWith({});
const schema: unknown = parse(readFileSync(join(chart, "values.schema.json"), "utf8"));

/** Paths below which a schema says no more of names. */
function leavesOf(schema: unknown, path: readonly string[] = []): string[] {
  const properties = valueAt(schema, "properties");
  if (!(properties instanceof Object)) return [path.join(".")];
  return Object.entries(properties).flatMap(([name, branch]) => leavesOf(branch, [...path, name]));
}

t.test("values.yaml, the schema, the table and the values of OpenKruise's chart agree", async (t) => {
  const openKruise: unknown = parse(readFileSync(openKruiseValues, "utf8"));
  const seeFile = (value: unknown) => JSON.stringify(value).length > 60;
  for (const { path, state, own, reference } of rows) {
    const [here, there] = [valueAt(ownValues, path), valueAt(openKruise, path)];
    t.strictSame(own, here !== undefined && seeFile(here) ? "see values.yaml" : here, `${path} here`);
    if (reference === "the same") t.strictSame(there, here, `${path} in OpenKruise's chart`);
    else if (reference === "see values.yaml") t.ok(seeFile(there), `${path} in OpenKruise's chart`);
    else t.strictSame(reference, there, `${path} in OpenKruise's chart`);
    const isSame = JSON.stringify(here) === JSON.stringify(there);
    const kept = isSame ? "kept" : "kept, other default";
    t.equal(state, here === undefined ? "without effect" : there === undefined ? "new" : kept, path);
  }
  t.strictSame([...leavesOf(schema)].sort(), [...rows.map(({ path }) => path), "global"].sort());
});

t.test("no name is let through that is no value's", async (t) => {
  const check = (schema: unknown, path: string) => {
    const properties = valueAt(schema, "properties");
    if (!(properties instanceof Object)) return;
    t.equal(valueAt(schema, "additionalProperties"), false, path);
    for (const [name, branch] of Object.entries(properties)) check(branch, `${path}.${name}`);
  };
  check(schema, "values");
});

t.test("values.yaml says of each value the first sentence of the table", async (t) => {
  const said = new Map<string, string>();
  let above: readonly string[] = [];
  let comment: readonly string[] = [];
  for (const line of readFileSync(join(chart, "values.yaml"), "utf8").split("\n")) {
    const [, indent = "", mark, rest = ""] = /^( *)(#|\w+:)(.*)$/.exec(line) ?? [];
    if (mark === "#") comment = [...comment, rest.trim()];
    else if (mark !== undefined) {
      above = [...above.slice(0, indent.length / 2), mark.slice(0, -1)];
      said.set(above.join("."), comment.join(" "));
      comment = [];
    }
  }
  for (const { path, own, help } of rows) {
    if (own !== undefined) t.equal(said.get(path), help.split(". ")[0]?.replace(/\.$/, ""), path);
  }
});

t.test("the kustomize base is what refit manifests prints", { skip: missing("kubectl") }, async (t) => {
  const built = await runFile(programPath("kubectl") ?? "", ["kustomize", join(root, "bundles/kustomize")], {
    maxBuffer: 64 * 1024 * 1024,
  });
  const images = `--controller-image ${controllerImage}:${version} --agent-image ${agentImage}:${version}`;
  sameObjects(t, objectsIn(built.stdout), await manifests(t, images), "all");
});

/** Values other than the defaults, by path. */
const otherValues: Readonly<Record<string, readonly unknown[]>> = {
  "crds.managed": [true, false],
  "installation.namespace": ["elsewhere", "123"],
  "installation.createNamespace": [false],
  "installation.roleListGroups": [["apps.kruise.io", "example.com"]],
  featureGates: [
    "",
    "AllAlpha=true",
    "AllBeta=true, PodWebhook=false",
    "KruiseDaemon=f,ResourceDistributionGate=T",
    "EnableExternalCerts=true,DeletionProtectionForCRDCascadingGate=1",
    "EnableExternalCerts=false,AllAlpha=true,PodWebhook=0",
  ],
  "externalCerts.annotations": [{ "cert-manager.io/inject-ca-from": "a/b", yes: "1" }],
  "externalCerts.certManager.enabled": [true],
  "externalCerts.certManager.issuerRef": [{ kind: "ClusterIssuer", name: "company" }],
  imagePullSecrets: [[{ name: "pull" }, { name: "more" }]],
  "serviceAccount.annotations": [{ role: "arn:1", on: "true" }],
  "webhookConfiguration.timeoutSeconds": [1, 30],
  "webhookConfiguration.aksIntegration": [true],
  "networkPolicy.enabled": [false],
  "networkPolicy.apiServerPorts": [[1234], [443, 65_535]],
  "helmHooks.image.repository": ["openkruise/kruise-helm-hook", "mirror.local:5000/check"],
  "helmHooks.image.tag": ["v1", 7],
  "manager.image.repository": [
    "openkruise/kruise-manager",
    "docker.io/openkruise/kruise-manager",
    "mirror.local/kruise-manager",
    "registry.local:5000/controller",
  ],
  "manager.image.tag": ["v2", "sha256:abc", 7, 1.5],
  "manager.replicas": [0, 1, 64],
  "manager.log.level": ["0", "5", 0, 6],
  "manager.loggingFormat": ["", "text"],
  "manager.webhook.port": [1, 443],
  "manager.metrics.port": [18_080],
  "manager.healthProbe.port": [18_000],
  "manager.pprofAddr": ["", "0", "[::1]:1"],
  "manager.resources": [{ limits: { cpu: "1", memory: null } }, { requests: { "example.com/a": 1 } }],
  "manager.hostNetwork": [true],
  "manager.nodeAffinity": [{ preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] }],
  "manager.nodeSelector": [{ disk: "ssd", zone: "1" }],
  "manager.tolerations": [[{ operator: "Exists" }, { key: "a", value: "yes" }]],
  "manager.extraArgs": [["--shards=2"], ["--a={{ .b }}", "--c= d: # e"]],
  "daemon.image.repository": ["registry.local:5000/agent", "kruise-manager"],
  "daemon.image.tag": ["v2", "sha256:abc", 7],
  "daemon.runtime": ["deno"],
  "daemon.log.level": ["0", "5", 0, 6],
  "daemon.port": [1, 65_535],
  "daemon.socketLocation": ["/run/k3s", "/a: b"],
  "daemon.socketFile": ["containerd.sock", 'a"b'],
  "daemon.resources": [{ limits: { cpu: "50m" } }],
  "daemon.affinity": [{ podAffinity: {} }, { nodeAffinity: null }],
  "daemon.nodeSelector": [{ os: "linux" }],
  "daemon.extraEnvs": [[{ name: "HTTPS_PROXY", value: "http://proxy:1" }]],
  "daemon.extraArgs": [["--direct-swap=true"]],
  "daemon.credentialProvider.enable": [true],
  "daemon.credentialProvider.configmap": ["other"],
  "daemon.credentialProvider.hostPath": ["/opt/plugins"],
  "daemon.credentialProvider.awsCredentialsDir": ["/root/.aws"],
  enableKubeCacheMutationDetector: [true],
  "manager.resyncPeriod": ["0", 1],
  "manager.podAntiAffinity": [{ a: 1 }],
  "daemon.enablePprof": [false],
  "daemon.pprofAddr": ["localhost:10222"],
};

/** Without which a value is not seen, by path. */
const seenWith: Readonly<Record<string, object>> = {
  "installation.roleListGroups": { featureGates: "DeletionProtectionForCRDCascadingGate=true" },
  "externalCerts.annotations": { featureGates: "EnableExternalCerts=true" },
  "externalCerts.certManager.issuerRef": { externalCerts: { certManager: { enabled: true } } },
  "helmHooks.image.tag": { helmHooks: { image: { repository: "check" } } },
  "daemon.credentialProvider.configmap": plugins("/a"),
  "daemon.credentialProvider.hostPath": plugins("/a"),
  "daemon.credentialProvider.awsCredentialsDir": plugins("/a"),
};

function plugins(hostPath: string): object {
  return { daemon: { credentialProvider: { enable: true, hostPath } } };
}

/** Definitions are large, and few values change them. */
const changesDefinitions = /^(crds|installation\.namespace|externalCerts\.(annotations|.*enabled))/;

function alone(path: string, value: unknown): unknown {
  const crds = { managed: changesDefinitions.test(path) };
  return together([{ crds }, seenWith[path] ?? {}, withValue(path, value)]);
}

function together(parts: readonly unknown[]): unknown {
  const isTree = (value: unknown): value is object => value instanceof Object && !Array.isArray(value);
  return parts.reduce((left, right) => {
    if (!isTree(left) || !isTree(right)) return right;
    const names = new Set([...Object.keys(left), ...Object.keys(right)]);
    return Object.fromEntries(
      [...names].map((name) => {
        const both = [left, right].filter((part) => Object.hasOwn(part, name));
        return [name, together(both.map((part) => Reflect.get(part, name)))];
      }),
    );
  });
}

const someValues = fc
  .tuple(
    fc.integer({ min: 0, max: 19 }),
    ...Object.entries(otherValues).map(([path, samples]) =>
      fc.oneof(
        { weight: 2, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constantFrom(...samples.map((value) => withValue(path, value))) },
      ),
    ),
  )
  .map(([withDefinitions, ...chosen]) =>
    together([
      ...chosen.filter((value) => value !== undefined),
      { crds: { managed: withDefinitions === 0 } },
    ]),
  );

t.test("there are other values of each", async (t) => {
  t.strictSame(Object.keys(otherValues).sort(), rows.map(({ path }) => path).sort());
});

t.test("values that only this chart has may be missing", async (t) => {
  const given: unknown = parse(readFileSync(openKruiseValues, "utf8"));
  const all = templates.valuesWith(given);
  const values: ChartValues = parse(stringify(all));
  sameObjects(t, objectsIn(templates.render(given)), byName(chartObjects(values, version)), "the same");
});

/** The templates as this project reads them, everywhere; as Helm does, where it is. */
const ways = [
  { way: "without helm", skip: false, render: (_: Test, given: unknown) => renderedHere(given) },
  { way: "with helm", skip: helmMissing, render: (t: Test, given: unknown) => template(t, given) },
];

for (const { way, skip, render } of ways)
  t.test(`rendered ${way}`, { skip }, async (t) => {
    const rendered = async (t: Test, given: unknown): Promise<Objects> => {
      const { code, stdout, stderr } = await render(t, given);
      t.equal(code, 0, stderr);
      return objectsIn(stdout);
    };
    const gates = "--feature-gates=ImagePullJobGate=true";
    const images = `--controller-image ${controllerImage}:${version} --agent-image ${agentImage}:${version}`;

    await t.test("default values give what refit manifests prints", async (t) => {
      const expected = await manifests(t, `${images} --controller-flag=${gates} --agent-flag=${gates}`);
      sameObjects(t, withoutHooks(await rendered(t, {})), expected, "all");
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
      sameObjects(t, withoutHooks(await rendered(t, values)), expected, "all");
    });

    await t.test("a file with every value of OpenKruise's chart is taken as it is", async (t) => {
      const objects = await rendered(t, parse(readFileSync(openKruiseValues, "utf8")));
      const pod = { limits: { cpu: "200m", memory: "512Mi" }, requests: { cpu: "100m", memory: "256Mi" } };
      t.match(objects["Deployment/kruise-system/kruise-controller-manager"], {
        spec: {
          template: { spec: { containers: [{ image: `${controllerImage}:${version}`, resources: pod }] } },
        },
      });
      t.match(objects["Job/kruise-system/kruise-finalizer"], {
        spec: { template: { spec: { containers: [{ image: `${controllerImage}:${version}` }] } } },
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
      const configuration =
        objects["ValidatingWebhookConfiguration//kruise-validating-webhook-configuration"];
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
            `ClusterRole//kruise-${role}-role` in
            (await rendered(t, { featureGates, crds: { managed: false } }));
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

    await t.test("values that do not fit together end in one line that names them", async (t) => {
      const cases: readonly (readonly [unknown, RegExp])[] = [
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
        const { code, stderr } = await render(t, values);
        t.equal(code, 1);
        t.match(stderr, message);
      }
    });

    await t.test("each value alone gives what refit install applies, with what the value says", async (t) => {
      for (const [path, samples] of Object.entries(otherValues))
        for (const value of samples)
          await compare(t, alone(path, value), `${path}: ${JSON.stringify(value)}`);
    });

    await t.test("so do any values together", async (t) => {
      const chosen = fc.sample(someValues, { numRuns: way === "with helm" ? 40 : 120, seed: 24 });
      for (const [index, given] of chosen.entries()) await compare(t, given, `choice ${index}`);
    });

    async function compare(t: Test, given: unknown, name: string): Promise<void> {
      const values: ChartValues = parse(stringify(templates.valuesWith(given)));
      const refusal = refusalOf(values);
      const { code, stdout, stderr } = await render(t, given);
      if (refusal !== undefined) t.match([code, stderr.includes(refusal)], [1, true], `${name}: ${refusal}`);
      else sameObjects(t, objectsIn(stdout), byName(chartObjects(values, version)), name + stderr);
    }
  });

t.test("rendered with helm", { skip: helmMissing }, async (t) => {
  await t.test("values that cannot be meant end in one line that names them", async (t) => {
    const cases: readonly (readonly [unknown, RegExp])[] = [
      [{ manager: { replicas: "two" } }, /replicas.*want integer/s],
      [{ manager: { replica: 3 } }, /manager.*additional properties 'replica' not allowed/s],
      [{ installation: { namespace: "Not A Name" } }, /namespace.*does not match pattern/s],
      [{ daemon: { runtime: "bun" } }, /runtime.*must be one of/s],
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
