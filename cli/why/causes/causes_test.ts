import fc from "fast-check";
import t from "tap";
import {
  ago,
  type FactsParts,
  factsWith,
  now,
  podWith,
  warning,
} from "../../../testkit/cli/facts_builder.ts";
import { type AnyObject, isFields, toAnyObject } from "../../fields.ts";
import { type Cause, isStuck, ranked } from "./cause.ts";
import { causesOf } from "./causes_of.ts";
import { subjectFactsOf } from "./gather.ts";
import { podFactsOf, stateOf } from "./pod_facts.ts";
import { isAtRest, podCauses } from "./pod_reasons.ts";
import { lastLine, shownText } from "./shown_text.ts";

interface Case {
  readonly given: FactsParts;
  readonly message: RegExp;
  readonly next: RegExp;
  readonly outlook: Cause["outlook"];
}

const unplaced = (message: string, more: object = {}) =>
  podWith({
    spec: { nodeName: undefined, ...more },
    status: {
      phase: "Pending",
      conditions: [
        {
          type: "PodScheduled",
          status: "False",
          reason: "Unschedulable",
          message,
          lastTransitionTime: ago(300),
        },
      ],
      containerStatuses: [],
    },
  });
const waiting = (reason: string, message = "") =>
  podWith({ container: { state: { waiting: { reason, message } } } });
const crashed = (terminated: object, more: object = {}) =>
  podWith({
    container: {
      restartCount: 4,
      state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 40s" } },
      lastState: { terminated: { exitCode: 1, reason: "Error", finishedAt: ago(20), ...terminated } },
      ...more,
    },
  });
