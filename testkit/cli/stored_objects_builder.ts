/**
 * A cluster as OpenKruise v1.9 leaves it: objects of every kind, with pods, revisions, labels and annotations. Put there over
 * HTTP, so that a sandbox and a real API server hold the same.
 */
import { connect } from "../../bench/target.ts";
import { customResourceDefinition, kinds } from "../../crds/index.ts";
import {
  type Client,
  isKubeError,
  jsonResource,
  type Resource,
  seededRandom,
  systemClock,
} from "../../kube/index.ts";
import type { StoredObject } from "../../sandbox/index.ts";
import { revisionHash, sidecarHash, sortedJson, templateData } from "./reference_bytes_builder.ts";

type Json = Readonly<Record<string, unknown>>;
const system = "kruise-system";
const stamp = "2026-01-02T03:04:05Z";
/** Of pods' names, one a node. */
const suffixes = ["4vbnx", "wq7zk", "zb4kd", "h2v8m", "b9rtd", "tc5lp"];

/** Kinds that v1.9 serves in the older version alone. Spec: platform 1.1. */
const olderOnly: ReadonlySet<string> = new Set([
  "CloneSet",
  "ContainerRecreateRequest",
  "UnitedDeployment",
  "WorkloadSpread",
  "ResourceDistribution",
  "PersistentPodState",
  "PodUnavailableBudget",
]);

/** As v1.9 installs them: some have no newer version, and need no conversion. */
export function formerDefinitions(): StoredObject[] {
  return kinds.map((kind) => {
    const definition = structuredClone(customResourceDefinition(kind));
    if (!olderOnly.has(kind.kind)) return { ...definition };
    const versions = definition.spec.versions.filter(({ name }) => name === "v1alpha1");
    return {
      ...definition,
      spec: {
        ...definition.spec,
        conversion: { strategy: "None" },
        versions: versions.map((version) => ({ ...version, storage: true })),
      },
    };
  });
}

/** Kind and version of what is not of this API, by resource. */
const builtins: Readonly<Record<string, readonly [apiVersion: string, kind: string]>> = {
  namespaces: ["v1", "Namespace"],
  pods: ["v1", "Pod"],
  "controllerrevisions.apps": ["apps/v1", "ControllerRevision"],
  "deployments.apps": ["apps/v1", "Deployment"],
  "daemonsets.apps": ["apps/v1", "DaemonSet"],
  "mutatingwebhookconfigurations.admissionregistration.k8s.io": [
    "admissionregistration.k8s.io/v1",
    "MutatingWebhookConfiguration",
  ],
  "validatingwebhookconfigurations.admissionregistration.k8s.io": [
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
  ],
};

/** Where the pods of workloads are. */
export interface StoredPlace {
  /** May be there already. */
  readonly namespace: string;
  /** All nodes that pods with these labels and fields of a spec may run on; two at least. */
  readonly nodes: readonly string[];
  readonly podLabels?: Json;
  readonly podSpec?: { readonly tolerations?: readonly Json[]; readonly [field: string]: unknown };
}

function templateOf(app: string, more: { name?: string; labels?: Json; spec?: StoredPlace["podSpec"] }) {
  return {
    metadata: { labels: { app, ...more.labels } },
    spec: {
      containers: [
        {
          name: more.name ?? "nginx",
          image: "nginx:alpine",
          imagePullPolicy: "Always",
          resources: {},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
        },
      ],
      dnsPolicy: "ClusterFirst",
      restartPolicy: "Always",
      schedulerName: "default-scheduler",
      securityContext: {},
      terminationGracePeriodSeconds: 30,
      ...more.spec,
    },
  };
}
type Template = ReturnType<typeof templateOf>;

/** Resolves to the names of the workloads' pods. The former definitions must be established. */
export async function putStoredObjects(kubeconfig: string, place: StoredPlace): Promise<readonly string[]> {
  const { client } = await connect({ clock: systemClock, random: seededRandom(1) }, kubeconfig);
  try {
    return await new StoredObjects(client, place).fill();
  } finally {
    await client.close();
  }
}

