/** Names that SidecarSets use on themselves, on their revisions and on pods. Spec: sidecarset 5, rules 7, 22, 27, 40. */

/** On a SidecarSet: what its sidecars hash to. On a pod: JSON by SidecarSet, what the pod has of each. */
export const sidecarSetHashAnnotation = "kruise.io/sidecarset-hash";
/** The same without the images: pods whose entry is equal can be updated in place. */
export const sidecarSetHashWithoutImageAnnotation = "kruise.io/sidecarset-hash-without-image";

/** On a pod: names of the SidecarSets that were injected, sorted, with commas. */
export const injectedListAnnotation = "kruise.io/sidecarset-injected-list";
/** On a pod: JSON, by sidecar with HotUpgrade which of its two containers works. */
export const workingHotUpgradeAnnotation = "kruise.io/sidecarset-working-hotupgrade-container";
/** On a pod: JSON by SidecarSet, the latest in-place update. */
export const sidecarInPlaceStateAnnotation = "kruise.io/sidecarset-inplace-update-state";
/** Followed by a container's name. On a pod with HotUpgrade: the versions that its two containers compare. */
export const hotUpgradeVersionPrefix = "version.sidecarset.kruise.io/";
export const hotUpgradeAltVersionPrefix = "versionalt.sidecarset.kruise.io/";

/** Environment of containers with HotUpgrade, from the annotations above. */
export const hotUpgradeVersionEnv = "SIDECARSET_VERSION";
export const hotUpgradeAltVersionEnv = "SIDECARSET_VERSION_ALT";
/** Environment of every injected container, value "true". */
export const injectedEnv = "IS_INJECTED";

/** On a SidecarSet, value "true": pods that it and its base select get this one. */
export const canaryAnnotation = "apps.kruise.io/sidecarset-canary";
/** On a canary: the SidecarSet that it stands in for. */
export const canaryBaseAnnotation = "apps.kruise.io/sidecarset-base";

/** On a revision: its SidecarSet. */
export const revisionSidecarSetLabel = "kruise.io/sidecarset-name";
/** On a revision, and on a SidecarSet of v1alpha1, where v1beta1 has field `customVersion`. */
export const customVersionLabel = "apps.kruise.io/sidecarset-custom-version";

/** Condition of a pod: whether every SidecarSet in it can be updated in place. */
export const upgradableCondition = "SidecarSetUpgradable";

/** On a namespace, by the API server: its own name. */
export const namespaceNameLabel = "kubernetes.io/metadata.name";
