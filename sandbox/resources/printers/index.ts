/** Columns of the built-in kinds, by `<plural>.<group>`. */
import { type Printer, plainPrinter } from "../printer.ts";
import {
  configMapPrinter,
  endpointSlicePrinter,
  endpointsPrinter,
  eventPrinter,
  leasePrinter,
  namespacePrinter,
  nodePrinter,
  secretPrinter,
  serviceAccountPrinter,
  servicePrinter,
} from "./cluster.ts";
import {
  ingressClassPrinter,
  ingressPrinter,
  networkPolicyPrinter,
  runtimeClassPrinter,
} from "./networking.ts";
import { podPrinter } from "./pods.ts";
import {
  bindingPrinter,
  claimPrinter,
  priorityClassPrinter,
  storageClassPrinter,
  volumePrinter,
  webhookPrinter,
} from "./storage.ts";
import {
  autoscalerPrinter,
  budgetPrinter,
  cronJobPrinter,
  daemonSetPrinter,
  deploymentPrinter,
  jobPrinter,
  quotaPrinter,
  replicaSetPrinter,
  revisionPrinter,
  statefulSetPrinter,
} from "./workloads.ts";

const printers: Readonly<Record<string, Printer>> = {
  pods: podPrinter,
  nodes: nodePrinter,
  namespaces: namespacePrinter,
  services: servicePrinter,
  configmaps: configMapPrinter,
  resourcequotas: quotaPrinter,
  secrets: secretPrinter,
  serviceaccounts: serviceAccountPrinter,
  endpoints: endpointsPrinter,
  events: eventPrinter,
  persistentvolumeclaims: claimPrinter,
  persistentvolumes: volumePrinter,
  replicationcontrollers: replicaSetPrinter,
  "events.events.k8s.io": eventPrinter,
  "endpointslices.discovery.k8s.io": endpointSlicePrinter,
  "leases.coordination.k8s.io": leasePrinter,
  "deployments.apps": deploymentPrinter,
  "replicasets.apps": replicaSetPrinter,
  "statefulsets.apps": statefulSetPrinter,
  "daemonsets.apps": daemonSetPrinter,
  "controllerrevisions.apps": revisionPrinter,
  "jobs.batch": jobPrinter,
  "cronjobs.batch": cronJobPrinter,
  "horizontalpodautoscalers.autoscaling": autoscalerPrinter,
  "poddisruptionbudgets.policy": budgetPrinter,
  "storageclasses.storage.k8s.io": storageClassPrinter,
  "priorityclasses.scheduling.k8s.io": priorityClassPrinter,
  "ingresses.networking.k8s.io": ingressPrinter,
  "ingressclasses.networking.k8s.io": ingressClassPrinter,
  "networkpolicies.networking.k8s.io": networkPolicyPrinter,
  "runtimeclasses.node.k8s.io": runtimeClassPrinter,
  "mutatingwebhookconfigurations.admissionregistration.k8s.io": webhookPrinter,
  "validatingwebhookconfigurations.admissionregistration.k8s.io": webhookPrinter,
  "rolebindings.rbac.authorization.k8s.io": bindingPrinter,
  "clusterrolebindings.rbac.authorization.k8s.io": bindingPrinter,
};

export function printerOf(resource: string): Printer {
  return printers[resource] ?? plainPrinter;
}