class StoredObjects {
  readonly #client: Client;
  readonly #place: StoredPlace;
  readonly #pods: string[] = [];

  constructor(client: Client, place: StoredPlace) {
    this.#client = client;
    this.#place = place;
  }

  async fill(): Promise<readonly string[]> {
    for (const name of [this.#place.namespace, system, "kruise-daemon-config"]) {
      const labels = name === system ? { labels: { "control-plane": "openkruise" } } : {};
      await this.#put("namespaces", { metadata: { name, ...labels } }).catch(unlessThere);
    }
    await this.#cloneSet("sample", this.#template("sample"), {
      // Of the budget and the WorkloadSpread below. Spec: protection 23, workloadspread 10 and 23.
      podAnnotations: {
        "pub.kruise.io/related-pub": "sample",
        "kruise.io/related-pub": "sample",
        "apps.kruise.io/matched-workloadspread": JSON.stringify({ name: "spread", subset: "one" }),
        "controller.kubernetes.io/pod-deletion-cost": "200",
      },
    });
    await this.#statefulSet();
    await this.#daemonSet();
    await this.#sidecarSet();
    await this.#broadcastJob();
    await this.#unitedDeployment();
    await this.#others();
    await this.#manager();
    return this.#pods;
  }

  #template(app: string, more: { name?: string; labels?: Json; spec?: Json } = {}) {
    const { podLabels, podSpec } = this.#place;
    return templateOf(app, {
      ...more,
      labels: { ...podLabels, ...more.labels },
      spec: { ...podSpec, ...more.spec },
    });
  }

  /** Statuses are not part of a creation: they are written after it. */
  async #put(resource: string, object: Json & Pick<StoredObject, "metadata">): Promise<StoredObject> {
    const { namespace, name = "" } = object.metadata;
    const type = typeOf(resource, object, namespace !== undefined);
    const { group, version, kind } = type;
    const body = { apiVersion: group === "" ? version : `${group}/${version}`, kind, ...object };
    const created = await this.#client.create(type, namespace, body);
    const { status } = object;
    if (status === undefined) return created;
    const ref = namespace === undefined ? { name } : { namespace, name };
    const patch = { type: type.kind === "Pod" ? "strategic" : "merge", body: { status } } as const;
    return this.#client.patch(type, ref, patch, { subresource: "status" });
  }

  #own(
    resource: string,
    name: string,
    spec: Json,
    more: { status?: Json; labels?: Record<string, string>; annotations?: Record<string, string> } = {},
    version = "v1beta1",
  ) {
    const { status, ...metadata } = more;
    return this.#put(resource, {
      apiVersion: `${resource.slice(resource.indexOf(".") + 1)}/${version}`,
      metadata: { namespace: this.#place.namespace, name, generation: 1, ...metadata },
      spec,
      ...(status === undefined ? {} : { status: { observedGeneration: 1, ...status } }),
    });
  }

  #revision(
    owner: StoredObject,
    kind: string,
    data: string,
    labels: Record<string, string>,
    name: string,
    place = this.#place.namespace,
  ) {
    return this.#put("controllerrevisions.apps", {
      metadata: { namespace: place, name, labels, ownerReferences: [referenceTo(owner, kind)] },
      data: JSON.parse(data),
      revision: 1,
    });
  }

  async #pod(
    name: string,
    pod: Template,
    changes: {
      labels: Json;
      annotations?: Json;
      owner?: ReturnType<typeof referenceTo>;
      node?: string;
      gates?: readonly string[];
      spec?: Json;
    },
  ) {
    const gates = changes.gates ?? ["InPlaceUpdateReady", "KruisePodReady"];
    const condition = (type: string) => ({ type, status: "True", lastTransitionTime: stamp });
    await this.#put("pods", {
      metadata: {
        namespace: this.#place.namespace,
        name,
        labels: Object.fromEntries(
          Object.entries({ ...pod.metadata.labels, ...changes.labels }).map(([key, value]) => [
            key,
            String(value),
          ]),
        ),
        annotations: Object.fromEntries(
          Object.entries(changes.annotations ?? {}).map(([key, value]) => [key, String(value)]),
        ),
        ...(changes.owner === undefined ? {} : { ownerReferences: [changes.owner] }),
      },
      spec: {
        ...pod.spec,
        ...changes.spec,
        nodeName: changes.node ?? this.#place.nodes[0],
        readinessGates: gates.map((conditionType) => ({ conditionType })),
      },
      status: { conditions: gates.map(condition) },
    });
    this.#pods.push(name);
  }

  /** Spec: cloneset 9 to 16. */
  async #cloneSet(
    name: string,
    pod: Template,
    more: {
      labels?: Record<string, string>;
      annotations?: Record<string, string>;
      owner?: StoredObject;
      podAnnotations?: Json;
      matches?: Json;
    } = {},
  ) {
    const data = templateData(pod);
    const hash = revisionHash(data);
    const revision = `${name}-${hash}`;
    const counts = {
      replicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
      updatedReplicas: 2,
      updatedReadyReplicas: 2,
      updatedAvailableReplicas: 2,
      expectedUpdatedReplicas: 2,
    };
    const set = await this.#put("clonesets.apps.kruise.io", {
      apiVersion: "apps.kruise.io/v1alpha1",
      metadata: {
        namespace: this.#place.namespace,
        name,
        generation: 1,
        ...(more.labels === undefined ? {} : { labels: more.labels }),
        ...(more.annotations === undefined ? {} : { annotations: more.annotations }),
        ...(more.owner === undefined
          ? {}
          : { ownerReferences: [referenceTo(more.owner, "UnitedDeployment", "v1alpha1")] }),
      },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: pod.metadata.labels.app, ...more.matches } },
        template: pod,
        revisionHistoryLimit: 10,
        scaleStrategy: {},
        updateStrategy: { type: "InPlaceIfPossible", partition: 0, maxUnavailable: "20%", maxSurge: 0 },
      },
      status: {
        observedGeneration: 1,
        ...counts,
        currentRevision: revision,
        updateRevision: revision,
        labelSelector: `app=${pod.metadata.labels.app}`,
      },
    });
    await this.#revision(
      set,
      "CloneSet",
      data,
      { ...texts(pod.metadata.labels), "controller.kubernetes.io/hash": hash },
      revision,
    );
    for (const id of ["x7k2p", "b9qzt"])
      await this.#pod(`${name}-${id}`, pod, {
        owner: referenceTo(set, "CloneSet", "v1alpha1"),
        labels: {
          "apps.kruise.io/cloneset-instance-id": id,
          "controller-revision-hash": revision,
          "pod-template-hash": hash,
          "lifecycle.apps.kruise.io/state": "Normal",
        },
        annotations: { "lifecycle.apps.kruise.io/timestamp": stamp, ...more.podAnnotations },
      });
    return set;
  }

  /** Spec: statefulset 43 and 5. */
  async #statefulSet() {
    const pod = this.#template("web", {
      spec: { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] },
    });
    const data = templateData(pod);
    const hash = revisionHash(data);
    const revision = `web-${hash}`;
    const set = await this.#own(
      "statefulsets.apps.kruise.io",
      "web",
      {
        replicas: 2,
        selector: { matchLabels: { app: "web" } },
        serviceName: "web",
        template: pod,
        podManagementPolicy: "Parallel",
        revisionHistoryLimit: 10,
        updateStrategy: {
          type: "RollingUpdate",
          rollingUpdate: {
            partition: 0,
            maxUnavailable: 1,
            podUpdatePolicy: "InPlaceIfPossible",
            minReadySeconds: 0,
          },
        },
      },
      {
        status: {
          replicas: 2,
          readyReplicas: 2,
          availableReplicas: 2,
          currentReplicas: 2,
          updatedReplicas: 2,
          currentRevision: revision,
          updateRevision: revision,
          labelSelector: "app=web",
        },
      },
    );
    await this.#revision(
      set,
      "StatefulSet",
      data,
      { app: "web", "controller.kubernetes.io/hash": hash },
      revision,
    );
    for (const ordinal of [0, 1])
      await this.#pod(`web-${ordinal}`, pod, {
        owner: referenceTo(set, "StatefulSet"),
        labels: {
          "statefulset.kubernetes.io/pod-name": `web-${ordinal}`,
          "apps.kubernetes.io/pod-index": ordinal,
          "controller-revision-hash": revision,
          "lifecycle.apps.kruise.io/state": "Normal",
        },
        spec: { hostname: `web-${ordinal}`, subdomain: "web" },
      });
  }

  /** Spec: daemonset 46 to 48; the hash is of Go's debug text, and opaque. */
  async #daemonSet() {
    const { nodes } = this.#place;
    const pod = this.#template("logs");
    const hash = "5d8f7c9b4d";
    const set = await this.#own(
      "daemonsets.apps.kruise.io",
      "logs",
      {
        selector: { matchLabels: { app: "logs" } },
        template: pod,
        burstReplicas: 250,
        revisionHistoryLimit: 10,
        updateStrategy: {
          type: "RollingUpdate",
          rollingUpdate: { rollingUpdateType: "Standard", maxUnavailable: 1, maxSurge: 0, partition: 0 },
        },
      },
      {
        status: {
          currentNumberScheduled: nodes.length,
          desiredNumberScheduled: nodes.length,
          numberAvailable: nodes.length,
          numberMisscheduled: 0,
          numberReady: nodes.length,
          updatedNumberScheduled: nodes.length,
          updateRevision: hash,
        },
      },
    );
    await this.#revision(
      set,
      "DaemonSet",
      templateData(pod),
      { app: "logs", "controller-revision-hash": hash },
      `logs-${hash}`,
    );
    const tolerated = [
      "not-ready",
      "unreachable",
      "disk-pressure",
      "memory-pressure",
      "pid-pressure",
      "unschedulable",
    ];
    for (const [index, node] of nodes.entries())
      await this.#pod(`logs-${suffixes[index]}`, pod, {
        owner: referenceTo(set, "DaemonSet"),
        labels: { "controller-revision-hash": hash },
        node,
        spec: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [
                  { matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] },
                ],
              },
            },
          },
          tolerations: [
            ...(pod.spec.tolerations ?? []),
            ...tolerated.map((name) => ({ key: `node.kubernetes.io/${name}`, operator: "Exists" })),
          ],
        },
      });
  }

  /** Spec: sidecarset 25 to 29 and 5. */
  async #sidecarSet() {
    const sidecar = {
      name: "mesh",
      image: "mesh:1.0",
      resources: {},
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
      imagePullPolicy: "IfNotPresent",
    };
    const own = {
      podInjectPolicy: "BeforeAppContainer",
      upgradeStrategy: { upgradeType: "ColdUpgrade" },
      shareVolumePolicy: { type: "disabled" },
    };
    const hash = sidecarHash(JSON.stringify({ containers: [{ ...sidecar, ...own }] }));
    const without = sidecarHash(
      JSON.stringify({ containers: [{ ...sidecar, image: "", ...own }] }).replace('"image":"",', ""),
    );
    const annotations = {
      "kruise.io/sidecarset-hash": hash,
      "kruise.io/sidecarset-hash-without-image": without,
    };
    const spec = {
      selector: { matchLabels: { app: "till" } },
      containers: [{ ...sidecar, ...own }],
      injectionStrategy: {},
      revisionHistoryLimit: 10,
      updateStrategy: { type: "RollingUpdate", partition: 0, maxUnavailable: 1 },
    };
    const data = sortedJson({
      spec: {
        $patch: "replace",
        containers: spec.containers,
        imagePullSecrets: null,
        initContainers: null,
        patchPodMetadata: null,
        volumes: null,
      },
    });
    const name = `mesh-${revisionHash(data)}`;
    const set = await this.#put("sidecarsets.apps.kruise.io", {
      apiVersion: "apps.kruise.io/v1beta1",
      metadata: { name: "mesh", generation: 1, annotations },
      spec,
      status: {
        observedGeneration: 1,
        matchedPods: 2,
        updatedPods: 2,
        readyPods: 2,
        updatedReadyPods: 2,
        latestRevision: name,
      },
    });
    await this.#put("controllerrevisions.apps", {
      metadata: {
        namespace: system,
        name,
        annotations,
        labels: { "controller.kubernetes.io/hash": revisionHash(data), "kruise.io/sidecarset-name": "mesh" },
        ownerReferences: [referenceTo(set, "SidecarSet")],
      },
      data: JSON.parse(data),
      revision: 1,
    });
    const entry = { updateTimestamp: stamp, sidecarSetName: "mesh", sidecarList: ["mesh"] };
    const pod = this.#template("till", { name: "till" });
    for (const till of ["till-1", "till-2"])
      await this.#pod(till, pod, {
        labels: {},
        gates: ["KruisePodReady"],
        annotations: {
          "kruise.io/sidecarset-hash": JSON.stringify({ mesh: { ...entry, hash, controllerRevision: name } }),
          "kruise.io/sidecarset-hash-without-image": JSON.stringify({ mesh: { ...entry, hash: without } }),
          "kruise.io/sidecarset-injected-list": "mesh",
        },
        spec: {
          containers: [{ ...sidecar, env: [{ name: "IS_INJECTED", value: "true" }] }, ...pod.spec.containers],
        },
      });
  }

  /** Spec: jobs B4.2. */
  async #broadcastJob() {
    const { nodes } = this.#place;
    const pod = this.#template("scan", { spec: { restartPolicy: "OnFailure" } });
    const job = await this.#own(
      "broadcastjobs.apps.kruise.io",
      "scan",
      {
        template: pod,
        parallelism: 2147483647,
        completionPolicy: { type: "Never" },
        failurePolicy: { type: "FailFast" },
      },
      {
        status: {
          desired: nodes.length,
          active: nodes.length,
          succeeded: 0,
          failed: 0,
          phase: "running",
          startTime: stamp,
        },
      },
    );
    for (const [index, node] of nodes.entries())
      await this.#pod(`scan-${suffixes[index]}`, pod, {
        owner: referenceTo(job, "BroadcastJob"),
        gates: ["KruisePodReady"],
        labels: { "broadcastjob-name": "scan", "broadcastjob-controller-uid": job.metadata.uid },
        node,
      });
  }

  /** Spec: uniteddeployment 6 to 9, 22 and 23. */
  async #unitedDeployment() {
    const child = {
      metadata: { labels: { app: "zoned" } },
      spec: {
        selector: { matchLabels: { app: "zoned" } },
        template: this.#template("zoned"),
        scaleStrategy: {},
        updateStrategy: {},
      },
    };
    const data = sortedJson({ spec: { template: { $patch: "replace", cloneSetTemplate: child } } });
    const hash = revisionHash(data);
    const revision = `zoned-${hash}`;
    const united = await this.#own(
      "uniteddeployments.apps.kruise.io",
      "zoned",
      {
        replicas: 2,
        selector: { matchLabels: { app: "zoned" } },
        revisionHistoryLimit: 10,
        template: { cloneSetTemplate: child },
        topology: { subsets: [{ name: "east", replicas: 2 }] },
        updateStrategy: { type: "Manual", manualUpdate: {} },
      },
      {
        status: {
          replicas: 2,
          readyReplicas: 2,
          updatedReplicas: 2,
          updatedReadyReplicas: 2,
          currentRevision: revision,
          subsetReplicas: { east: 2 },
          updateStatus: { currentPartitions: { east: 0 }, updatedRevision: revision },
        },
      },
      "v1alpha1",
    );
    await this.#revision(
      united,
      "UnitedDeployment",
      data,
      { "controller.kubernetes.io/hash": hash },
      revision,
    );
    const labels = {
      "apps.kruise.io/controller-revision-hash": revision,
      "apps.kruise.io/subset-name": "east",
    };
    await this.#cloneSet("zoned-east-8wdtn", this.#template("zoned", { labels }), {
      labels: { app: "zoned", ...labels },
      annotations: { "apps.kruise.io/subset-patch": "" },
      owner: united,
      matches: { "apps.kruise.io/subset-name": "east" },
    });
  }

  /** Kinds without pods of their own. */
  async #others() {
    const { nodes } = this.#place;
    const group = "apps.kruise.io";
    const image = {
      metadata: { name: nodes[0] },
      spec: {
        images: {
          nginx: {
            tags: [
              { tag: "alpine", createdAt: stamp, version: 1, pullPolicy: { ttlSecondsAfterFinished: 300 } },
            ],
          },
        },
      },
    };
    await this.#put(`nodeimages.${group}`, { apiVersion: `${group}/v1beta1`, ...image });
    await this.#own(
      `imagepulljobs.${group}`,
      "warm",
      {
        image: "nginx:alpine",
        parallelism: 1,
        pullPolicy: { backoffLimit: 3, timeoutSeconds: 600 },
        completionPolicy: { type: "Always" },
      },
      {
        status: {
          active: 0,
          desired: nodes.length,
          succeeded: nodes.length,
          failed: 0,
          completionTime: stamp,
        },
      },
    );
    await this.#own(
      `imagelistpulljobs.${group}`,
      "warm",
      { images: ["nginx:alpine"], parallelism: 1, completionPolicy: { type: "Always" } },
      { status: { active: 0, desired: 1, completed: 1, succeeded: 1, completionTime: stamp } },
    );
    await this.#own(
      `workloadspreads.${group}`,
      "spread",
      {
        targetRef: { apiVersion: `${group}/v1alpha1`, kind: "CloneSet", name: "sample" },
        subsets: [{ name: "one", maxReplicas: 5 }, { name: "two" }],
        scheduleStrategy: { type: "Fixed" },
      },
      {},
      "v1alpha1",
    );
    await this.#put(`resourcedistributions.${group}`, {
      apiVersion: `${group}/v1alpha1`,
      metadata: { name: "settings" },
      spec: {
        resource: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { a: "b" } },
        targets: { includedNamespaces: { list: [{ name: this.#place.namespace }] } },
      },
    });
    await this.#own(
      "podunavailablebudgets.policy.kruise.io",
      "sample",
      { selector: { matchLabels: { app: "sample" } }, maxUnavailable: 1 },
      {},
      "v1alpha1",
    );
    await this.#own(
      `containerrecreaterequests.${group}`,
      "done",
      { podName: "web-0", containers: [{ name: "nginx" }], strategy: { failurePolicy: "Fail" } },
      {
        labels: { "crr.apps.kruise.io/pod-name": "web-0" },
        status: {
          phase: "Completed",
          completionTime: stamp,
          containerRecreateStates: [{ name: "nginx", phase: "Succeeded" }],
        },
      },
      "v1alpha1",
    );
    await this.#own(
      `podprobemarkers.${group}`,
      "idle",
      {
        selector: { matchLabels: { app: "web" } },
        probes: [
          {
            name: "idle",
            containerName: "nginx",
            probe: { exec: { command: ["true"] } },
            podConditionType: "game.io/idle",
          },
        ],
      },
      {},
      "v1alpha1",
    );
    await this.#own(
      `persistentpodstates.${group}`,
      "web",
      {
        targetRef: { apiVersion: `${group}/v1beta1`, kind: "StatefulSet", name: "web" },
        preferredPersistentTopology: [
          { weight: 100, preference: { nodeTopologyKeys: ["kubernetes.io/hostname"] } },
        ],
      },
      {},
      "v1alpha1",
    );
    await this.#own(`advancedcronjobs.${group}`, "nightly", {
      schedule: "0 3 1 1 *",
      concurrencyPolicy: "Forbid",
      template: {
        broadcastJobTemplate: {
          spec: { template: this.#template("scan2", { spec: { restartPolicy: "Never" } }) },
        },
      },
    });
    await this.#own(
      `ephemeraljobs.${group}`,
      "debug",
      {
        selector: { matchLabels: { app: "nobody" } },
        template: {
          ephemeralContainers: [
            {
              name: "debug",
              image: "busybox",
              imagePullPolicy: "IfNotPresent",
              terminationMessagePolicy: "File",
            },
          ],
        },
      },
      {},
      "v1alpha1",
    );
  }

  /** As the reference's chart installs them. */
  async #manager() {
    const workload = (name: string, label: string, program: string) => ({
      metadata: {
        namespace: system,
        name,
        labels: { "control-plane": label, "app.kubernetes.io/managed-by": "Helm" },
      },
      spec: {
        selector: { matchLabels: { "control-plane": label } },
        template: {
          metadata: { labels: { "control-plane": label } },
          spec: {
            containers: [
              {
                name: program.slice(1),
                image: `openkruise/${program.slice(1)}:v1.9.0`,
                command: [program],
                args:
                  program === "/manager"
                    ? ["--enable-leader-election", "--feature-gates=ImagePullJobGate=true", "--v=4"]
                    : [],
              },
            ],
          },
        },
      },
    });
    const deployment = workload("kruise-controller-manager", "controller-manager", "/manager");
    await this.#put("deployments.apps", { ...deployment, spec: { ...deployment.spec, replicas: 2 } });
    await this.#put("daemonsets.apps", workload("kruise-daemon", "daemon", "/kruise-daemon"));
    const webhook = (name: string, path: string) => ({
      name,
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      failurePolicy: "Fail",
      clientConfig: { service: { namespace: system, name: "kruise-webhook-service", path } },
      rules: [
        {
          apiGroups: ["apps.kruise.io"],
          apiVersions: ["v1alpha1"],
          operations: ["CREATE"],
          resources: ["clonesets"],
        },
      ],
    });
    for (const [kind, verb] of [
      ["Mutating", "mutate"],
      ["Validating", "validate"],
    ])
      await this.#put(`${kind?.toLowerCase()}webhookconfigurations.admissionregistration.k8s.io`, {
        metadata: {
          name: `kruise-${kind?.toLowerCase()}-webhook-configuration`,
          annotations: { template: "" },
        },
        webhooks: [webhook(`${verb?.[0]}cloneset.kb.io`, `/${verb}-apps-kruise-io-v1alpha1-cloneset`)],
      });
  }
}

function typeOf(
  resource: string,
  { apiVersion }: Partial<StoredObject>,
  namespaced: boolean,
): Resource<StoredObject> {
  const [plural = "", ...rest] = resource.split(".");
  const group = rest.join(".");
  const known = kinds.find((kind) => kind.plural === plural && kind.group === group);
  const [builtin = "", builtinKind = ""] = builtins[resource] ?? [];
  const version = (apiVersion ?? builtin).split("/").at(-1) ?? "";
  return jsonResource<StoredObject>({ group, version, plural, kind: known?.kind ?? builtinKind, namespaced });
}

function unlessThere(error: unknown): void {
  if (!isKubeError(error, "AlreadyExists")) throw error;
}

function texts(labels: Json): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, String(value)]));
}

function referenceTo({ metadata }: StoredObject, kind: string, version = "v1beta1") {
  const { name = "", uid = "" } = metadata;
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}
