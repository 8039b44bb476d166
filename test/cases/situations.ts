/** What workloads get stuck at: how each comes about, what `why` says of it first, and what there is to be pasted. */
import { cloneSet, container, nativeWorkload, sleeper } from "./manifests.ts";

export interface Situation {
  readonly title: string;
  /** What is asked about, as `clone/web`. */
  readonly words: string;
  readonly made: readonly object[];
  /** A change of the object that is asked about, once its pods are ready. */
  readonly changed?: object;
  /** It holds up the whole namespace. */
  readonly isLast?: true;
  /** The reason that stands first. */
  readonly first: string;
  readonly says: RegExp;
  /** The command that stands by it, without the namespace; `POD` stands for the name of a pod. */
  readonly next: string;
  /** Why it does not come about on the test cluster. */
  readonly notOnCluster?: string;
  /** What is pasted ends it. */
  readonly ends?: true;
}

const version = "v1beta1";
const kruise = "apps.kruise.io/v1beta1";

interface Shape {
  readonly container?: object;
  readonly pod?: object;
  readonly replicas?: number;
  readonly spec?: object;
  readonly strategy?: Parameters<typeof cloneSet>[1]["strategy"];
  readonly labels?: Record<string, string>;
}

function clone(name: string, { container: more, pod, replicas, spec, strategy, labels }: Shape = {}): object {
  return cloneSet(version, {
    name,
    containers: [container("web", "nginx:1.20", more)],
    podSpec: { terminationGracePeriodSeconds: 1, ...pod },
    ...(replicas === undefined ? {} : { replicas }),
    ...(spec === undefined ? {} : { more: spec }),
    ...(strategy === undefined ? {} : { strategy }),
    ...(labels === undefined ? {} : { labels }),
  });
}

const newImage = { spec: { template: { spec: { containers: [container("web", "nginx:1.21")] } } } };

function kind(name: string, apiVersion: string, ofKind: string, spec: object): object {
  return { apiVersion, kind: ofKind, metadata: { name }, spec };
}

const selector = (name: string) => ({ matchLabels: { case: name } });