const refused = (message: string): FactsParts => ({
  object: {
    status: {
      observedGeneration: 1,
      conditions: [{ type: "FailedScale", status: "True", message, lastTransitionTime: ago(90) }],
    },
  },
});
const request = {
  name: "crr",
  uid: "uid-crr",
  pod: "default/uid-web-a",
  containers: ["web"],
  message: "",
  createdAt: now - 60_000,
};
const claims = { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data-0" } }] };
const condition = (type: string, status: string, more: object = {}) => ({
  type,
  status,
  lastTransitionTime: ago(60),
  ...more,
});
const readyPod = (more: readonly object[], metadata: object = {}) =>
  podWith({
    metadata,
    container: { ready: true },
    status: { conditions: [condition("Ready", "True"), ...more] },
  });

/** One for each reason; what its first entry says. */
const cases: Readonly<Record<string, Case>> = {
  Unschedulable: {
    given: { pods: [unplaced("0/3 nodes are available: 3 Insufficient cpu.")] },
    message: /^1 pod: no node takes the pod: 0\/3 nodes are available: 3 Insufficient cpu\.$/,
    next: /^kubectl describe pod web-a -n default$/,
    outlook: "stuck",
  },
  "Unschedulable, but nodes are being added": {
    given: {
      pods: [unplaced("0/3 nodes are available")],
      podEvents: [{ ...warning("TriggeredScaleUp", "pool a 3->4"), isWarning: false }],
    },
    message: /nodes are being added \(pool a 3->4\)/,
    next: /describe pod/,
    outlook: "moving",
  },
  SchedulingGated: {
    given: { pods: [unplaced("gated", { schedulingGates: [{ name: "example.com/wait" }] })] },
    message: /held back by scheduling gates: example.com\/wait/,
    next: /schedulingGates/,
    outlook: "stuck",
  },
  VolumeClaim: {
    given: {
      pods: [unplaced("pod has unbound immediate PersistentVolumeClaims", claims)],
      claim: () => ({ exists: true, phase: "Pending", warning: 'storageclass "fast" not found' }),
    },
    message: /claim data-0 is Pending: storageclass "fast" not found/,
    next: /kubectl describe pvc data-0 -n default/,
    outlook: "stuck",
  },
  "VolumeClaim that does not exist": {
    given: { pods: [unplaced("", claims)], claim: () => ({ exists: false, phase: "", warning: "" }) },
    message: /claim data-0 does not exist/,
    next: /pvc/,
    outlook: "stuck",
  },
  NotScheduled: {
    given: {
      pods: [
        podWith({
          spec: { nodeName: undefined, schedulerName: "mine" },
          status: { phase: "Pending", conditions: [] },
        }),
      ],
    },
    message: /no scheduler has taken the pod up \(schedulerName: mine\)/,
    next: /get pods -n kube-system/,
    outlook: "stuck",
  },
  NodeNotReady: {
    given: {
      pods: [podWith()],
      node: () => ({
        exists: true,
        ready: {
          status: "Unknown",
          reason: "NodeStatusUnknown",
          message: "Kubelet stopped posting.",
          since: now - 400_000,
        },
      }),
    },
    message: /node node1 is not ready \(NodeStatusUnknown: Kubelet stopped posting\.\)/,
    next: /kubectl describe node node1/,
    outlook: "stuck",
  },
  "NodeNotReady of a node that is gone": {
    given: { pods: [podWith()], node: () => ({ exists: false, ready: undefined }) },
    message: /node node1 is gone/,
    next: /get nodes/,
    outlook: "stuck",
  },
  AgentAbsent: {
    given: {
      pods: [podWith()],
      requests: [{ ...request, phase: "Recreating" }],
      agents: new Map([["node2", true]]),
    },
    message: /node node1 has no agent, which ContainerRecreateRequest crr waits for/,
    next: /control-plane=daemon --field-selector spec.nodeName=node1/,
    outlook: "stuck",
  },
  "AgentAbsent where agents are started by other means": {
    given: { pods: [podWith()], requests: [{ ...request, phase: "" }] },
    message: /nothing answers on node node1/,
    next: /control-plane=daemon/,
    outlook: "stuck",
  },
  "AgentAbsent for a new environment": {
    given: {
      pods: [
        podWith({
          spec: {
            readinessGates: [{ conditionType: "InPlaceUpdateReady" }],
            containers: [
              {
                name: "web",
                image: "web:1",
                env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.labels['a']" } } }],
              },
            ],
          },
          container: { ready: true },
          status: { conditions: [condition("Ready", "False"), condition("InPlaceUpdateReady", "False")] },
        }),
      ],
      agents: new Map([["node1", false]]),
    },
    message: /the agent on node node1 is not ready, which a new environment of its containers waits for/,
    next: /control-plane=daemon/,
    outlook: "stuck",
  },
  RecreateRequest: {
    given: {
      pods: [podWith()],
      requests: [{ ...request, phase: "Recreating" }],
      agents: new Map([["node1", true]]),
    },
    message: /ContainerRecreateRequest crr restarts web: Recreating/,
    next: /kubectl get crr crr -n default/,
    outlook: "moving",
  },
  Finalizers: {
    given: {
      pods: [
        podWith({
          metadata: { deletionTimestamp: ago(120), finalizers: ["example.com/keep"] },
          container: { state: { terminated: { exitCode: 0 } } },
        }),
      ],
    },
    message: /deleted, and kept by finalizers: example.com\/keep/,
    next: /metadata.finalizers/,
    outlook: "stuck",
  },
  Terminating: {
    given: { pods: [podWith({ metadata: { deletionTimestamp: ago(-20) } })] },
    message: /being deleted, containers have time to stop/,
    next: /describe pod/,
    outlook: "moving",
  },
  "Terminating beyond its time": {
    given: { pods: [podWith({ metadata: { deletionTimestamp: ago(90) } })] },
    message: /not gone although the grace period is over/,
    next: /describe pod/,
    outlook: "stuck",
  },
  Evicted: {
    given: {
      pods: [
        podWith({ status: { phase: "Failed", reason: "Evicted", message: "The node was low on memory." } }),
      ],
    },
    message: /ended as Failed: Evicted: The node was low on memory\./,
    next: /describe pod/,
    outlook: "stuck",
  },
  PodFailed: {
    given: {
      pods: [
        podWith({
          status: { phase: "Failed" },
          container: { state: { terminated: { exitCode: 3, reason: "Error", finishedAt: ago(20) } } },
        }),
      ],
    },
    message: /ended as Failed: container web ended with exit code 3 \(Error\)/,
    next: /kubectl logs web-a -c web/,
    outlook: "moving",
  },
  ImagePullBackOff: {
    given: {
      pods: [waiting("ErrImagePull")],
      podEvents: [warning("Failed", 'Failed to pull image "web:1": not found')],
    },
    message: /container web cannot have image web:1: Failed to pull image "web:1": not found/,
    next: /describe pod/,
    outlook: "stuck",
  },
  InvalidImageName: {
    given: { pods: [waiting("InvalidImageName", "couldn't parse image name")] },
    message: /cannot have image web:1: couldn't parse image name/,
    next: /describe pod/,
    outlook: "stuck",
  },
  ErrImageNeverPull: {
    given: { pods: [waiting("ErrImageNeverPull")] },
    message: /cannot have image web:1/,
    next: /describe pod/,
    outlook: "stuck",
  },
  CreateContainerConfigError: {
    given: { pods: [waiting("CreateContainerConfigError", 'configmap "settings" not found')] },
    message: /container web cannot be started: configmap "settings" not found/,
    next: /describe pod/,
    outlook: "stuck",
  },
  BarrierNotOwned: {
    given: {
      pods: [
        waiting("CreateContainerConfigError", "couldn't find key p_0 in ConfigMap default/web-a-barrier"),
      ],
      podEvents: [warning("BarrierNotOwned", "containers wait: ConfigMap web-a-barrier is not owned")],
    },
    message: /ConfigMap web-a-barrier is not owned/,
    next: /describe pod/,
    outlook: "stuck",
  },
  CrashLoopBackOff: {
    given: { pods: [crashed({})], lastLine: () => "no configuration" },
    message:
      /container web ended with exit code 1 \(Error\), the last line of its log: "no configuration", 4 restarts/,
    next: /kubectl logs web-a -c web -n default --previous/,
    outlook: "stuck",
  },
  "CrashLoopBackOff for want of memory": {
    given: { pods: [crashed({ exitCode: 137, reason: "OOMKilled", message: "killed" })] },
    message: /exit code 137 \(OOMKilled\), the last line of its log: "killed"/,
    next: /logs/,
    outlook: "stuck",
  },
  "CrashLoopBackOff by the liveness probe": {
    given: {
      pods: [crashed({ exitCode: 143 })],
      podEvents: [warning("Unhealthy", "Liveness probe failed: HTTP 500")],
    },
    message: /restarted by its liveness probe \(Liveness probe failed: HTTP 500\)/,
    next: /logs/,
    outlook: "stuck",
  },
  "CrashLoopBackOff between two crashes": {
    given: { pods: [crashed({}, { state: { running: { startedAt: ago(2) } } })] },
    message: /ended with exit code 1/,
    next: /--previous/,
    outlook: "stuck",
  },
  FailedMount: {
    given: {
      pods: [waiting("ContainerCreating")],
      podEvents: [
        warning("FailedMount", 'MountVolume.SetUp failed for volume "x": configmap "x" not found', 200),
      ],
    },
    message: /MountVolume.SetUp failed for volume "x"/,
    next: /describe pod/,
    outlook: "stuck",
  },
  FailedCreatePodSandBox: {
    given: {
      pods: [waiting("ContainerCreating")],
      podEvents: [warning("FailedCreatePodSandBox", "no IP left", 5)],
    },
    message: /no IP left/,
    next: /describe pod/,
    outlook: "moving",
  },
  ImagePulling: {
    given: {
      pods: [waiting("ContainerCreating")],
      podEvents: [{ ...warning("Pulling", 'Pulling image "web:1"'), isWarning: false }],
    },
    message: /Pulling image "web:1"/,
    next: /describe pod/,
    outlook: "moving",
  },
  Initializing: {
    given: {
      pods: [
        podWith({
          spec: { initContainers: [{ name: "setup", image: "s" }] },
          status: {
            phase: "Pending",
            initContainerStatuses: [{ name: "setup", state: { running: { startedAt: ago(30) } } }],
            containerStatuses: [{ name: "web", state: { waiting: { reason: "PodInitializing" } } }],
          },
        }),
      ],
    },
    message: /init container setup has not ended/,
    next: /kubectl logs web-a -c setup/,
    outlook: "moving",
  },
  Starting: {
    given: {
      pods: [
        podWith({
          status: {
            phase: "Pending",
            conditions: [condition("PodScheduled", "True")],
            containerStatuses: [],
          },
        }),
      ],
    },
    message: /container web is being started/,
    next: /describe pod/,
    outlook: "moving",
  },
  StartupProbe: {
    given: {
      pods: [
        podWith({
          spec: { containers: [{ name: "web", image: "web:1", startupProbe: { tcpSocket: { port: 80 } } }] },
          container: { started: false },
        }),
      ],
    },
    message: /its startup probe \(tcpSocket :80\) does not pass/,
    next: /logs/,
    outlook: "moving",
  },
  ReadinessProbe: {
    given: {
      pods: [
        podWith({
          spec: {
            containers: [
              { name: "web", image: "web:1", readinessProbe: { httpGet: { port: 8080, path: "/ready" } } },
            ],
          },
          container: { state: { running: { startedAt: ago(700) } } },
        }),
      ],
      podEvents: [warning("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")],
    },
    message: /its readiness probe \(httpGet :8080\/ready\) does not pass: Readiness probe failed: .* 503$/,
    next: /logs/,
    outlook: "stuck",
  },
  ReadinessGate: {
    given: {
      pods: [
        podWith({
          spec: { readinessGates: [{ conditionType: "example.com/lb" }] },
          container: { ready: true },
        }),
      ],
    },
    message: /condition example.com\/lb of a readiness gate is not True: nobody has set it/,
    next: /status.conditions/,
    outlook: "moving",
  },
  ResizeInfeasible: {
    given: {
      pods: [
        readyPod([
          condition("PodResizePending", "True", {
            reason: "Infeasible",
            message: "Node didn't have enough capacity: cpu",
          }),
        ]),
      ],
    },
    message: /node node1 does not give the new resources: Node didn't have enough capacity: cpu/,
    next: /describe pod/,
    outlook: "stuck",
  },
  ResizeDeferred: {
    given: {
      pods: [readyPod([condition("PodResizePending", "True", { reason: "Deferred", message: "later" })])],
    },
    message: /does not give the new resources: later/,
    next: /describe pod/,
    outlook: "moving",
  },
  MinReadySeconds: {
    given: { subject: { minReadySeconds: 3600 }, pods: [readyPod([])] },
    message: /ready, available only after 3600 s/,
    next: /describe pod/,
    outlook: "moving",
  },
  NotReady: {
    given: {
      pods: [
        podWith({
          container: { ready: true },
          status: { conditions: [condition("Ready", "False", { reason: "Odd", message: "so it is" })] },
        }),
      ],
    },
    message: /not ready: Odd: so it is/,
    next: /describe pod/,
    outlook: "moving",
  },
  ControllerAbsent: {
    given: {
      leases: [
        { key: "kruise-system/kruise-manager", holder: "", renewedAt: now - 120_000, durationMs: 1000 },
      ],
    },
    message: /nobody holds lease kruise-system\/kruise-manager: no controller works/,
    next: /kubectl get pods,leases -n kruise-system/,
    outlook: "stuck",
  },
  "ControllerAbsent by a stale lease": {
    given: {
      leases: [
        {
          key: "kruise-system/kruise-manager",
          holder: "host_1",
          renewedAt: now - 300_000,
          durationMs: 15_000,
        },
      ],
    },
    message: /was renewed last 5m ago, by host_1/,
    next: /leases/,
    outlook: "stuck",
  },
  "ControllerAbsent from the beginning": {
    given: { leases: [], subject: { generation: 1, observedGeneration: 0 } },
    message: /no controller has ever held a lease/,
    next: /leases/,
    outlook: "stuck",
  },
  NotObserved: {
    given: { subject: { generation: 3, observedGeneration: 2 } },
    message: /generation 3 yet, the status is of generation 2/,
    next: /leases/,
    outlook: "moving",
  },
  Deleting: {
    given: { subject: { deletionAt: now - 5000, finalizers: ["example.com/keep"] } },
    message: /kept by finalizers: example.com\/keep/,
    next: /metadata.finalizers/,
    outlook: "moving",
  },
  QuotaExceeded: {
    given: refused(
      'failed to create pod: pods "web-a" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2',
    ),
    message: /the server refuses: .*exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2/,
    next: /kubectl describe resourcequota -n default/,
    outlook: "stuck",
  },
  WebhookUnavailable: {
    given: refused(
      'Internal error occurred: failed calling webhook "a.example.com": context deadline exceeded',
    ),
    message: /failed calling webhook "a.example.com": context deadline exceeded/,
    next: /validatingwebhookconfigurations/,
    outlook: "stuck",
  },
  PodUnavailableBudget: {
    given: {
      ...refused(
        'failed to delete pod web-a: admission webhook "vpod.kb.io" denied the request: podunavailablebudget.policy.kruise.io "keep" is forbidden: pub unavailable allowed is negative',
      ),
      budgets: [{ name: "keep", counts: { available: 3, desired: 3, total: 3 }, refusedPods: new Map() }],
    },
    message: /^budget keep lets no pod go: 3 of 3 available, 3 must stay$/,
    next: /^refit why pub\/keep -n default$/,
    outlook: "stuck",
  },
  "PodUnavailableBudget, that cannot be read": {
    given: refused(
      'podunavailablebudget.policy.kruise.io "keep" is forbidden: pub unavailable allowed is negative',
    ),
    message: /^budget keep lets no pod go$/,
    next: /^refit why pub\/keep -n default$/,
    outlook: "held",
  },
  "PodUnavailableBudget, of a drain": {
    given: {
      budgets: [
        {
          name: "keep",
          counts: { available: 2, desired: 2, total: 3 },
          refusedPods: new Map([
            ["web-a", now - 60_000],
            ["web-b", now - 3_600_000],
          ]),
        },
      ],
    },
    message: /^budget keep lets no pod go: 2 of 3 available, 2 must stay$/,
    next: /^refit why pub\/keep -n default$/,
    outlook: "held",
  },
  WebhookDenied: {
    given: refused('admission webhook "a.example.com" denied the request: no'),
    message: /denied the request: no/,
    next: /webhookconfigurations/,
    outlook: "stuck",
  },
  "WebhookDenied, by a SidecarSet": {
    given: refused(
      'admission webhook "mpod.kb.io" denied the request: no containers match "^a$" (SidecarSet proxy.v1)',
    ),
    message: /denied the request: no containers match/,
    next: /^refit why sidecarset\/proxy\.v1$/,
    outlook: "stuck",
  },
  PodSecurity: {
    given: refused('pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'),
    message: /violates PodSecurity/,
    next: /get namespace default --show-labels/,
    outlook: "stuck",
  },
  LimitRange: {
    given: refused('pods "a" is forbidden: maximum cpu usage per Container is 1, but limit is 2'),
    message: /maximum cpu usage per Container/,
    next: /limitrange/,
    outlook: "stuck",
  },
  ServiceAccountMissing: {
    given: refused(
      'pods "a" is forbidden: error looking up service account default/robot: serviceaccount "robot" not found',
    ),
    message: /error looking up service account/,
    next: /serviceaccounts/,
    outlook: "stuck",
  },
  NamespaceTerminating: {
    given: refused("unable to create new content in namespace default because it is being terminated"),
    message: /being terminated/,
    next: /describe namespace default/,
    outlook: "stuck",
  },
  Forbidden: {
    given: refused('pods is forbidden: User "x" cannot create resource "pods"'),
    message: /cannot create resource/,
    next: /get events/,
    outlook: "stuck",
  },
  Invalid: {
    given: refused('Pod "a" is invalid: spec'),
    message: /is invalid/,
    next: /events/,
    outlook: "stuck",
  },
  WriteFailed: {
    given: refused("what nobody has seen before"),
    message: /nobody has seen/,
    next: /events/,
    outlook: "stuck",
  },
  "QuotaExceeded by one event": {
    given: { events: [warning("FailedCreate", "exceeded quota: few", 300)] },
    message: /exceeded quota: few/,
    next: /resourcequota/,
    outlook: "moving",
  },
  "QuotaExceeded by events": {
    given: { events: [warning("FailedCreate", "exceeded quota: few", 40, 3)] },
    message: /exceeded quota: few/,
    next: /resourcequota/,
    outlook: "stuck",
  },
  BackoffLimitExceeded: {
    given: {
      object: {
        status: {
          conditions: [
            condition("Failed", "True", { reason: "BackoffLimitExceeded", message: "Job has reached it" }),
          ],
        },
      },
      subject: { observedGeneration: undefined },
    },
    message: /the job has failed: Job has reached it/,
    next: /kubectl describe/,
    outlook: "stuck",
  },
  ProgressDeadlineExceeded: {
    given: {
      object: {
        status: {
          observedGeneration: 1,
          conditions: [condition("Progressing", "False", { reason: "ProgressDeadlineExceeded" })],
        },
      },
    },
    message: /no further within its progressDeadlineSeconds/,
    next: /refit rollout undo cloneset.apps.kruise.io\/web -n default/,
    outlook: "held",
  },
  FailedInjection: {
    given: { events: [warning("FailedInjection", "a new pod in namespace shop was refused: no revision")] },
    message: /^a new pod in namespace shop was refused: no revision \(.+ ago\)$/,
    next: /kubectl describe cloneset.apps.kruise.io\/web -n default/,
    outlook: "held",
  },
  SubsetUnschedulable: {
    given: {
      object: {
        status: {
          observedGeneration: 1,
          subsetStatuses: [
            { name: "a", conditions: [condition("Schedulable", "False", { reason: "Full" })] },
          ],
        },
      },
    },
    message: /subset a takes no new pods: Full/,
    next: /-o yaml/,
    outlook: "held",
  },
  ScaleUpLimited: {
    given: { events: [warning("ScaleUpLimited", "scaleUp is limited")] },
    message: /its controller warned 30s ago: scaleUp is limited/,
    next: /kubectl describe/,
    outlook: "held",
  },
};

function all(parts: FactsParts): Cause[] {
  const { first, pods, last } = causesOf(factsWith(parts));
  return [...first, ...pods, ...last];
}

for (const [name, { given, message, next, outlook }] of Object.entries(cases)) {
  t.test(name, async (t) => {
    const causes = all(given);
    t.equal(causes.length, 1, "one reason, no other");
    const [cause] = causes;
    t.equal(cause?.reason, name.split(/[ ,]/)[0]);
    t.match(cause?.message, message);
    t.match(cause?.next, next);
    t.equal(cause?.outlook, outlook);
    t.not(cause?.until, "");
  });
}

t.test("nothing is said of an object at rest, nor of a refusal that is over", async (t) => {
  t.same(all({}), []);
  const refusedPods = new Map([["web-a", now - 60_000]]);
  const counts = { available: 3, desired: 2, total: 3 };
  t.same(all({ budgets: [{ name: "keep", counts, refusedPods }] }), [], "it has room again");
  const events = [warning("FailedCreate", "exceeded quota: few", 60)];
  t.same(all({ events, newestPodAt: now - 10_000 }), []);
  t.same(all({ events: [warning("FailedCreate", "exceeded quota: few", 3600)] }), []);
  t.same(all({ events: [{ ...warning("Scheduled", "fine"), isWarning: false }] }), []);
});

t.test("pods with one reason share an entry, with the earliest time", async (t) => {
  const message = "0/3 nodes are available";
  const pods = ["a", "b", "c"].map((name, index) =>
    toAnyObject({
      ...unplaced(message),
      metadata: { name, namespace: "default", uid: name },
      status: {
        conditions: [
          { type: "PodScheduled", status: "False", message, lastTransitionTime: ago(100 * (index + 1)) },
        ],
      },
    }),
  );
  const [cause, ...others] = all({ pods });
  t.same(others, []);
  t.match(cause, { pods: ["a", "b", "c"], since: now - 300_000 });
  t.match(cause?.message, /^3 pods: /);
});

t.test(
  "a container that waits for its turn, and a sidecar that runs, are not taken for the cause",
  async (t) => {
    const pod = podWith({
      spec: {
        initContainers: [
          { name: "proxy", image: "p", restartPolicy: "Always" },
          { name: "setup", image: "s" },
        ],
      },
      status: {
        phase: "Pending",
        initContainerStatuses: [
          { name: "proxy", ready: true, state: { running: {} } },
          {
            name: "setup",
            restartCount: 3,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { exitCode: 2 } },
          },
        ],
        containerStatuses: [{ name: "web", state: { waiting: { reason: "PodInitializing" } } }],
      },
    });
    t.match(all({ pods: [pod] })[0]?.message, /init container setup ended with exit code 2, 3 restarts/);
  },
);

