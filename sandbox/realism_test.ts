/** What a real cluster refuses or fails, the sandbox does as well; what stays different stands in docs/sandbox.md, row by row. */
import { readFileSync } from "node:fs";
import t from "tap";
import { systemClock } from "../kube/core/index.ts";
import { type Api, apiOf, reached } from "../testkit/sandbox/sandbox_client.ts";
import { isPod, isPodReady } from "./objects/index.ts";
import { startSandbox } from "./start.ts";

const sandbox = await startSandbox({ seed: 3, clock: systemClock, nodes: 1, log: () => undefined });
const api: Api = apiOf(sandbox);
t.teardown(async () => {
  await api.close();
  await sandbox.stop();
});

const pods = "/api/v1/namespaces/default/pods";

interface Broken {
  readonly container?: object;
  readonly pod?: object;
  readonly annotations?: Record<string, string>;
}

function make(name: string, { container, pod, annotations = {} }: Broken): Promise<unknown> {
  const containers = [{ name: "web", image: "nginx:1.20", ...container }];
  return api.post(pods, {
    metadata: { name, annotations },
    spec: { terminationGracePeriodSeconds: 1, containers, ...pod },
  });
}

const exec = (command: string[]) => ({ exec: { command }, periodSeconds: 1, failureThreshold: 1 });
const http = (port: number | string) => ({ httpGet: { port }, periodSeconds: 1, failureThreshold: 1 });

/** How pods fail, and what of it is seen in their status and events. */
const failing: Readonly<
  Record<string, { readonly pod: Broken; readonly status?: RegExp; readonly event: RegExp }>
> = {
  "tag that its repository does not have": {
    pod: { container: { image: "nginx:no-such-tag" } },
    status: /"reason":"ImagePullBackOff"/,
    event: /Failed: Failed to pull image "nginx:no-such-tag": .*not found/,
  },
  "invalid name of an image": {
    pod: { container: { image: "NGINX:1" } },
    status: /"reason":"InvalidImageName"/,
    event: /InspectFailed: Failed to apply default image tag "NGINX:1"/,
  },
  "program that is not in the image": {
    pod: { container: { command: ["/does/not/exist"] } },
    status: /"exitCode":128.*"reason":"StartError"/,
    event: /Failed: Error: .*exec: "\/does\/not\/exist": .*no such file or directory/,
  },
  "readiness probe of a port that nobody serves": {
    pod: { container: { readinessProbe: http(9999) } },
    event: /Unhealthy: Readiness probe failed/,
  },
  "readiness probe of a port name that is not declared": {
    pod: { container: { readinessProbe: http("web") } },
    event: /Unhealthy: Readiness probe failed/,
  },
  "liveness probe of a file that is missing": {
    pod: { container: { livenessProbe: exec(["cat", "/tmp/healthy"]) } },
    status: /"exitCode":137.*"reason":"Error"/,
    event: /Killing: Container web failed liveness probe, will be restarted/,
  },
  "volume of a ConfigMap that is missing": {
    pod: {
      container: { volumeMounts: [{ name: "settings", mountPath: "/settings" }] },
      pod: { volumes: [{ name: "settings", configMap: { name: "absent" } }] },
    },
    status: /"reason":"ContainerCreating"/,
    event: /FailedMount: MountVolume\.SetUp failed for volume "settings" : configmap "absent" not found/,
  },
  "environment of a Secret that is missing": {
    pod: { container: { envFrom: [{ secretRef: { name: "absent" } }] } },
    status: /"reason":"CreateContainerConfigError"/,
    event: /Failed: secret "absent" not found/,
  },
};

let made = 0;
for (const [name, { pod, status = /./, event }] of Object.entries(failing))
  t.test(name, async (t) => {
    const podName = `broken-${++made}`;
    await make(podName, pod);
    const events = (): string[] =>
      [...sandbox.cluster.list("events")]
        .filter(({ involvedObject }) => Object(involvedObject).name === podName)
        .map(({ reason, message }) => `${String(reason)}: ${String(message)}`);
    await reached(
      sandbox,
      "events",
      () => events().some((text) => event.test(text)),
      `${event}, not only ${events().join("; ")}`,
    );
    const seen = await reached(
      sandbox,
      "pods",
      (all) =>
        all.some(
          ({ metadata, status: now }) => metadata.name === podName && status.test(JSON.stringify(now)),
        ),
      String(status),
    );
    t.notOk(seen.filter(isPod).some((each) => each.metadata.name === podName && isPodReady(each)));
    await api.delete(`${pods}/${podName}`);
  });

