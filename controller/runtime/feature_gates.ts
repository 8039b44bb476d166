/** Feature gates: names, defaults, and the values that some force on others. Spec: platform 2.3. */

interface Gate {
  enabled: boolean;
  stage: "alpha" | "beta";
}

const on = (stage: Gate["stage"]): Gate => ({ enabled: true, stage });
const off = (stage: Gate["stage"]): Gate => ({ enabled: false, stage });

const GATES = {
  PodWebhook: on("beta"),
  KruiseDaemon: on("beta"),
  DaemonWatchingPod: on("beta"),
  CloneSetShortHash: off("alpha"),
  KruisePodReadinessGate: off("alpha"),
  PreDownloadImageForInPlaceUpdate: off("alpha"),
  PreDownloadImageForDaemonSetUpdate: off("alpha"),
  CloneSetPartitionRollback: off("alpha"),
  ResourcesDeletionProtection: off("beta"),
  DeletionProtectionForCRDCascadingGate: off("alpha"),
  PodUnavailableBudgetDeleteGate: on("beta"),
  PodUnavailableBudgetUpdateGate: off("alpha"),
  WorkloadSpread: on("beta"),
  TemplateNoDefaults: off("alpha"),
  InPlaceUpdateEnvFromMetadata: on("beta"),
  StatefulSetAutoDeletePVC: on("beta"),
  StatefulSetAutoResizePVCGate: off("alpha"),
  StatefulSetStartOrdinal: off("alpha"),
  PodIndexLabel: on("beta"),
  SidecarSetPatchPodMetadataDefaultsAllowed: off("alpha"),
  EnableSortSidecarContainerByName: off("alpha"),
  SidecarTerminator: off("alpha"),
  PodProbeMarkerGate: on("beta"),
  EnablePodProbeMarkerOnServerless: off("alpha"),
  EnhancedLivenessProbe: off("alpha"),
  CloneSetEventHandlerOptimization: off("alpha"),
  PreparingUpdateAsUpdate: off("alpha"),
  ImagePullJobGate: off("alpha"),
  ResourceDistributionGate: off("beta"),
  RecreatePodWhenChangeVCTInCloneSetGate: off("alpha"),
  EnableExternalCerts: off("alpha"),
  ForceDeleteTimeoutExpectationGate: off("alpha"),
  InPlaceWorkloadVerticalScaling: off("alpha"),
  InPlacePodVerticalScaling: off("alpha"),
  DefaultHostNetworkHostPortsInPodTemplates: off("alpha"),
  DaemonSetPruneIneligibleNodes: off("alpha"),
} satisfies Record<string, Gate>;

export type FeatureGate = keyof typeof GATES;
export type FeatureGates = Readonly<Record<FeatureGate, boolean>>;

export const featureGateNames = Object.keys(GATES) as readonly FeatureGate[];

export interface FeatureGateDefault extends Readonly<Gate> {
  readonly name: FeatureGate;
}

/** What each gate is where nobody sets it. */
export const featureGateDefaults: readonly FeatureGateDefault[] = featureGateNames.map((name) => ({
  name,
  ...GATES[name],
}));

/** What a gate that is off takes with it, whatever was asked for. */
const FORCED_OFF: Partial<Record<FeatureGate, readonly FeatureGate[]>> = {
  PodWebhook: [
    "KruisePodReadinessGate",
    "PodUnavailableBudgetDeleteGate",
    "PodUnavailableBudgetUpdateGate",
    "WorkloadSpread",
    "SidecarSetPatchPodMetadataDefaultsAllowed",
    "EnhancedLivenessProbe",
    "EnablePodProbeMarkerOnServerless",
  ],
  KruiseDaemon: [
    "PreDownloadImageForInPlaceUpdate",
    "DaemonWatchingPod",
    "InPlaceUpdateEnvFromMetadata",
    "PreDownloadImageForDaemonSetUpdate",
    "PodProbeMarkerGate",
    "SidecarTerminator",
    "ImagePullJobGate",
    "EnhancedLivenessProbe",
  ],
  ResourcesDeletionProtection: ["DeletionProtectionForCRDCascadingGate"],
};

export class FeatureGateError extends Error {
  override readonly name = "FeatureGateError";
}

/**
 * Reads `Name=bool,...`, with `AllAlpha=` and `AllBeta=`; later entries win over earlier ones, single gates
 * over groups. Throws FeatureGateError for unknown names and for values that are no booleans.
 */
export function parseFeatureGates(text = ""): FeatureGates {
  const gates = Object.fromEntries(featureGateNames.map((name) => [name, GATES[name].enabled])) as Record<
    FeatureGate,
    boolean
  >;
  const groups: Partial<Record<Gate["stage"], boolean>> = {};
  const singles = new Map<FeatureGate, boolean>();
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const [name = "", value] = entry.split("=", 2);
    const enabled = boolOf(entry, value);
    if (name === "AllAlpha") groups.alpha = enabled;
    else if (name === "AllBeta") groups.beta = enabled;
    else if (isGate(name)) singles.set(name, enabled);
    else
      throw new FeatureGateError(
        `unrecognized feature gate: ${name}; known gates: ${featureGateNames.join(", ")}`,
      );
  }
  for (const name of featureGateNames)
    gates[name] = singles.get(name) ?? groups[GATES[name].stage] ?? gates[name];
  return forced(gates);
}

function isGate(name: string): name is FeatureGate {
  return Object.hasOwn(GATES, name);
}

function boolOf(entry: string, value: string | undefined): boolean {
  const text = value?.trim().toLowerCase();
  if (text === "true" || text === "1" || text === "t") return true;
  if (text === "false" || text === "0" || text === "f") return false;
  throw new FeatureGateError(
    `feature gate ${JSON.stringify(entry)} is not of the form Name=true or Name=false`,
  );
}

function forced(gates: Record<FeatureGate, boolean>): FeatureGates {
  for (const [cause, effects] of Object.entries(FORCED_OFF)) {
    if (isGate(cause) && !gates[cause]) for (const effect of effects) gates[effect] = false;
  }
  if (gates.PreDownloadImageForInPlaceUpdate || gates.PreDownloadImageForDaemonSetUpdate)
    gates.ImagePullJobGate = true;
  return gates;
}