t.test("a rollout is stuck only when nothing is under way", async (t) => {
  const of = (outlook: Cause["outlook"], more: Partial<Cause> = {}): Cause => ({
    reason: outlook,
    message: "",
    until: "",
    outlook,
    ...more,
  });
  const order = ranked([of("held"), of("moving"), of("stuck")]).map(({ outlook }) => outlook);
  t.same(order, ["stuck", "moving", "held"]);
  t.equal(isStuck([of("stuck"), of("held")], true), true);
  t.equal(isStuck([of("stuck"), of("held")], false), false, "the controller has something to do");
  t.equal(isStuck([of("stuck"), of("moving")], true), false);
  t.equal(isStuck([of("held")], true), false);
  t.equal(isStuck([of("stuck", { stopsController: true }), of("moving")], false), true);
});

t.test("a request of another namespace says nothing of a pod, whatever UID it names", async (t) => {
  const given = (pod: string) => factsWith({ pods: [podWith()], requests: [{ ...request, pod, phase: "" }] });
  const reasons = (pod: string) => podCauses(given(pod)).map(({ reason }) => reason);
  t.ok(reasons("default/uid-web-a").includes("AgentAbsent"));
  t.notOk(reasons("evil/uid-web-a").includes("AgentAbsent"));
});

t.test("words of others stay on their line", async (t) => {
  t.equal(shownText("a\u001b[31mb\n\u0007c  d"), "a [31mb c d");
  t.ok(shownText("x".repeat(5000)).length <= 240);
  t.equal(lastLine("one\ntwo\n\n"), "two");
  t.equal(lastLine(""), "");
});