export const situations: readonly Situation[] = [
  {
    title: "an image that no registry has",
    words: "clone/no-image",
    made: [clone("no-image", { container: { image: "registry.invalid/web:1" } })],
    first: "ImagePullBackOff",
    says: /cannot have image registry\.invalid\/web:1/,
    next: "kubectl describe pod POD",
  },
  {
    title: "a new image that no registry has",
    words: "clone/no-new-image",
    made: [clone("no-new-image", { strategy: { policy: "InPlaceIfPossible" } })],
    changed: {
      spec: { template: { spec: { containers: [container("web", "registry.invalid/web:2")] } } },
    },
    first: "ImagePullBackOff",
    says: /cannot have image registry\.invalid\/web:2/,
    next: "kubectl describe pod POD",
  },
  {
    title: "a misspelt tag",
    words: "clone/misspelt",
    made: [clone("misspelt", { container: { image: "nginx:1.20-alpnie" } })],
    first: "ImagePullBackOff",
    says: /cannot have image nginx:1\.20-alpnie/,
    next: "kubectl describe pod POD",
  },
  {
    title: "an image whose name is none",
    words: "clone/misnamed",
    made: [clone("misnamed", { container: { image: "NGINX:1" } })],
    first: "InvalidImageName",
    says: /cannot have image NGINX:1/,
    next: "kubectl describe pod POD",
  },
  {
    title: "a program that the image does not have",
    words: "clone/no-program",
    made: [clone("no-program", { container: { command: ["/does/not/exist"] } })],
    first: "CrashLoopBackOff",
    says: /exit code 128 \(StartError\)/,
    next: "kubectl logs POD -c web --previous",
  },
  {
    title: "a priority class that is missing",
    words: "clone/no-class",
    made: [clone("no-class", { pod: { priorityClassName: "nosuch" } })],
    first: "Forbidden",
    says: /no PriorityClass with name nosuch was found/,
    next: "kubectl get events --field-selector type=Warning",
  },
  {
    title: "a pause",
    words: "clone/paused",
    made: [clone("paused", { strategy: { paused: true } })],
    changed: newImage,
    first: "Paused",
    says: /^1 pod is held at an old revision by paused$/,
    next: "refit rollout resume cloneset.apps.kruise.io/paused",
    ends: true,
  },
  {
    title: "a partition of half the pods",
    words: "clone/partitioned",
    made: [clone("partitioned", { replicas: 2, strategy: { partition: "50%" } })],
    changed: newImage,
    first: "Partition",
    says: /^1 pod stays at an old revision by partition 50%$/,
    next: "refit rollout promote cloneset.apps.kruise.io/partitioned",
    ends: true,
  },
  {
    title: "a budget that refuses a rollout",
    words: "clone/budgeted",
    made: [
      clone("budgeted", { strategy: { policy: "ReCreate" } }),
      kind("budgeted", "policy.kruise.io/v1alpha1", "PodUnavailableBudget", {
        selector: selector("budgeted"),
        minAvailable: 1,
      }),
    ],
    changed: newImage,
    first: "PodUnavailableBudget",
    says: /budgeted/,
    next: "refit why pub/budgeted",
  },
  {
    title: "the budget itself",
    words: "pub/budgeted",
    made: [],
    first: "BudgetExhausted",
    says: /1 of 1 available, 1 must stay/,
    next: `kubectl patch podunavailablebudget.policy.kruise.io/budgeted --type merge -p '{"spec":{"minAvailable":0}}'`,
  },
  {
    title: "a node label that no node has",
    words: "clone/unlabelled",
    made: [clone("unlabelled", { pod: { nodeSelector: { "example.com/gpu": "yes" } } })],
    first: "Unschedulable",
    says: /nodeSelector example\.com\/gpu=yes/,
    next: "kubectl describe pod POD",
  },
  {
    title: "more processors than a node has",
    words: "clone/huge",
    made: [clone("huge", { container: { resources: { requests: { cpu: "1000" } } } })],
    first: "Unschedulable",
    says: /Insufficient cpu/,
    next: "kubectl describe pod POD",
  },
  {
    title: "two pods that may not share the only node",
    words: "clone/apart",
    made: [
      clone("apart", {
        replicas: 9,
        pod: {
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: "kubernetes.io/hostname", labelSelector: selector("apart") },
              ],
            },
          },
        },
      }),
    ],
    first: "Unschedulable",
    says: /anti-affinity/,
    next: "kubectl describe pod POD",
  },
  {
    title: "a readiness probe that fails",
    words: "clone/unready",
    made: [
      clone("unready", {
        container: { readinessProbe: { exec: { command: ["cat", "/absent"] }, periodSeconds: 1 } },
      }),
    ],
    first: "ReadinessProbe",
    says: /web/,
    next: "kubectl logs POD -c web",
  },
  {
    title: "a service account that is missing",
    words: "clone/nobody",
    made: [clone("nobody", { pod: { serviceAccountName: "nobody" } })],
    notOnCluster: "its API server runs without the admission of service accounts",
    first: "ServiceAccountMissing",
    says: /nobody/,
    next: "kubectl get serviceaccounts",
  },
  {
    title: "a ConfigMap that is missing from the environment",
    words: "clone/no-config",
    made: [clone("no-config", { container: { envFrom: [{ configMapRef: { name: "absent" } }] } })],
    first: "CreateContainerConfigError",
    says: /absent/,
    next: "kubectl describe pod POD",
  },
  {
    title: "a Secret that is missing as a volume",
    words: "clone/no-mount",
    made: [
      clone("no-mount", {
        container: { volumeMounts: [{ name: "keys", mountPath: "/keys" }] },
        pod: { volumes: [{ name: "keys", secret: { secretName: "absent" } }] },
      }),
    ],
    first: "FailedMount",
    says: /absent/,
    next: "kubectl describe pod POD",
  },
  {
    title: "a claim that is missing",
    words: "clone/no-claim",
    made: [
      clone("no-claim", {
        pod: { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "lost" } }] },
      }),
    ],
    first: "VolumeClaim",
    says: /claim lost does not exist/,
    next: "kubectl get pvc",
  },
  {
    title: "a claim whose storage class is missing",
    words: "clone/unbound",
    made: [
      kind("unbound", "v1", "PersistentVolumeClaim", {
        storageClassName: "absent",
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1Gi" } },
      }),
      clone("unbound", {
        pod: { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "unbound" } }] },
      }),
    ],
    first: "VolumeClaim",
    says: /claim unbound is Pending: StorageClass absent does not exist/,
    next: "kubectl describe pvc unbound",
  },
  {
    title: "a crash loop",
    words: "clone/crashing",
    made: [clone("crashing", { container: { command: ["sh", "-c", "exit 3"] } })],
    first: "CrashLoopBackOff",
    says: /container web ended with exit code 3/,
    next: "kubectl logs POD -c web --previous",
  },
  {
    title: "an init container that fails",
    words: "clone/crashing-init",
    made: [
      clone("crashing-init", {
        pod: { initContainers: [container("init", "busybox:1.32", { command: ["sh", "-c", "exit 4"] })] },
      }),
    ],
    first: "CrashLoopBackOff",
    says: /init container init ended with exit code 4/,
    next: "kubectl logs POD -c init --previous",
  },
  {
    title: "an update that is allowed in place only",
    words: "clone/in-place-only",
    made: [clone("in-place-only", { strategy: { policy: "InPlaceOnly" } })],
    changed: {
      spec: { template: { spec: { containers: [container("web", "nginx:1.20", { command: ["sleep"] })] } } },
    },
    first: "InPlaceOnly",
    says: /can not be updated in place: .*command/,
    next: `kubectl patch cloneset.apps.kruise.io/in-place-only --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible"}}}}'`,
  },
  {
    title: "a hook that holds a pod in its update",
    words: "clone/hooked",
    made: [
      clone("hooked", {
        labels: { case: "hooked", "example.com/hold": "true" },
        strategy: { policy: "InPlaceIfPossible" },
        spec: { lifecycle: { inPlaceUpdate: { labelsHandler: { "example.com/hold": "true" } } } },
      }),
    ],
    changed: newImage,
    first: "Hook",
    says: /held by the inPlaceUpdate hook: label example\.com\/hold=true on it/,
    next: `kubectl patch pod/POD --type merge -p '{"metadata":{"labels":{"example.com/hold":null}}}'`,
  },
  {
    title: "OrderedReady whose first pod does not start",
    words: "asts/ordered",
    made: [
      kind("ordered", kruise, "StatefulSet", {
        replicas: 3,
        serviceName: "ordered",
        selector: selector("ordered"),
        template: {
          metadata: { labels: { case: "ordered" } },
          spec: { containers: [container("web", "registry.invalid/web:1")] },
        },
      }),
    ],
    first: "ImagePullBackOff",
    says: /cannot have image/,
    next: "kubectl describe pod POD",
  },
  {
    title: "a StatefulSet that is paused",
    words: "asts/paused",
    made: [
      kind("paused", kruise, "StatefulSet", {
        replicas: 1,
        serviceName: "paused",
        selector: selector("asts-paused"),
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { paused: true } },
        template: {
          metadata: { labels: { case: "asts-paused" } },
          spec: { terminationGracePeriodSeconds: 1, containers: [container("web", "nginx:1.20")] },
        },
      }),
    ],
    changed: newImage,
    first: "Paused",
    says: /^1 pod is held at an old revision by paused$/,
    next: "refit rollout resume statefulset.apps.kruise.io/paused",
    ends: true,
  },
  {
    title: "a DaemonSet that matches no node",
    words: "ads/nowhere",
    made: [
      nativeWorkload(kruise, "DaemonSet", "nowhere", {
        podSpec: { nodeSelector: { "example.com/gpu": "yes" } },
      }),
    ],
    first: "NoNode",
    says: /no node has label example\.com\/gpu=yes/,
    next: "kubectl get nodes --show-labels",
  },
  {
    title: "a BroadcastJob whose pods fail",
    words: "bcj/failing",
    made: [
      kind("failing", kruise, "BroadcastJob", {
        failurePolicy: { type: "FailFast", restartLimit: 0 },
        completionPolicy: { type: "Always" },
        template: {
          spec: {
            restartPolicy: "Never",
            containers: [sleeper("job", "busybox:1.32", { command: ["sh", "-c", "exit 5"] })],
          },
        },
      }),
    ],
    first: "Failed",
    says: /the job has failed/,
    next: "kubectl describe broadcastjob.apps.kruise.io/failing",
  },
  {
    title: "a cron job that is paused",
    words: "acj/paused",
    made: [
      kind("paused", kruise, "AdvancedCronJob", {
        schedule: "0 3 * * *",
        paused: true,
        template: {
          jobTemplate: {
            spec: {
              template: { spec: { restartPolicy: "Never", containers: [sleeper("job", "busybox:1.32")] } },
            },
          },
        },
      }),
    ],
    first: "Paused",
    says: /the cron job is paused/,
    next: "refit rollout resume advancedcronjob.apps.kruise.io/paused",
  },
  {
    title: "a cron job whose day never comes",
    words: "acj/never",
    made: [
      kind("never", kruise, "AdvancedCronJob", {
        schedule: "0 3 30 2 *",
        template: {
          jobTemplate: {
            spec: {
              template: { spec: { restartPolicy: "Never", containers: [sleeper("job", "busybox:1.32")] } },
            },
          },
        },
      }),
    ],
    first: "NeverDue",
    says: /no day ever matches/,
    next: "kubectl get advancedcronjob.apps.kruise.io/never -o yaml",
  },
  {
    title: "a subset that no node can take",
    words: "ud/split",
    made: [
      kind("split", kruise, "UnitedDeployment", {
        replicas: 2,
        selector: selector("split"),
        template: {
          cloneSetTemplate: {
            metadata: { labels: { case: "split" } },
            spec: {
              selector: selector("split"),
              template: {
                metadata: { labels: { case: "split" } },
                spec: { terminationGracePeriodSeconds: 1, containers: [container("web", "nginx:1.20")] },
              },
            },
          },
        },
        topology: {
          subsets: [
            { name: "here", replicas: 1 },
            {
              name: "nowhere",
              nodeSelectorTerm: {
                matchExpressions: [{ key: "example.com/zone", operator: "In", values: ["moon"] }],
              },
            },
          ],
        },
      }),
    ],
    first: "Unschedulable",
    says: /no node takes the pod/,
    next: "kubectl describe pod POD",
  },
  {
    title: "a WorkloadSpread whose subset no node can take",
    words: "clone/spread",
    made: [
      kind("spread", kruise, "WorkloadSpread", {
        targetRef: { apiVersion: kruise, kind: "CloneSet", name: "spread" },
        subsets: [
          {
            name: "moon",
            requiredNodeSelector: {
              matchExpressions: [{ key: "example.com/zone", operator: "In", values: ["moon"] }],
            },
          },
        ],
      }),
      clone("spread"),
    ],
    first: "Unschedulable",
    says: /subset moon of WorkloadSpread spread/,
    next: "kubectl describe pod POD",
  },
  {
    title: "a WorkloadSpread without a target",
    words: "ws/aimless",
    made: [
      kind("aimless", kruise, "WorkloadSpread", {
        targetRef: { apiVersion: kruise, kind: "CloneSet", name: "nothing" },
        subsets: [{ name: "a" }],
      }),
    ],
    first: "NoTarget",
    says: /nothing/,
    next: "kubectl get cloneset.apps.kruise.io",
  },
  {
    title: "a quota",
    words: "clone/over-quota",
    made: [kind("small", "v1", "ResourceQuota", { hard: { pods: "1" } }), clone("over-quota")],
    isLast: true,
    first: "QuotaExceeded",
    says: /small/,
    next: "kubectl describe resourcequota",
  },
];
