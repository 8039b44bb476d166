/** Names on ContainerRecreateRequests beyond their schema. Spec: containers 1.5. */
export const RECREATE_POD_UID_LABEL = "crr.apps.kruise.io/pod-uid";
export const RECREATE_NODE_LABEL = "crr.apps.kruise.io/node-name";
/** `true` while node agents are to look at the request. */
export const RECREATE_ACTIVE_LABEL = "crr.apps.kruise.io/active";
/** Held while the pod is kept not ready for the request. */
export const RECREATE_UNREADY_FINALIZER = "crr.apps.kruise.io/unready-acquired";
/** Type, and reason, of the condition that tells since when the pod is kept not ready. */
export const RECREATE_GRACE_CONDITION = "PreRecreateGrace";
export const RECREATE_GRACE_MESSAGE = "Pod has been forced to not-ready for unreadyGracePeriodSeconds drain";
/** With the value `virtual-kubelet`: a node that has no agent. */
export const NODE_TYPE_LABEL = "type";
export const VIRTUAL_NODE_TYPE = "virtual-kubelet";