/** The pods of all cases, each with a part replaced by anything. */
const samples: readonly AnyObject[] = Object.values(cases).flatMap(({ given }) => given.pods ?? []);

function replaced(value: unknown, path: readonly number[], by: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return by;
  if (Array.isArray(value) && value.length > 0)
    return value.map((item, index) => (index === step % value.length ? replaced(item, rest, by) : item));
  if (!isFields(value)) return by;
  const names = Object.keys(value);
  const name = names[step % Math.max(1, names.length)];
  return name === undefined ? by : { ...value, [name]: replaced(value[name], rest, by) };
}

const hostileText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("__proto__", "\u001b[2J", "2026-99-99T00:00:00Z"),
);
const anything = fc.oneof(fc.jsonValue(), hostileText, fc.constant(undefined));
const path = fc.array(fc.nat(20), { maxLength: 6 });
const hostilePod = fc
  .tuple(fc.constantFrom(...samples), fc.array(fc.tuple(path, anything), { maxLength: 3 }))
  .map(([pod, edits]) => edits.reduce((edited: unknown, [path, by]) => replaced(edited, path, by), pod))
  .filter((pod) => isFields(pod) && isFields(pod["metadata"]))
  .map(toAnyObject);

t.test(
  "whatever objects hold, each pod that is not at rest is in one entry, in words that fit on a line",
  async (t) => {
    const said = fc.record({ reason: hostileText, message: hostileText });
    fc.assert(
      fc.property(
        fc.array(hostilePod, { maxLength: 6 }),
        said,
        fc.nat(5000),
        (objects, { reason, message }, minReadySeconds) => {
          const rest = { minReadySeconds, requested: new Set<string>(), now };
          const pods = objects.filter((pod) => !isAtRest(podFactsOf(pod), rest));
          for (const pod of pods) stateOf(podFactsOf(pod));
          const facts = factsWith({
            pods,
            podEvents: [warning(reason, message)],
            subject: { minReadySeconds },
          });
          const causes = podCauses(facts);
          const named = causes.reduce((sum, cause) => sum + (cause.pods?.length ?? 0), 0);
          for (const cause of causes)
            if (/\p{Cc}/u.test(cause.message) || cause.message.length > 1500) return false;
          return named === pods.length;
        },
      ),
      { numRuns: 2000, seed: 20260101 },
    );
    fc.assert(
      fc.property(fc.jsonValue(), anything, fc.string({ unit: "binary" }), (status, conditions, words) => {
        const object = toAnyObject({
          metadata: {},
          spec: status,
          status: isFields(status) ? { ...status, conditions } : status,
        });
        subjectFactsOf(object, "x", { observes: true });
        return causesOf(
          factsWith({ object, events: [warning(words, words)], ...refused(words) }),
        ).first.every(({ message }) => !/\p{Cc}/u.test(message));
      }),
      { numRuns: 1000, seed: 20260102 },
    );
    t.pass("no counterexample");
  },
);