const working: Readonly<Record<string, Broken>> = {
  "tag that exists": { container: { image: "nginx:1.29-alpine" } },
  "tag that is said to exist": {
    container: { image: "nginx:of-ours" },
    annotations: { "sandbox.refit.dev/pull": "ok" },
  },
  "image of which nothing is known": { container: { image: "shop.example/cart:next", command: ["/cart"] } },
  "volume of a ConfigMap that is missing, and that nothing mounts": {
    pod: { volumes: [{ name: "settings", configMap: { name: "absent" } }] },
  },
  "probe of the port that nginx serves": { container: { readinessProbe: http(80), livenessProbe: http(80) } },
  "probe of a port that is declared": {
    container: { ports: [{ name: "admin", containerPort: 9000 }], readinessProbe: http("admin") },
  },
};

for (const [name, pod] of Object.entries(working))
  t.test(`${name} works`, async (t) => {
    const podName = `working-${++made}`;
    await make(podName, pod);
    await reached(
      sandbox,
      "pods",
      (all) => all.filter(isPod).some((each) => each.metadata.name === podName && isPodReady(each)),
      "ready",
    );
    t.pass(podName);
  });

t.test("classes that do not exist are refused, and those that do are taken", async (t) => {
  await t.rejects(make("refused", { pod: { priorityClassName: "nosuch" } }), {
    message: /403 .*pods \\"refused\\" is forbidden: no PriorityClass with name nosuch was found/,
  });
  await t.rejects(make("refused", { pod: { runtimeClassName: "gvisor" } }), {
    message: /403 .*pods \\"refused\\" is forbidden: pod rejected: RuntimeClass \\"gvisor\\" not found/,
  });
  await api.post("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name: "high" }, value: 1000 });
  t.match(await make("classy", { pod: { priorityClassName: "high" } }), { spec: { priority: 1000 } });
});

/** What stays different from a real cluster: each row of the table in docs/sandbox.md, as it is here. */
const different: Readonly<Record<string, () => Promise<void>>> = {
  LimitRanges: async () => {
    const limits = [{ type: "Container", max: { cpu: "1" } }];
    await api.post("/api/v1/namespaces/default/limitranges", {
      metadata: { name: "small" },
      spec: { limits },
    });
    await make("beyond-limit-range", { container: { resources: { requests: { cpu: "2" } } } });
  },
  "ResourceQuotas of other amounts than pods": async () => {
    const spec = { hard: { "requests.cpu": "1" } };
    await api.post("/api/v1/namespaces/default/resourcequotas", { metadata: { name: "small" }, spec });
    await make("beyond-quota", { container: { resources: { requests: { cpu: "2" } } } });
  },
  "Pod Security levels": async () => {
    const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
    await api.patch("/api/v1/namespaces/default", { metadata: { labels } });
    await make("privileged", { container: { securityContext: { privileged: true } } });
  },
  ValidatingAdmissionPolicies: async () =>
    absent(await api.get("/apis/admissionregistration.k8s.io/v1"), /validatingadmissionpolicies/),
  "The metrics API": async () => absent(await api.get("/apis"), /metrics\.k8s\.io/),
};

function absent(discovery: object, what: RegExp): void {
  if (what.test(JSON.stringify(discovery))) throw new Error(`${what} is served`);
}

for (const [row, isDifferent] of Object.entries(different))
  t.test(`different from a real cluster: ${row}`, async (t) => {
    await isDifferent();
    t.pass(row);
  });

t.test("the documentation has these rows, and no others", (t) => {
  const document = readFileSync(new URL("../docs/sandbox.md", import.meta.url), "utf8");
  const [, table = ""] =
    /\| what \| here \| on a real cluster \|\n\|---\|---\|---\|\n((?:\|.*\n)+)/.exec(document) ?? [];
  const rows = table
    .trim()
    .split("\n")
    .map((line) => line.split("|")[1]?.trim());
  t.same(rows, Object.keys(different));
  t.end();
});
