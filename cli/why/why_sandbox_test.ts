/** Reasons provoked on simulated nodes, with the controller as it ships; what `why` and `rollout status` make of each. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { formatTime } from "../../kube/core/index.ts";
import { systemClock } from "../../kube/index.ts";
import { type StoredObject, startSandbox } from "../../sandbox/index.ts";
import { type Run, run } from "../../testkit/cli/command_fixture.ts";
import { accountKubeconfig, MissingRights } from "../../testkit/kube/account_fixture.ts";
import { apiOf } from "../../testkit/sandbox/sandbox_client.ts";
import { freePort } from "../free_port.ts";
import { processHost } from "../host.ts";

const host = processHost();
const rights = new MissingRights();
const sandbox = await startSandbox({
  seed: 5,
  clock: systemClock,
  nodes: 3,
  agent: true,
  profile: "fast",
  log: rights.log,
});
t.teardown(async () => {
  await sandbox.stop();
  rights.check();
});
const { cluster, nodes } = sandbox;
const api = apiOf(sandbox);
t.teardown(() => api.close());
const folder = t.testdir();
const kubeconfig = join(folder, "kubeconfig");
writeFileSync(kubeconfig, sandbox.kubeconfig);
const refit = (words: string): Promise<Run> => run(`${words} --kubeconfig ${kubeconfig}`, { host });

const stopping = new AbortController();
const controller = await startController();

/** Resolves once it leads; `ended` when it has stopped. */
async function startController(): Promise<{ ended: Promise<Run> }> {
  const webhookPort = await freePort();
  const installed = await refit(`install --webhook-host 127.0.0.1 --webhook-port ${webhookPort}`);
  if (installed.code !== 0) throw new Error(installed.stderr);
  const env = {
    WEBHOOK_HOST: "127.0.0.1",
    WEBHOOK_PORT: String(webhookPort),
    WEBHOOK_CERT_DIR: join(folder, "certificates"),
  };
  const working = Promise.withResolvers<void>();
  const logged: string[] = [];
  const write = (text: string): void => {
    logged.push(text);
    if (text.includes("controllers work")) working.resolve();
  };
  const io = { env, stderr: { write }, signal: stopping.signal };
  const own = join(folder, "controller.kubeconfig");
  writeFileSync(own, await accountKubeconfig(kubeconfig, "kruise-manager"));
  const line = `controller --kubeconfig ${own} --metrics-addr=0 --health-probe-addr=0`;
  const ended = run(line, { host, io });
  ended.then(() => working.reject(new Error(logged.join(""))));
  await working.promise;
  return { ended };
}

interface Template {
  readonly container?: object;
  readonly pod?: object;
}

function template(app: string, { container, pod }: Template): object {
  return {
    metadata: { labels: { app } },
    spec: { containers: [{ name: "web", image: "web:1", ...container }], ...pod },
  };
}

const paths = {
  CloneSet: "apps.kruise.io/v1beta1/clonesets",
  StatefulSet: "apps.kruise.io/v1beta1/statefulsets",
  DaemonSet: "apps.kruise.io/v1beta1/daemonsets",
  Deployment: "apps/v1/deployments",
} as const;

function make(
  kind: keyof typeof paths,
  app: string,
  parts: Template,
  spec: object = {},
  namespace = "default",
) {
  const [group, version, plural] = paths[kind].split("/");
  const replicas = kind === "DaemonSet" ? {} : { replicas: 1 };
  const selector = { matchLabels: { app } };
  return api.post(`/apis/${group}/${version}/namespaces/${namespace}/${plural}`, {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name: app },
    spec: { ...replicas, selector, template: template(app, parts), ...spec },
  });
}

const cloneSet = (app: string, parts: Template, spec?: object, namespace?: string) =>
  make("CloneSet", app, parts, spec, namespace);

const noImage: Template = { container: { image: "registry.invalid/web:1" } };
const crash: Template = { container: { command: ["sh", "-c", "exit 3"] } };

/** Asked again until it says so: nodes and controllers take their time. */
async function explains(t: Test, words: string, expected: RegExp): Promise<void> {
  let last = "";
  for (let attempt = 0; attempt < 60; attempt++) {
    const { code, stdout, stderr } = await refit(`why ${words}`);
    last = `${code} ${stdout}${stderr}`;
    if (expected.test(last)) break;
    await sleep(150);
  }
  t.match(last, expected);
  t.match(last, /\n +(for .*; )?ends when .+\n +next: \w+/, "how it ends, and what to do");
}

