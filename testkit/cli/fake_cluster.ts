/** The API server that commands talk to: one form for all versions, and discovery of what commands know. */
import { KubeError } from "../../kube/index.ts";
import { type FakeServer, type FakeServerOptions, fakeServer } from "../kube/fake_server.ts";

export function fakeCluster(options: Pick<FakeServerOptions, "stream"> = {}): FakeServer {
  return fakeServer({ request: discovery, ...options });
}

interface ServedType {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly shortNames?: readonly string[];
  readonly namespaced?: boolean;
}

const servedTypes: readonly ServedType[] = [
  { group: "", version: "v1", plural: "pods", kind: "Pod", shortNames: ["po"] },
  { group: "", version: "v1", plural: "services", kind: "Service", shortNames: ["svc"] },
  { group: "", version: "v1", plural: "events", kind: "Event", shortNames: ["ev"] },
  { group: "coordination.k8s.io", version: "v1", plural: "leases", kind: "Lease" },
  { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", shortNames: ["cm"] },
  { group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false },
  { group: "", version: "v1", plural: "namespaces", kind: "Namespace", namespaced: false },
  {
    group: "",
    version: "v1",
    plural: "persistentvolumeclaims",
    kind: "PersistentVolumeClaim",
    shortNames: ["pvc"],
  },
  { group: "apps", version: "v1", plural: "deployments", kind: "Deployment", shortNames: ["deploy"] },
  { group: "apps", version: "v1", plural: "statefulsets", kind: "StatefulSet", shortNames: ["sts"] },
  { group: "apps", version: "v1", plural: "daemonsets", kind: "DaemonSet", shortNames: ["ds"] },
  { group: "apps", version: "v1", plural: "replicasets", kind: "ReplicaSet", shortNames: ["rs"] },
  { group: "apps", version: "v1", plural: "controllerrevisions", kind: "ControllerRevision" },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "clonesets",
    kind: "CloneSet",
    shortNames: ["clone"],
  },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "statefulsets",
    kind: "StatefulSet",
    shortNames: ["asts"],
  },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "daemonsets",
    kind: "DaemonSet",
    shortNames: ["ads"],
  },
  {
    group: "apps.kruise.io",
    version: "v1alpha1",
    plural: "clonesets",
    kind: "CloneSet",
    shortNames: ["clone"],
  },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "containerrecreaterequests",
    kind: "ContainerRecreateRequest",
    shortNames: ["crr"],
  },
  {
    group: "",
    version: "v1",
    plural: "namespaces",
    kind: "Namespace",
    shortNames: ["ns"],
    namespaced: false,
  },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "resourcedistributions",
    kind: "ResourceDistribution",
    shortNames: ["distributor"],
    namespaced: false,
  },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "sidecarsets",
    kind: "SidecarSet",
    namespaced: false,
  },
  { group: "batch", version: "v1", plural: "jobs", kind: "Job" },
  {
    group: "admissionregistration.k8s.io",
    version: "v1",
    plural: "mutatingwebhookconfigurations",
    kind: "MutatingWebhookConfiguration",
    namespaced: false,
  },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "broadcastjobs",
    kind: "BroadcastJob",
    shortNames: ["bcj"],
  },
  {
    group: "apps.kruise.io",
    version: "v1beta1",
    plural: "advancedcronjobs",
    kind: "AdvancedCronJob",
    shortNames: ["acj"],
  },
  kruise("uniteddeployments", "UnitedDeployment"),
  kruise("workloadspreads", "WorkloadSpread"),
  kruise("ephemeraljobs", "EphemeralJob"),
  kruise("imagepulljobs", "ImagePullJob"),
  kruise("imagelistpulljobs", "ImageListPullJob"),
  { ...kruise("nodeimages", "NodeImage"), namespaced: false },
  kruise("podprobemarkers", "PodProbeMarker"),
  { ...kruise("nodepodprobes", "NodePodProbe"), namespaced: false },
  kruise("persistentpodstates", "PersistentPodState"),
  {
    group: "policy.kruise.io",
    version: "v1beta1",
    plural: "podunavailablebudgets",
    kind: "PodUnavailableBudget",
    shortNames: ["pub"],
  },
];

function kruise(plural: string, kind: string): ServedType {
  return { group: "apps.kruise.io", version: "v1beta1", plural, kind };
}

function discovery(path: string): unknown {
  if (path === "/apis") {
    const names = [...new Set(servedTypes.map((type) => type.group))].filter((group) => group !== "");
    return {
      groups: names.map((name) => {
        const versions = [
          ...new Set(servedTypes.filter((type) => type.group === name).map((type) => type.version)),
        ];
        return {
          name,
          versions: versions.map((version) => ({ version })),
          preferredVersion: { version: versions[0] },
        };
      }),
    };
  }
  const [, root = "", ...parts] = path.split("/");
  const [group, version] = root === "api" ? ["", parts[0]] : parts;
  const types = servedTypes.filter((type) => type.group === group && type.version === version);
  if (types.length === 0)
    throw new KubeError("NotFound", "the server could not find the requested resource", { status: 404 });
  return {
    resources: types.map(({ plural, kind, shortNames = [], namespaced = true }) => ({
      name: plural,
      singularName: kind.toLowerCase(),
      kind,
      shortNames,
      namespaced,
    })),
  };
}
