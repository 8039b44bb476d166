/** Probes for pods on nodes without an agent: whoever runs these reads them from annotations. Spec: pod-webhook 4.8. */
import type { PodProbeMarker } from "../../../crds/index.ts";
import { compileSelector, goJson, type LabelSelector, type Labels, own } from "../../../kube/core/index.ts";
import { objectAt, objectsAt } from "../../native/json_fields.ts";
import { type PodDraft, writableObject } from "../../runtime/admission/pod_draft.ts";

const podProbeAnnotation = "kruise.io/podprobe";
const markerListAnnotation = "kruise.io/podprobemarker-list";

export interface ServerlessOptions {
  /** Markers of a namespace. Rejects when they are not known, which refuses the pod. */
  markersIn(namespace: string): Promise<Iterable<PodProbeMarker>>;
}

export function addServerlessProbes(
  draft: PodDraft,
  { markersIn }: ServerlessOptions,
): Promise<void> | undefined {
  if (draft.request.operation !== "CREATE") return undefined;
  return markersIn(draft.namespace).then((markers) => addProbes(draft, markers));
}

function addProbes(draft: PodDraft, markers: Iterable<PodProbeMarker>): void {
  const containers = probedContainers(draft);
  const conditions = new Set<string>();
  const probes = new Set<string>();
  const names: string[] = [];
  const taken: object[] = [];
  for (const marker of wantedMarkers(draft, markers)) {
    const before = taken.length;
    for (const { name, containerName, probe, podConditionType = "" } of marker.spec.probes ?? []) {
      const key = `${containerName}/${name}`;
      if (!containers.has(containerName) || podConditionType === "") continue;
      if (conditions.has(podConditionType) || probes.has(key)) continue;
      conditions.add(podConditionType);
      probes.add(key);
      taken.push({ name, containerName, probe, podConditionType });
    }
    if (taken.length > before) names.push(marker.metadata.name ?? "");
  }
  if (taken.length === 0) return;
  const annotations = writableObject(writableObject(draft.edit(), "metadata"), "annotations");
  annotations[podProbeAnnotation] = goJson(taken);
  annotations[markerListAnnotation] = names.join(",");
}

/** Those that the pod names, else those that select it; by name, so that the same ones win every time. */
function wantedMarkers(draft: PodDraft, markers: Iterable<PodProbeMarker>): PodProbeMarker[] {
  const named = own(objectAt(draft.metadata, "annotations"), markerListAnnotation);
  const list = typeof named === "string" && named !== "" ? new Set(named.split(",")) : undefined;
  const { labels } = draft;
  const wanted = [...markers].filter(({ metadata, spec }) => {
    if (list !== undefined) return list.has(metadata.name ?? "");
    return selects(spec.selector, labels);
  });
  return wanted.sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
}

/** A selector that was stored while no webhook looked must not keep pods from being made. */
function selects(selector: LabelSelector, labels: Labels): boolean {
  try {
    const compiled = compileSelector(selector);
    return !compiled.empty && compiled.matches(labels);
  } catch {
    return false;
  }
}

function probedContainers(draft: PodDraft): Set<unknown> {
  const sidecars = objectsAt(draft.spec, "initContainers").filter((one) => one["restartPolicy"] === "Always");
  return new Set([...objectsAt(draft.spec, "containers"), ...sidecars].map((one) => one["name"]));
}