t.test(
  "an image that the registry refuses is stuck as soon as the node says so, one that it cannot ask for after a minute",
  (t) => {
    const outlook = (message: string, seconds: number, reason = "ErrImagePull") => {
      const notReady = { ...condition("Ready", "False"), lastTransitionTime: ago(seconds) };
      const state = { waiting: { reason, message } };
      return podCauses(
        factsWith({ pods: [podWith({ status: { conditions: [notReady] }, container: { state } })] }),
      )[0]?.outlook;
    };
    const refusals = [
      'failed to pull and unpack image "docker.io/library/web:1": failed to resolve reference: docker.io/library/web:1: not found',
      "reading manifest v9 in quay.io/x: manifest unknown",
      "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope",
      "unexpected status from HEAD request to https://r/v2/x/manifests/1: 403 Forbidden",
      "failed to authorize: failed to fetch anonymous token: 401 Unauthorized",
    ];
    for (const message of refusals) t.equal(outlook(message, 1), "stuck", message);
    const passing = [
      "dial tcp 10.0.0.1:443: i/o timeout",
      "unexpected status code 503 Service Unavailable",
      "pull QPS exceeded",
      "toomanyrequests: You have reached your pull rate limit",
      "",
    ];
    for (const message of passing) {
      t.equal(outlook(message, 1), "moving", message);
      t.equal(outlook(message, 61, "ImagePullBackOff"), "stuck", message);
    }
    t.equal(outlook("couldn't parse image name", 1, "InvalidImageName"), "stuck");
    t.end();
  },
);

