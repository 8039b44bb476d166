/** Names of PersistentPodState on other objects. Spec: persistentpodstate 5, rule 19. */

/** On a pod: the object that steered it. */
export const injectedPersistentPodStateAnnotation = "kruise.io/injected-persistent-pod-state";

/** On a workload: `"true"` has a PersistentPodState made of the three others, which are lists separated by commas. */
export const autoGeneratePersistentPodStateAnnotation = "kruise.io/auto-generate-persistent-pod-state";
export const requiredPersistentTopologyAnnotation = "kruise.io/required-persistent-topology";
export const preferredPersistentTopologyAnnotation = "kruise.io/preferred-persistent-topology";
export const persistentPodAnnotationsAnnotation = "kruise.io/persistent-pod-annotations";