async function podOf(app: string, isIt: (pod: StoredObject) => boolean = () => true): Promise<string> {
  for (let attempt = 0; attempt < 400; attempt++) {
    const pods = [...cluster.list("pods", "default")];
    const pod = pods.find(({ metadata }) => metadata.labels?.["app"] === app);
    if (pod !== undefined && isIt(pod)) return pod.metadata.name ?? "";
    await sleep(25);
  }
  throw new Error(`no such pod of ${app}`);
}

const isRunning = ({ status }: StoredObject): boolean => JSON.stringify(status).includes('"containerID"');

/** What is made, and what `why` then says first; in the order of the table. */
const cases: Readonly<
  Record<string, { readonly words: string; readonly made: () => Promise<unknown>; readonly says: RegExp }>
> = {
  Unschedulable: {
    words: "clone/huge",
    made: () =>
      cloneSet("huge", { container: { resources: { requests: { cpu: "1000" } } } }, { replicas: 2 }),
    says: /\n {2}Unschedulable +2 pods: no node takes the pod: 0\/3 nodes are available.*Insufficient cpu.* \(huge-\w+, huge-\w+\)\n/,
  },
  SchedulingGated: {
    words: "clone/gated",
    made: () => cloneSet("gated", { pod: { schedulingGates: [{ name: "example.com/wait" }] } }),
    says: /\n {2}SchedulingGated +1 pod: held back by scheduling gates: example.com\/wait \(gated-\w+\)\n/,
  },
  NotScheduled: {
    words: "clone/nobodys",
    made: () => cloneSet("nobodys", { pod: { schedulerName: "mine" } }),
    says: /\n {2}NotScheduled +1 pod: /,
  },
  VolumeClaim: {
    words: "clone/claims",
    made: () =>
      cloneSet("claims", {
        pod: { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "lost" } }] },
      }),
    says: /\n {2}VolumeClaim +1 pod: claim lost does not exist.*\n.*\n +next: kubectl describe pvc lost -n default/,
  },
  ImagePullBackOff: {
    words: "clone/noimage",
    made: () => cloneSet("noimage", noImage),
    says: /\n {2}ImagePullBackOff +1 pod: container web cannot have image registry.invalid\/web:1: Failed to pull image/,
  },
  ErrImageNeverPull: {
    words: "clone/neverpull",
    made: () => cloneSet("neverpull", { container: { image: "other:1", imagePullPolicy: "Never" } }),
    says: /\n {2}ErrImageNeverPull +1 pod: container web cannot have image other:1/,
  },
  CreateContainerConfigError: {
    words: "clone/unconfigured",
    made: () => cloneSet("unconfigured", { container: { envFrom: [{ configMapRef: { name: "absent" } }] } }),
    says: /\n {2}CreateContainerConfigError +1 pod: container web cannot be started: configmap "absent" not found/,
  },
  CrashLoopBackOff: {
    words: "clone/crash",
    made: () => cloneSet("crash", crash),
    says: /\n {2}CrashLoopBackOff +1 pod: container web ended with exit code 3 \(Error\), the last line of its log: ".+", \d+ restarts?.*\n.*\n +next: kubectl logs crash-\w+ -c web -n default/,
  },
  ReadinessProbe: {
    words: "clone/unready",
    made: () => cloneSet("unready", { container: { readinessProbe: { exec: { command: ["false"] } } } }),
    says: /\n {2}ReadinessProbe +1 pod: container web runs, its readiness probe \(exec false\) does not pass/,
  },
  ReadinessGate: {
    words: "clone/closed",
    made: () => cloneSet("closed", { pod: { readinessGates: [{ conditionType: "example.com/lb" }] } }),
    says: /\n {2}ReadinessGate +1 pod: condition example.com\/lb of a readiness gate is not True/,
  },
  MinReadySeconds: {
    words: "clone/patient",
    made: () => cloneSet("patient", {}, { minReadySeconds: 3600 }),
    says: /\n {2}MinReadySeconds +1 pod: ready, available only after 3600 s/,
  },
  FailedMount: {
    words: "clone/unmounted",
    made: async () => {
      await cloneSet("unmounted", { pod: { volumes: [{ name: "conf", configMap: { name: "absent" } }] } });
      const name = await podOf("unmounted", ({ status }) =>
        JSON.stringify(status).includes("ContainerCreating"),
      );
      const uid = cluster.get("pods", { namespace: "default", name })?.metadata.uid;
      const at = formatTime(systemClock.now());
      // In the kubelet's words; simulated ones wait for the volume without a word.
      await api.post("/api/v1/namespaces/default/events", {
        metadata: { name: "unmounted.1" },
        involvedObject: { kind: "Pod", namespace: "default", name, uid },
        type: "Warning",
        reason: "FailedMount",
        message: 'MountVolume.SetUp failed for volume "conf" : configmap "absent" not found',
        firstTimestamp: at,
        lastTimestamp: at,
      });
    },
    says: /\n {2}FailedMount +1 pod: MountVolume.SetUp failed for volume "conf" : configmap "absent" not found/,
  },
  Finalizers: {
    words: "clone/kept",
    made: async () => {
      await cloneSet("kept", {});
      const path = `/api/v1/namespaces/default/pods/${await podOf("kept", isRunning)}`;
      await api.patch(path, { metadata: { finalizers: ["example.com/keep"] } });
      await api.delete(path);
    },
    says: /Finalizers +1 pod: deleted but for finalizers: example.com\/keep/,
  },
  Terminating: {
    words: "clone/slow",
    made: async () => {
      await cloneSet("slow", { container: { lifecycle: { preStop: { sleep: { seconds: 25 } } } } });
      await api.delete(`/api/v1/namespaces/default/pods/${await podOf("slow", isRunning)}`);
    },
    says: /Terminating +1 pod: being deleted, containers have time to stop/,
  },
  RecreateRequest: {
    words: "clone/recreated",
    made: async () => {
      await cloneSet("recreated", {});
      await recreate("recreated");
    },
    says: /RecreateRequest +1 pod: ContainerRecreateRequest recreated restarts web: Recreating/,
  },
  QuotaExceeded: {
    words: "clone/many -n narrow",
    made: async () => {
      await api.post("/api/v1/namespaces", { metadata: { name: "narrow" } });
      const quota = { metadata: { name: "few" }, spec: { hard: { pods: "1" } } };
      await api.post("/api/v1/namespaces/narrow/resourcequotas", quota);
      await cloneSet("many", {}, { replicas: 3 }, "narrow");
    },
    says: /\n {2}QuotaExceeded +the server refuses: .*exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1\n.*\n +next: kubectl describe resourcequota -n narrow\n[\s\S]*Once that is over:\n {2}create pod/,
  },
  WebhookUnavailable: {
    words: "clone/hooked -n hooks",
    made: async () => {
      await api.post("/api/v1/namespaces", { metadata: { name: "hooks", labels: { hooks: "yes" } } });
      const webhook = {
        name: "away.example.com",
        clientConfig: { url: `https://127.0.0.1:${await freePort()}/` },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
        namespaceSelector: { matchLabels: { hooks: "yes" } },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      };
      const configuration = { metadata: { name: "away" }, webhooks: [webhook] };
      await api.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", configuration);
      await cloneSet("hooked", {}, {}, "hooks");
    },
    says: /\n {2}WebhookUnavailable +the server refuses: .*failed calling webhook "away.example.com"/,
  },
  Paused: {
    words: "clone/paused",
    made: async () => {
      const updateStrategy = { type: "RollingUpdate", rollingUpdate: { paused: true } };
      await cloneSet("paused", {}, { updateStrategy });
      await podOf("paused", isRunning);
      await refit("set image clone/paused web=web:2");
    },
    says: /\n {2}Paused +.*\n +ends when .*\n +next: refit rollout resume cloneset.apps.kruise.io\/paused -n default/,
  },
  "Paused with nothing to update": {
    words: "clone/still",
    made: () =>
      cloneSet("still", {}, { updateStrategy: { type: "RollingUpdate", rollingUpdate: { paused: true } } }),
    says: /\n {2}Paused +paused: a change of the template would not be rolled out\n/,
  },
  "Paused, a StatefulSet": {
    words: "asts/halted",
    made: () =>
      make(
        "StatefulSet",
        "halted",
        {},
        {
          serviceName: "halted",
          updateStrategy: { type: "RollingUpdate", rollingUpdate: { paused: true } },
        },
      ),
    says: /\n {2}Paused +paused: .*\n.*\n +next: kubectl edit statefulset.apps.kruise.io\/halted -n default/,
  },
  Deleting: {
    words: "clone/undeletable",
    made: async () => {
      await cloneSet("undeletable", {});
      const path = "/apis/apps.kruise.io/v1beta1/namespaces/default/clonesets/undeletable";
      await api.patch(path, { metadata: { finalizers: ["example.com/keep"] } });
      await api.delete(path);
    },
    says: /Deleting +it is being deleted, and kept by finalizers: .*example.com\/keep/,
  },
  ProgressDeadlineExceeded: {
    words: "clone/late",
    made: () => cloneSet("late", noImage, { progressDeadlineSeconds: 1 }),
    says: /ImagePullBackOff[\s\S]*ProgressDeadlineExceeded +it got no further within its progressDeadlineSeconds/,
  },
  "a StatefulSet": {
    words: "asts/db",
    made: () => make("StatefulSet", "db", crash, { serviceName: "db" }),
    says: /CrashLoopBackOff +1 pod: .* \(db-0\)\n/,
  },
  "a DaemonSet": {
    words: "daemonset.apps.kruise.io/everywhere",
    made: () => make("DaemonSet", "everywhere", noImage),
    says: /ImagePullBackOff +3 pods: /,
  },
  "a Deployment": {
    words: "deploy/plain",
    made: () => make("Deployment", "plain", crash),
    says: /Waiting for deployment.*\n[\s\S]*CrashLoopBackOff +1 pod: container web ended with exit code 3/,
  },
  "a Deployment that is refused": {
    words: "deploy/plain -n narrow",
    made: () => make("Deployment", "plain", {}, {}, "narrow"),
    says: /QuotaExceeded +the server refuses: .*exceeded quota: few/,
  },
  "a pod": {
    words: "pod/alone",
    made: () =>
      api.post("/api/v1/namespaces/default/pods", {
        ...template("alone", noImage),
        metadata: { name: "alone" },
      }),
    says: / pod\/alone: 1 pod, 1 not available\nIt waits for one reason:\n {2}ImagePullBackOff +1 pod: /,
  },
  "a Job that has failed": {
    words: "job/doomed",
    made: () =>
      api.post("/apis/batch/v1/namespaces/default/jobs", {
        metadata: { name: "doomed" },
        spec: {
          backoffLimit: 0,
          template: template("doomed", { ...crash, pod: { restartPolicy: "Never" } }),
        },
      }),
    says: /BackoffLimitExceeded +the job has failed: /,
  },
  "a BroadcastJob": {
    words: "bcj/task",
    made: () =>
      api.post("/apis/apps.kruise.io/v1beta1/namespaces/default/broadcastjobs", {
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "BroadcastJob",
        metadata: { name: "task" },
        spec: { template: template("task", { ...noImage, pod: { restartPolicy: "Never" } }) },
      }),
    says: /ImagePullBackOff +3 pods: /,
  },
  "a SidecarSet": {
    words: "sidecarset/proxy",
    made: async () => {
      await api.post("/apis/apps.kruise.io/v1beta1/sidecarsets", {
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "SidecarSet",
        metadata: { name: "proxy" },
        spec: {
          selector: { matchLabels: { app: "meshed" } },
          containers: [{ name: "proxy", image: "registry.invalid/proxy:1" }],
        },
      });
      await sleep(300);
      await cloneSet("meshed", {});
    },
    says: /ImagePullBackOff +1 pod: container proxy cannot have image registry.invalid\/proxy:1.* \(default\/meshed-\w+\)/,
  },
  "a UnitedDeployment": {
    words: "ud/parts",
    made: () => unitedDeployment("parts", noImage),
    says: /ImagePullBackOff +2 pods: .* \(parts-a-\w+-\w+, parts-b-\w+-\w+\)[\s\S]*Subset +subset a: 0 of 1 pod ready\n.*\n +next: refit why cloneset.apps.kruise.io\/parts-a-/,
  },
  "a WorkloadSpread": {
    words: "workloadspread/zones",
    made: async () => {
      await api.post("/apis/apps.kruise.io/v1beta1/namespaces/default/workloadspreads", {
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "WorkloadSpread",
        metadata: { name: "zones" },
        spec: {
          targetRef: { apiVersion: "apps.kruise.io/v1beta1", kind: "CloneSet", name: "spread" },
          subsets: [{ name: "a" }],
        },
      });
      await sleep(300);
      await cloneSet("spread", noImage);
    },
    says: / workloadspread.apps.kruise.io\/zones: .*\n[\s\S]*ImagePullBackOff +1 pod: .* \(spread-\w+\)/,
  },
};

