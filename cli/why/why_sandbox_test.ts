/** Reasons provoked on simulated nodes, with the controller as it ships; what `why` and `rollout status` make of each. */
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { systemClock } from "../../kube/index.ts";
import type { StoredObject } from "../../sandbox/index.ts";
import { startHook } from "../../testkit/api_contract/admission_cases.ts";
import { startControlledSandbox } from "../../testkit/cli/controlled_sandbox.ts";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import { at } from "../fields.ts";
import { exitCodes, type State } from "./answer.ts";

const { sandbox, api, refit, stopController } = await startControlledSandbox(t, {
  seed: 5,
  gates: "ImagePullJobGate=true",
});
const { cluster, nodes } = sandbox;

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
    says: /\n {2}VolumeClaim +1 pod: claim lost does not exist.*\n.*\n +next: kubectl get pvc -n default/,
  },
  "VolumeClaim that is not bound": {
    words: "clone/unbound",
    made: async () => {
      await api.post("/api/v1/namespaces/default/persistentvolumeclaims", {
        metadata: { name: "unbound" },
        spec: {
          storageClassName: "absent",
          accessModes: ["ReadWriteOnce"],
          resources: { requests: { storage: "1Gi" } },
        },
      });
      await cloneSet("unbound", {
        pod: { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "unbound" } }] },
      });
    },
    says: /\n {2}VolumeClaim +1 pod: claim unbound is Pending/,
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
  Initializing: {
    words: "clone/preparing",
    made: () =>
      cloneSet("preparing", {
        pod: { initContainers: [{ name: "prepare", image: "web:1", command: ["sleep", "3600"] }] },
      }),
    says: /\n {2}Initializing +1 pod: init container prepare has not ended/,
  },
  StartupProbe: {
    words: "clone/booting",
    made: () =>
      cloneSet("booting", {
        container: { startupProbe: { exec: { command: ["false"] }, failureThreshold: 1000 } },
      }),
    says: /\n {2}StartupProbe +1 pod: container web runs, its startup probe \(exec false\) does not pass/,
  },
  PodFailed: {
    words: "pod/ended",
    made: () =>
      api.post("/api/v1/namespaces/default/pods", {
        ...template("ended", { ...crash, pod: { restartPolicy: "Never" } }),
        metadata: { name: "ended" },
      }),
    says: /\n {2}PodFailed +1 pod: ended as Failed: container web ended with exit code 3/,
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
    made: () =>
      cloneSet("unmounted", {
        container: { volumeMounts: [{ name: "conf", mountPath: "/conf" }] },
        pod: { volumes: [{ name: "conf", configMap: { name: "absent" } }] },
      }),
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
    says: /Finalizers +1 pod: deleted, and kept by finalizers: example.com\/keep/,
  },
  Terminating: {
    words: "clone/slow",
    made: async () => {
      await cloneSet("slow", {
        container: { lifecycle: { preStop: { sleep: { seconds: 590 } } } },
        pod: { terminationGracePeriodSeconds: 600 },
      });
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
  "a ContainerRecreateRequest": {
    words: "crr/recreated",
    made: async () => undefined,
    says: /Recreating, 0 of 1 container of pod recreated-\w+ recreated\nIt waits for[\s\S]*RecreatePending +container web: the pod is not ready for 1000 s before it is stopped/,
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
    words: "clone/hooked -n away",
    made: async () => hooked("away", { url: `https://127.0.0.1:${portAt(await freePorts(1), 0)}/` }),
    says: /\n {2}WebhookUnavailable +the server refuses: .*failed calling webhook "away.example.com"/,
  },
  "WebhookUnavailable: it takes too long": {
    words: "clone/hooked -n silent",
    made: async () => hooked("silent", { url: `https://127.0.0.1:${await silentPort()}/` }),
    says: /\n {2}WebhookUnavailable +the server refuses: .*failed calling webhook "silent.example.com": .*(deadline|[Tt]imeout)/,
  },
  WebhookDenied: {
    words: "clone/hooked -n strict",
    made: async () => {
      const hook = await startHook(() => ({ allowed: false, status: { message: "no pods on Sundays" } }));
      t.teardown(() => hook.close());
      await hooked("strict", { url: hook.url, caBundle: hook.caBundle });
    },
    says: /\n {2}WebhookDenied +the server refuses: .*denied the request: no pods on Sundays/,
  },
  PodUnavailableBudget: {
    words: "clone/budgeted",
    made: () => budgeted("budgeted"),
    says: /\n {2}PodUnavailableBudget +budget budgeted lets no pod go: 1 of 1 available, 1 must stay\n.*\n +next: refit why pub\/budgeted -n default\n/,
  },
  ServiceAccountMissing: {
    words: "clone/nobody",
    made: () => cloneSet("nobody", { pod: { serviceAccountName: "absent" } }),
    says: /\n {2}ServiceAccountMissing +the server refuses: .*error looking up service account default\/absent/,
  },
  PodSecurity: {
    words: "clone/refused -n restricted",
    made: () =>
      refused(
        "restricted",
        'violates PodSecurity "restricted:latest": runAsNonRoot != true (container "web")',
      ),
    says: /\n {2}PodSecurity +the server refuses: .*runAsNonRoot.*\n.*\n +next: kubectl get namespace restricted --show-labels/,
  },
  LimitRange: {
    words: "clone/refused -n limited",
    made: () => refused("limited", "maximum cpu usage per Container is 1, but limit is 2"),
    says: /\n {2}LimitRange +the server refuses: .*\n.*\n +next: kubectl describe limitrange -n limited/,
  },
  NamespaceTerminating: {
    words: "clone/refused -n ending",
    made: () =>
      refused("ending", "unable to create new content in namespace ending because it is being terminated"),
    says: /\n {2}NamespaceTerminating +the server refuses: /,
  },
  Forbidden: {
    words: "clone/refused -n guarded",
    made: () => refused("guarded", "pods of this class are not allowed here"),
    says: /\n {2}Forbidden +the server refuses: .*not allowed here/,
  },
  Invalid: {
    words: "clone/refused -n picky",
    made: () => refused("picky", 'Pod "refused" is invalid: spec.os: Forbidden: not here', 422),
    says: /\n {2}(Forbidden|Invalid) +the server refuses: .*is invalid: spec.os/,
  },
  ScaleUpLimited: {
    words: "clone/careful",
    made: () => cloneSet("careful", noImage, { replicas: 3, scaleStrategy: { maxUnavailable: 1 } }),
    says: /ImagePullBackOff +1 pod: [\s\S]*ScaleUpLimited +its controller warned .*scaleStrategy.maxUnavailable, limit: /,
  },
  SubsetUnschedulable: {
    words: "ud/adaptive",
    made: () =>
      unitedDeployment(
        "adaptive",
        {},
        {
          scheduleStrategy: { type: "Adaptive", adaptive: { rescheduleCriticalSeconds: 1 } },
          subsets: [
            {
              name: "nowhere",
              maxReplicas: 1,
              nodeSelectorTerm: { matchExpressions: [{ key: "absent", operator: "Exists" }] },
            },
            { name: "anywhere" },
          ],
        },
      ),
    says: /SubsetUnschedulable +subset nowhere takes no new pods/,
  },
  Evicted: {
    words: "pod/evicted",
    made: async () => {
      await api.post("/api/v1/namespaces/default/pods", {
        ...template("evicted", {}),
        metadata: { name: "evicted", labels: { app: "evicted" } },
      });
      await podOf("evicted", isRunning);
      // As a kubelet leaves it that lacks memory.
      const message = "The node was low on resource: memory.";
      await api.patch("/api/v1/namespaces/default/pods/evicted/status", {
        status: { phase: "Failed", reason: "Evicted", message },
      });
    },
    says: /\n {2}Evicted +1 pod: .*low on resource: memory/,
  },
  ResizeDeferred: {
    words: "pod/deferred",
    made: async () => {
      const capacity = Number(at(cluster.get("nodes", { name: "node1" }), "status", "allocatable", "cpu"));
      await onNode("node1", "filling", String(capacity - 2));
      await onNode("node1", "deferred", "1");
      await resize("deferred", "3");
    },
    says: /\n {2}ResizeDeferred +1 pod: node node1 does not give the new resources: /,
  },
  ResizeInfeasible: {
    words: "pod/infeasible",
    made: async () => {
      await onNode("node2", "infeasible", "1");
      await resize("infeasible", "1000");
    },
    says: /\n {2}ResizeInfeasible +1 pod: node node2 does not give the new resources: /,
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
  "Schedule of a cron job at rest": {
    words: "acj/nightly",
    made: () => {
      const job = { spec: { template: template("nightly", { pod: { restartPolicy: "Never" } }) } };
      return kruise("advancedcronjobs", "nightly", { schedule: "0 3 1 1 *", template: { jobTemplate: job } });
    },
    says: /\n {2}Schedule +the next run is due at /,
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
    says: /\n {2}Paused +paused: .*\n.*\n +next: refit rollout resume statefulset.apps.kruise.io\/halted -n default/,
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
    says: /: 1 pod, 1 not available\nIt reports [\s\S]*\n {2}BackoffLimitExceeded +the job has failed: [\s\S]*PodFailed +1 pod: ended as Failed: container web ended with exit code 3/,
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
  "FailedInjection of a SidecarSet that has nothing to roll out": {
    words: "sidecarset/sized",
    made: async () => {
      const resourcesPolicy = {
        targetContainersMode: "sum",
        targetContainersNameRegex: "^absent$",
        resourcesExpr: { limits: { cpu: "cpu*50%" } },
      };
      await api.post("/apis/apps.kruise.io/v1beta1/sidecarsets", {
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "SidecarSet",
        metadata: { name: "sized" },
        spec: {
          selector: { matchLabels: { app: "sized" } },
          containers: [{ name: "proxy", image: "proxy:1", resourcesPolicy }],
        },
      });
      await sleep(300);
      await cloneSet("sized", {});
    },
    says: /\n {2}FailedInjection +a new pod in namespace default was refused: no containers match .*absent/,
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
  "an ImagePullJob": {
    words: "imagepulljob/unpullable",
    made: () =>
      kruise("imagepulljobs", "unpullable", {
        image: "registry.invalid/web:1",
        parallelism: 2,
        pullPolicy: { backoffLimit: 0 },
        completionPolicy: { type: "Never" },
      }),
    says: /: 0 of 3 nodes have the image, .*\nIt waits for [\s\S]*(PullFailed|Pulling) +\d nodes?: .*\(node1/,
  },
  "an ImageListPullJob": {
    words: "imagelistpulljob/list",
    made: () =>
      kruise("imagelistpulljobs", "list", {
        images: ["registry.invalid/list:1"],
        pullPolicy: { backoffLimit: 0 },
        completionPolicy: { type: "Never" },
      }),
    says: /PullFailed +image registry.invalid\/list:1: 0 of 3 nodes have it, \d nodes? failed\n.*\n +next: refit why imagepulljob\/list-\w+ -n default/,
  },
  "a NodeImage": {
    words: "nodeimage/node1",
    made: async () => undefined,
    says: /PullFailed +1 image: the pull failed: .*\(registry.invalid\/list:1\)/,
  },
  "an EphemeralJob": {
    words: "ephemeraljob/debug",
    made: async () => {
      await cloneSet("debugged", {});
      await podOf("debugged", isRunning);
      const container = {
        name: "dbg",
        image: "registry.invalid/dbg:1",
        imagePullPolicy: "IfNotPresent",
        terminationMessagePolicy: "File",
      };
      await kruise(
        "ephemeraljobs",
        "debug",
        {
          selector: { matchLabels: { app: "debugged" } },
          template: { ephemeralContainers: [container] },
        },
        "v1alpha1",
      );
    },
    says: /(ErrImagePull|ImagePullBackOff) +1 pod: container dbg has not started \(.+\) \(debugged-\w+\)/,
  },
  "a PodProbeMarker": {
    words: "podprobemarker/probed",
    made: async () => {
      await cloneSet("probed", {});
      const probe = { exec: { command: ["test", "-f", "/absent"] }, periodSeconds: 1 };
      const probes = [{ name: "file", containerName: "web", podConditionType: "example.com/file", probe }];
      const selector = { matchLabels: { app: "probed" } };
      await kruise("podprobemarkers", "probed", { selector, probes }, "v1alpha1");
    },
    says: /: 1 pod matches, 1 probed; file: 1 Failed\nIt reports one problem:\n {2}ProbeFailed +1 pod: probe file in container web failed/,
  },
  "a PodUnavailableBudget": {
    words: "pub/guarded",
    made: async () => {
      await api.post("/apis/policy.kruise.io/v1beta1/namespaces/default/podunavailablebudgets", {
        apiVersion: "policy.kruise.io/v1beta1",
        kind: "PodUnavailableBudget",
        metadata: { name: "guarded" },
        spec: { selector: { matchLabels: { app: "guarded" } }, maxUnavailable: 0 },
      });
      await cloneSet("guarded", {});
      await podOf("guarded", isRunning);
    },
    says: /: 1 pod protected \(guarded-\w+\), 1 available, 1 must stay, 0 may go now\nIt reports one problem:\n {2}BudgetExhausted/,
  },
  "a PersistentPodState": {
    words: "persistentpodstate/lost",
    made: () =>
      kruise("persistentpodstates", "lost", {
        targetRef: { apiVersion: "apps.kruise.io/v1beta1", kind: "StatefulSet", name: "nowhere" },
        requiredPersistentTopology: { keys: ["kubernetes.io/hostname"] },
      }),
    says: /NoTarget +spec.targetRef: StatefulSet nowhere of apps.kruise.io\/v1beta1 does not exist/,
  },
};

/** The kinds are those of the plurals. */
function kruise(plural: string, name: string, spec: object, version = "v1beta1"): Promise<unknown> {
  const kinds: Readonly<Record<string, string>> = {
    imagepulljobs: "ImagePullJob",
    imagelistpulljobs: "ImageListPullJob",
    ephemeraljobs: "EphemeralJob",
    podprobemarkers: "PodProbeMarker",
    persistentpodstates: "PersistentPodState",
    advancedcronjobs: "AdvancedCronJob",
  };
  return api.post(`/apis/apps.kruise.io/${version}/namespaces/default/${plural}`, {
    apiVersion: `apps.kruise.io/${version}`,
    kind: kinds[plural],
    metadata: { name },
    spec,
  });
}

/** Pods of a namespace of this name are reviewed by a webhook at that address; a CloneSet is there. */
async function hooked(name: string, clientConfig: object): Promise<void> {
  await api.post("/api/v1/namespaces", { metadata: { name, labels: { hooks: name } } });
  const webhook = {
    name: `${name}.example.com`,
    clientConfig,
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
    namespaceSelector: { matchLabels: { hooks: name } },
    timeoutSeconds: 1,
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  };
  const configuration = { metadata: { name }, webhooks: [webhook] };
  await api.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", configuration);
  await cloneSet("hooked", {}, {}, name);
}

/** Takes connections and never says a word. */
async function silentPort(): Promise<number> {
  const server = createServer();
  t.teardown(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Pods of a namespace of this name are refused, as by an admission plugin that the sandbox has not; a CloneSet is there. */
async function refused(name: string, why: string, code = 403): Promise<void> {
  await api.post("/api/v1/namespaces", { metadata: { name } });
  const message = code === 403 ? `pods "refused-1" is forbidden: ${why}` : why;
  const effect = { type: "status", code, message } as const;
  sandbox.faults.add({ verb: "create", resource: "pods", namespace: name, effect });
  await cloneSet("refused", {}, {}, name);
}

/** A running pod of the node that asks for so much. */
async function onNode(node: string, name: string, cpu: string): Promise<void> {
  await api.post("/api/v1/namespaces/default/pods", {
    ...template(name, {
      container: { resources: { requests: { cpu } } },
      pod: { nodeSelector: { "kubernetes.io/hostname": node } },
    }),
    metadata: { name, labels: { app: name } },
  });
  await podOf(name, isRunning);
}

function resize(name: string, cpu: string): Promise<unknown> {
  const path = "/spec/containers/0/resources/requests/cpu";
  return api.patch(`/api/v1/namespaces/default/pods/${name}/resize`, [{ op: "replace", path, value: cpu }]);
}

/** Two pods; in two subsets unless the topology is given. */
function unitedDeployment(
  app: string,
  parts: Template,
  topology: object = { subsets: [{ name: "a" }, { name: "b" }] },
): Promise<unknown> {
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
      topology,
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

/** A set whose pod is to be replaced, under a budget that lets none go. */
async function budgeted(app: string): Promise<void> {
  await api.post("/apis/policy.kruise.io/v1alpha1/namespaces/default/podunavailablebudgets", {
    apiVersion: "policy.kruise.io/v1alpha1",
    kind: "PodUnavailableBudget",
    metadata: { name: app },
    spec: { selector: { matchLabels: { app } }, maxUnavailable: 0 },
  });
  const updateStrategy = {
    type: "RollingUpdate",
    rollingUpdate: { podUpdatePolicy: "ReCreate", maxUnavailable: 1 },
  };
  await cloneSet(app, {}, { updateStrategy });
  await podOf(app, isRunning);
  await refit(`set image clone/${app} web=web:2`);
}

t.test("each reason is named", { timeout: 400_000 }, async (t) => {
  for (const { made } of Object.values(cases)) await made();
  for (const [name, { words, says }] of Object.entries(cases))
    await t.test(name, (t) => explains(t, words, says));
});

t.test("what is stuck is told in one table, and by its exit code", { timeout: 60_000 }, async (t) => {
  const { code, stdout } = await refit("why -A");
  t.equal(code, 3);
  for (const row of [
    /^default +clone\/budgeted +stuck +\S+ +PodUnavailableBudget +refit why pub\/budgeted -n default$/m,
    /^default +clone\/paused +stuck +\S+ +Paused +refit rollout resume /m,
    /^default +clone\/neverpull +stuck +\S+ +ErrImageNeverPull +kubectl /m,
  ])
    t.match(stdout, row);
  t.notMatch(stdout, /clone\/still/, "a pause that holds nothing back");
  t.notMatch(stdout, /acj\/nightly/, "a cron job whose next run is not due");
  const items = JSON.parse((await refit("why clone -o json")).stdout).items;
  for (const { object, state } of items) {
    const alone = await refit(`why clone/${object.name} -o json`);
    t.equal(JSON.parse(alone.stdout).state, state, `${object.name}, asked alone`);
    t.equal(alone.code, exitCodes[state as State]);
  }
  t.match(await refit("why clone/paused"), { code: 3 });
});

t.test("a deletion that a budget refused is told of the pod", { timeout: 60_000 }, async (t) => {
  const pod = await podOf("budgeted");
  t.match(
    await api.delete(`/api/v1/namespaces/default/pods/${pod}`).catch(String),
    /pub unavailable allowed is negative/,
  );
  await explains(
    t,
    `pod/${pod}`,
    /PodUnavailableBudget +budget budgeted lets no pod go: .* \(budgeted-\w+\)/,
  );
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
    t.match(followed, { code: 1, stderr: /waits: Paused: [\s\S]*error: timed out.*; it waits: Paused: / });
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
    stdout: /REVISION +CHANGE-CAUSE +IMAGES\n1 +<none> +web:1\n2 +<none> +web:2\n/,
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
  t.equal((await stopController()).code, 0);
  await explains(
    t,
    "clone/still",
    /\n {2}ControllerAbsent +nobody holds lease kruise-system\/kruise-manager: no controller works\n.*\n +next: kubectl get pods,leases -n kruise-system/,
  );
  // As one leaves it that was killed: a while ago, and just now.
  const leave = (agoMs: number): Promise<unknown> =>
    api.patch("/apis/coordination.k8s.io/v1/namespaces/kruise-system/leases/kruise-manager", {
      spec: {
        holderIdentity: "killed",
        renewTime: new Date(systemClock.now() - agoMs).toISOString().replace("Z", "000Z"),
      },
    });
  await leave(600_000);
  await explains(
    t,
    "clone/still",
    /\n {2}ControllerAbsent +lease kruise-system\/kruise-manager was renewed last \d+m ago, by killed: no controller works\n/,
  );
  await leave(0);
  await api.patch("/apis/apps.kruise.io/v1beta1/namespaces/default/clonesets/patient/status", {
    status: { observedGeneration: 0 },
  });
  await explains(
    t,
    "clone/patient",
    /\n {2}NotObserved +its controller has not reported on generation 1 yet, the status is of generation 0\n/,
  );
});
