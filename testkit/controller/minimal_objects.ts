/** Objects of each kind, none of which starts a container. */
const nowhere = { "case/no-such-label": "true" };

function container(name: string, image: string) {
  return { name, image, imagePullPolicy: "IfNotPresent", command: ["sleep", "3600"] };
}

function podTemplate(labels: Record<string, string>, more: object = {}) {
  return { metadata: { labels }, spec: { containers: [container("main", "nginx:1.20")], ...more } };
}

function workload(what: string, more: object = {}, pod: object = {}) {
  const labels = { case: `empty-${what}` };
  return { selector: { matchLabels: labels }, template: podTemplate(labels, pod), ...more };
}

const task = {
  template: { spec: { ...podTemplate({}).spec, restartPolicy: "Never", nodeSelector: nowhere } },
};
const ofCloneSet = { targetRef: { apiVersion: "apps.kruise.io/v1beta1", kind: "CloneSet", name: "empty" } };
const matchesNothing = { matchLabels: { case: "matches-nothing" } };

export interface MinimalObject {
  /** Plural, version and group. */
  readonly resource: string;
  readonly kind: string;
  readonly spec: object;
  /** What the row shows without name and age once the controller has seen it; absent: not looked at. */
  readonly row?: RegExp;
  readonly isClusterScoped?: true;
}

export const minimalObjects: readonly MinimalObject[] = [
  {
    resource: "clonesets.v1beta1.apps.kruise.io",
    kind: "CloneSet",
    spec: workload("clone", { replicas: 0 }),
    row: /^0 0 0 (0 )?0 0$/,
  },
  {
    resource: "statefulsets.v1beta1.apps.kruise.io",
    kind: "StatefulSet",
    spec: workload("sts", { replicas: 0, serviceName: "empty" }),
    row: /^0 0 0 0$/,
  },
  {
    resource: "daemonsets.v1beta1.apps.kruise.io",
    kind: "DaemonSet",
    spec: workload("ds", {}, { nodeSelector: nowhere }),
    row: /^0 0 0 0( 0)?$/,
  },
  { resource: "broadcastjobs.v1beta1.apps.kruise.io", kind: "BroadcastJob", spec: task, row: /^0 0 0 0$/ },
  {
    resource: "advancedcronjobs.v1beta1.apps.kruise.io",
    kind: "AdvancedCronJob",
    spec: { schedule: "*/5 * * * *", paused: true, template: { broadcastJobTemplate: { spec: task } } },
    row: /^\*\/5 \* \* \* \* BroadcastJob$/,
  },
  {
    resource: "sidecarsets.v1beta1.apps.kruise.io",
    kind: "SidecarSet",
    spec: { selector: matchesNothing, containers: [container("side", "busybox:1.35")] },
    row: /^0 0 0$/,
    isClusterScoped: true,
  },
  {
    resource: "uniteddeployments.v1beta1.apps.kruise.io",
    kind: "UnitedDeployment",
    spec: {
      replicas: 0,
      selector: { matchLabels: { case: "empty-ud" } },
      template: { statefulSetTemplate: { metadata: { labels: { case: "empty-ud" } }, spec: workload("ud") } },
      topology: { subsets: [{ name: "subset-a" }] },
    },
    row: /^0 0 (0 )?0$/,
  },
  {
    resource: "workloadspreads.v1beta1.apps.kruise.io",
    kind: "WorkloadSpread",
    spec: { ...ofCloneSet, subsets: [{ name: "subset-a" }] },
    row: /^empty CloneSet$/,
  },
  {
    resource: "podunavailablebudgets.v1beta1.policy.kruise.io",
    kind: "PodUnavailableBudget",
    spec: { ...ofCloneSet, maxUnavailable: 1 },
    row: /^0 0 0 0$/,
  },
  {
    resource: "persistentpodstates.v1beta1.apps.kruise.io",
    kind: "PersistentPodState",
    spec: {
      targetRef: { ...ofCloneSet.targetRef, kind: "StatefulSet" },
      preferredPersistentTopology: [{ weight: 100, preference: { keys: ["kubernetes.io/hostname"] } }],
    },
  },
  {
    resource: "podprobemarkers.v1alpha1.apps.kruise.io",
    kind: "PodProbeMarker",
    spec: {
      selector: matchesNothing,
      probes: [
        {
          name: "alive",
          containerName: "main",
          podConditionType: "case.example/alive",
          probe: { exec: { command: ["true"] }, periodSeconds: 30 },
        },
      ],
    },
  },
  {
    resource: "ephemeraljobs.v1alpha1.apps.kruise.io",
    kind: "EphemeralJob",
    spec: {
      selector: matchesNothing,
      template: {
        ephemeralContainers: [{ ...container("look", "busybox:1.35"), terminationMessagePolicy: "File" }],
      },
    },
    row: /^Waiting( 0)*$/,
  },
];

const completionPolicy = { type: "Always" };

/** Of a kind whose gate is off unless it is switched on; it does nothing. */
export interface GatedObject {
  readonly resource: string;
  readonly kind: string;
  readonly gate: string;
  readonly spec: object;
  /** What the row shows without name and age with the gate on. */
  readonly row: RegExp;
  readonly isClusterScoped?: true;
}

export const gatedObjects: readonly GatedObject[] = [
  {
    resource: "imagepulljobs.v1beta1.apps.kruise.io",
    kind: "ImagePullJob",
    gate: "ImagePullJobGate",
    spec: { image: "busybox:1.35", selector: { matchLabels: nowhere }, completionPolicy },
    row: /^(0 0 0 0)?$/,
  },
  {
    resource: "imagelistpulljobs.v1beta1.apps.kruise.io",
    kind: "ImageListPullJob",
    gate: "ImagePullJobGate",
    spec: { images: ["busybox:1.35", "nginx:1.20"], selector: { matchLabels: nowhere }, completionPolicy },
    row: /^2 2 2$/,
  },
  {
    resource: "resourcedistributions.v1beta1.apps.kruise.io",
    kind: "ResourceDistribution",
    gate: "ResourceDistributionGate",
    spec: {
      resource: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "gated" }, data: { key: "value" } },
      targets: {},
    },
    row: /^(0 0 0)?$/,
    isClusterScoped: true,
  },
];