/** Two subsets of a pod each. */
function unitedDeployment(app: string, parts: Template): Promise<unknown> {
  const selector = { matchLabels: { app } };
  const labels = { app };
  const workload = { metadata: { labels }, spec: { selector, template: template(app, parts) } };
  return api.post("/apis/apps.kruise.io/v1beta1/namespaces/default/uniteddeployments", {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "UnitedDeployment",
    metadata: { name: app },
    spec: {
      replicas: 2,
      selector,
      template: { cloneSetTemplate: workload },
      topology: { subsets: [{ name: "a" }, { name: "b" }] },
    },
  });
}

async function recreate(app: string): Promise<void> {
  const podName = await podOf(app, isRunning);
  await api.post("/apis/apps.kruise.io/v1beta1/namespaces/default/containerrecreaterequests", {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ContainerRecreateRequest",
    metadata: { name: app },
    spec: { podName, containers: [{ name: "web" }], strategy: { unreadyGracePeriodSeconds: 1000 } },
  });
}

t.test("each reason is named", { timeout: 120_000 }, async (t) => {
  for (const { made } of Object.values(cases)) await made();
  for (const [name, { words, says }] of Object.entries(cases))
    await t.test(name, (t) => explains(t, words, says));
});

t.test(
  "a rollout that cannot go on by itself ends with a code of its own",
  { timeout: 60_000 },
  async (t) => {
    const [paused, neverPulled, followed] = await Promise.all([
      refit("rollout status clone/paused"),
      refit("rollout status clone/neverpull"),
      refit("rollout status clone/paused --give-up=false --timeout 8s"),
    ]);
    t.match(paused, {
      code: 3,
      stderr:
        /waits: Paused: .*; next: refit rollout resume .*\nerror: the rollout cannot go on by itself \(Paused\); "refit why /,
    });
    t.match(neverPulled, {
      code: 3,
      stderr:
        /waits: ErrImageNeverPull: 1 pod: .*\nerror: the rollout cannot go on by itself \(ErrImageNeverPull\)/,
    });
    t.match(followed, { code: 1, stderr: /waits: Paused: [\s\S]*error: timed out/ });
    t.match((await refit("rollout status --help")).stdout, / 3 +it cannot go on by itself/);
  },
);

