/** StatefulSet: pods with stable names and claims, in place and several at once. */
export { SetIndex as StatefulSetIndex } from "./classify.ts";
export { OWNED_BY_ANNOTATION, type Seen as StatefulSetSeen, type StatefulSetOptions } from "./observe.ts";
export { planStatefulSet } from "./plan.ts";
export { statefulSetOptions, statefulSetShell } from "./reconcile.ts";