t.test("a container that an update in place has stopped does not crash", (t) => {
  const reasons = (gate: object, container: object) => {
    const conditions = [condition("Ready", "False"), condition("InPlaceUpdateReady", "False", gate)];
    return podCauses(factsWith({ pods: [podWith({ status: { conditions }, container })] })).map(
      ({ reason }) => reason,
    );
  };
  const ended = (seconds: number, exitCode = 0) => ({
    exitCode,
    reason: "Completed",
    finishedAt: ago(seconds),
  });
  const stopped = { restartCount: 4, state: { terminated: ended(3) } };
  t.notOk(reasons({ lastTransitionTime: ago(5) }, stopped).includes("CrashLoopBackOff"));
  t.ok(reasons({ lastTransitionTime: ago(2) }, stopped).includes("CrashLoopBackOff"), "it ended before");
  const again = { restartCount: 4, state: { running: {} }, lastState: { terminated: ended(9, 137) } };
  const open = { status: "True", lastTransitionTime: ago(5) };
  t.notOk(reasons(open, again).includes("CrashLoopBackOff"), "the gate was opened after it had been stopped");
  t.ok(
    reasons({ ...open, lastTransitionTime: ago(30) }, again).includes("CrashLoopBackOff"),
    "it ended afterwards",
  );
  // Sidecars have no gate.
  const sidecar = (image: string) => ({ ...stopped, image });
  t.notOk(
    reasons(open, sidecar("docker.io/library/web:0")).includes("CrashLoopBackOff"),
    "its image changed",
  );
  t.ok(reasons(open, sidecar("docker.io/library/web:1")).includes("CrashLoopBackOff"), "by itself");
  t.end();
});
