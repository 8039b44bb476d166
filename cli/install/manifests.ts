/** Everything that a cluster needs before the controller starts, as objects in the order to apply them. Spec: platform 1, 6. */

import { customResourceDefinition, kinds } from "../../crds/index.ts";
import type { AnyObject } from "../fields.ts";
import { toAnyObject } from "../fields.ts";
import {
  certificateRules,
  definitionGuardRules,
  distributionRules,
  leaderElectionRules,
  managerRules,
  pullSecretRules,
  pullSecretSourceRules,
  webhookSecretRules,
} from "./access.ts";
import {
  type AgentInstall,
  agentAccess,
  agentConfigNamespace,
  agentDaemonSet,
  agentReasons,
} from "./agent.ts";
import { type ControllerInstall, controllerDeployment, deploymentReasons } from "./controller_deployment.ts";
import { object, roleOf } from "./objects.ts";
import type { Reasons } from "./reasons.ts";
import { controllerSafeguards, criticalPodsQuota, safeguardReasons } from "./safeguards.ts";
import { type WebhookPlace, webhookObjects, webhookReasons } from "./webhooks.ts";

export interface InstallOptions extends WebhookPlace {
  /** Grants what gate DeletionProtectionForCRDCascadingGate needs. */
  readonly guardsDefinitions?: boolean;
  /** Grants what gate ResourceDistributionGate needs. */
  readonly distributesResources?: boolean;
  /** Undefined: no Deployment; the controller is started by other means. */
  readonly controller?: ControllerInstall | undefined;
  /** Undefined: no DaemonSet; the agents are started by other means or not at all. */
  readonly agent?: AgentInstall | undefined;
}

const account = "kruise-manager";

/** Why the objects are as they are; printed beside their fields. */
export const installReasons: Reasons = {
  ...deploymentReasons,
  ...agentReasons,
  ...safeguardReasons,
  ...webhookReasons,
};

export function installObjects(options: InstallOptions): AnyObject[] {
  return [
    ...definitions(options),
    ...namespaces(options),
    ...((options.controller ?? options.agent) ? [criticalPodsQuota(options.namespace)] : []),
    ...accessObjects(options),
    ...agentAccess(options.namespace),
    ...serviceObjects(options),
    ...(options.controller === undefined ? [] : controllerObjects(options, options.controller)),
    ...(options.agent === undefined ? [] : [agentDaemonSet(options.namespace, options.agent)]),
    ...webhookObjects(options),
  ];
}

function controllerObjects({ namespace, webhookPort }: InstallOptions, controller: ControllerInstall) {
  return [
    ...controllerSafeguards({ namespace, webhookPort }, controller),
    controllerDeployment({ namespace, account, webhookPort }, controller),
  ];
}

export function definitions(options: InstallOptions): AnyObject[] {
  const service = { namespace: options.namespace, name: "kruise-webhook-service" };
  const { webhookHost, webhookPort } = options;
  const url = webhookHost === undefined ? {} : { url: `https://${webhookHost}:${webhookPort}` };
  return kinds.map((kind) => toAnyObject(customResourceDefinition(kind, { service, ...url })));
}

function namespaces(options: InstallOptions): AnyObject[] {
  // The label keeps pod admission away from the controller's own pods.
  const labels = { "control-plane": "openkruise" };
  return [
    object("v1", "Namespace", { name: options.namespace, labels }),
    object("v1", "Namespace", { name: agentConfigNamespace }),
  ];
}

function accessObjects(options: InstallOptions): AnyObject[] {
  const { namespace, guardsDefinitions = false, distributesResources = false } = options;
  const manager = { name: account, namespace };
  return [
    object("v1", "ServiceAccount", manager),
    ...roleOf(manager, "kruise-manager", managerRules()),
    ...roleOf(manager, "kruise-certs", certificateRules()),
    ...roleOf(manager, "kruise-pull-secret-source", pullSecretSourceRules),
    ...(guardsDefinitions ? roleOf(manager, "kruise-definition-guard", definitionGuardRules) : []),
    ...(distributesResources ? roleOf(manager, "kruise-resource-distribution", distributionRules) : []),
    ...roleOf(manager, "kruise-leader-election", leaderElectionRules, namespace),
    ...roleOf(manager, "kruise-webhook", webhookSecretRules, namespace),
    ...roleOf(manager, "kruise-pull-secret", pullSecretRules, agentConfigNamespace),
  ];
}

function serviceObjects({ namespace, webhookHost, webhookPort }: InstallOptions): AnyObject[] {
  if (webhookHost !== undefined) return [];
  const spec = {
    ports: [{ port: 443, targetPort: webhookPort, protocol: "TCP" }],
    selector: { "control-plane": "controller-manager" },
  };
  return [
    // Empty: the controller fills it and never empties it. Installed so that it is removed with the rest.
    object("v1", "Secret", { name: "kruise-webhook-certs", namespace }, { type: "Opaque" }),
    object("v1", "Service", { name: "kruise-webhook-service", namespace }, { spec }),
  ];
}