t.test("rollouts of a UnitedDeployment", { timeout: 60_000 }, async (t) => {
  await unitedDeployment("united", {});
  const done = { code: 0, stdout: /united deployment "united" successfully rolled out\n$/ };
  t.match(await refit("rollout status ud/united"), done);
  t.match(await refit("plan ud/united"), {
    code: 0,
    stdout: /: 2 pods in 2 subsets, 2 at revision united-\w+, 2 ready\nNothing to do/,
  });
  t.match(await refit("why ud/united"), { stdout: /Nothing holds it back\./ });
  t.match(await refit("set image ud/united web=web:2"), { code: 0, stdout: /image updated/ });
  t.match(await refit("rollout status ud/united --detail"), {
    code: 0,
    stdout: /Updated ready pods: \[united-a-/,
  });
  t.match(await refit("rollout history ud/united"), {
    stdout: /REVISION +CHANGE-CAUSE\n1 +<none>\n2 +<none>\n/,
  });
  t.match(await refit("rollout history ud/united --revision 1"), {
    stdout: /cloneSetTemplate:\nPod Template:[\s\S]*web:1/,
  });
  t.match(await refit("rollout undo ud/united"), { code: 0, stdout: /rolled back/ });
  t.match(await refit("rollout status ud/united"), done);
  t.match(await refit("rollout undo ud/united --to-revision 3"), { stdout: /skipped rollback/ });
  t.match(await refit("rollout restart ud/united"), { code: 0, stdout: /restarted/ });
  t.match(await refit("rollout status ud/united"), done);
  const restarted = cluster.get("pods", { namespace: "default", name: await podOf("united") });
  t.match(JSON.stringify(restarted), /web:1.*RESTARTED_AT/);
});

t.test("a node that is dead, an agent that is not there", { timeout: 60_000 }, async (t) => {
  await cloneSet("placed", { pod: { nodeSelector: { "kubernetes.io/hostname": "node3" } } });
  await podOf("placed", isRunning);
  // One agent is known, on another node than that of the request.
  const pod = cluster.get("pods", { namespace: "default", name: await podOf("recreated") });
  const elsewhere = ["node1", "node2"].find((name) => !JSON.stringify(pod).includes(`"nodeName":"${name}"`));
  await api.post("/api/v1/namespaces/kruise-system/pods", {
    metadata: { name: "agent", labels: { "control-plane": "daemon" } },
    spec: { nodeName: elsewhere, containers: [{ name: "daemon", image: "agent:1" }] },
  });
  await explains(
    t,
    "clone/recreated",
    /AgentAbsent +1 pod: node node\d has no agent, which ContainerRecreateRequest recreated waits for/,
  );
  nodes.kill("node3");
  await explains(t, "clone/placed", /\n {2}NodeNotReady +1 pod: node node3 is not ready \(.+\)/);
});

t.test("a controller that is gone", { timeout: 60_000 }, async (t) => {
  stopping.abort();
  t.equal((await controller.ended).code, 0);
  await explains(
    t,
    "clone/still",
    /\n {2}ControllerAbsent +nobody holds lease kruise-system\/kruise-manager: no controller works\n.*\n +next: kubectl get pods,leases -n kruise-system/,
  );
});
