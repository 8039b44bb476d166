/** Admission and conversion of one process: which handler answers what, by the gates. Spec: platform 4.1, rule 2. */
import { carriedOutKinds, isStatefulSet, type TemplateDefaulting } from "../crds/index.ts";
import type { JsonObject } from "../kube/core/index.ts";
import {
  type Client,
  type Clock,
  isKubeError,
  jsonResource,
  type KubeObject,
  type Log,
  nodeResource,
  nullMetrics,
  podResource,
  type Random,
} from "../kube/index.ts";
import {
  protectAlways,
  protectDefinition,
  protectNamespace,
  protectReplicas,
  tellingRefusals,
} from "./admission/deletion_protection.ts";
import type { AdmissionEntryName } from "./admission/entries.ts";
import { protectedContent } from "./admission/protected_content.ts";
import { deletionRefusal, type Refusal } from "./admission/refusals.ts";
import { type AdmissionHandler, allowed } from "./admission/request.ts";
import type { AdmissionMetrics } from "./admission/server.ts";
import type { WebhookSettings } from "./admission/settings.ts";
import { createWebhooks, handlersByPath, type Webhooks } from "./admission/webhooks.ts";
import { mutateAdvancedCronJob, validateAdvancedCronJobRequest } from "./advanced_cron_job/admit.ts";
import { mutateBroadcastJob, validateBroadcastJobRequest } from "./broadcast_job/admit.ts";
import { type CloneSetAdmissionOptions, mutateCloneSet, validateCloneSetRequest } from "./clone_set/admit.ts";
import { mutateContainerRecreateRequest } from "./container_recreate_request/admit.ts";
import { mutateDaemonSet, validateDaemonSetRequest } from "./daemon_set/admit.ts";
import { validateEphemeralJobRequest } from "./ephemeral_job/admit.ts";
import { mutateImageListPullJob, validateImageListPullJob } from "./image_list_pull_job/admit.ts";
import { mutateImagePullJob, validateImagePullJob } from "./image_pull_job/admit.ts";
import { SharedInformers } from "./informers.ts";
import { mutateNodeImage, validateNodeImage } from "./node_image/admit.ts";
import type { ControllerOptions } from "./options.ts";
import { validatePersistentPodStateRequest } from "./persistent_pod_state/admit.ts";
import { persistentPodStateResource } from "./persistent_pod_state/resource.ts";
import { stateOf, targetIndex } from "./persistent_pod_state/targets.ts";
import { mutatePod, type PodAdmissionOptions } from "./pod_admission/chain.ts";
import { validatePodProbeMarkerRequest } from "./pod_probe_marker/admit.ts";
import { podProbeMarkerResource } from "./pod_probe_marker/resource.ts";
import { podBudgets } from "./pod_unavailable_budget/start_guard.ts";
import {
  mutateStatefulSet,
  type StatefulSetAdmissionOptions,
  validateStatefulSetRequest,
} from "./stateful_set/admit.ts";
import { lookupStorageClass } from "./storage_classes.ts";

export interface AdmissionDeps {
  client: Client;
  clock: Clock;
  random: Random;
  log: Log;
  metrics: AdmissionMetrics;
  options: ControllerOptions;
  settings: WebhookSettings;
  /** Flag --allow-privileged. */
  allowPrivileged: boolean;
  /** Whether this replica leads from the start; see Webhooks. */
  leads: boolean;
  /** Counts and audits a refusal. Must not throw. */
  refused(refusal: Refusal): void;
}

export type Admission = Webhooks;

type Handlers = Partial<Record<AdmissionEntryName, AdmissionHandler>>;
/** Tells of every deletion of the kind that the handler refuses. */
type Told = (kind: string, handler: AdmissionHandler) => AdmissionHandler;

export function admission(deps: AdmissionDeps): Admission {
  const { client, clock, random, log, metrics, options, settings, leads } = deps;
  const { namespace } = options;
  const informers = new SharedInformers({ client, clock, random, log, metrics: nullMetrics, namespace });
  const told: Told = (kind, handler) =>
    tellingRefusals(handler, (request) => deps.refused(deletionRefusal(kind, request)));
  const budgets = podBudgets(deps, informers);
  const handlers = handlersByPath({
    ...podMutation(deps, informers, budgets.chain),
    ...workloads(deps, told),
    ...jobs(deps),
    ...podStates(deps),
    ...images(deps),
    ...nativeProtection(deps, told),
    ...budgets.handlers,
  });
  informers.start();
  const kinds = carriedOutKinds;
  const webhooks = createWebhooks({ settings, client, handlers, kinds, clock, random, log, metrics, leads });
  return {
    ...webhooks,
    async start(timeoutMs) {
      // Objects of another version are listed through our own conversion: that must be served meanwhile.
      const [bound] = await Promise.all([webhooks.start(timeoutMs), informers.synced()]);
      return bound;
    },
    async stop() {
      informers.stop();
      await webhooks.stop();
      await budgets.stop();
    },
  };
}

/** What is done to every new pod. */
function podMutation(
  { options, random }: AdmissionDeps,
  informers: SharedInformers,
  budgets: Pick<PodAdmissionOptions, "budgets">,
): Handlers {
  const { gates, keepManagedFields } = options;
  const states = informers.cacheOf(persistentPodStateResource, targetIndex);
  const markers = gates.EnablePodProbeMarkerOnServerless
    ? informers.cacheOf(podProbeMarkerResource, { namespace: namespaceOf })
    : undefined;
  const mutatePods = mutatePod({
    readinessGateOnEveryPod: gates.KruisePodReadinessGate,
    keepManagedFields,
    random,
    enhancedLiveness: gates.EnhancedLivenessProbe,
    ...(markers === undefined
      ? {}
      : {
          serverless: {
            markersIn: (namespace) => informers.synced().then(() => markers.byIndex("namespace", namespace)),
          },
        }),
    placement: {
      isRecorded: isStatefulSet,
      stateOf: (...target) => informers.synced().then(() => stateOf(states, ...target)),
    },
    ...budgets,
  });
  return gates.PodWebhook ? { mutatePod: mutatePods } : {};
}

function templatesBy({ gates }: ControllerOptions): TemplateDefaulting {
  return {
    templateDefaults: !gates.TemplateNoDefaults,
    hostNetworkPorts: gates.DefaultHostNetworkHostPortsInPodTemplates,
  };
}

function workloads({ client, options, allowPrivileged }: AdmissionDeps, told: Told): Handlers {
  const { gates } = options;
  const templates = templatesBy(options);
  const deletionProtection = gates.ResourcesDeletionProtection;
  const cloneSets: CloneSetAdmissionOptions = {
    ...templates,
    deletionProtection,
    allowPrivileged,
    lookupPod: (namespace, name) => lookupPod(client, namespace, name),
  };
  const statefulSets: StatefulSetAdmissionOptions = {
    ...templates,
    deletionProtection,
    deletesClaims: gates.StatefulSetAutoDeletePVC,
    resizesClaims: gates.StatefulSetAutoResizePVCGate,
    lookupStorageClass: (name) => lookupStorageClass(client, name),
  };
  return {
    mutateCloneSet: mutateCloneSet(cloneSets),
    validateCloneSet: told("CloneSet", validateCloneSetRequest(cloneSets)),
    mutateStatefulSet: mutateStatefulSet(statefulSets),
    validateStatefulSet: told("StatefulSet", validateStatefulSetRequest(statefulSets)),
    mutateDaemonSet,
    validateDaemonSet: validateDaemonSetRequest(templates),
  };
}

function jobs({ options }: AdmissionDeps): Handlers {
  const templates = templatesBy(options);
  return {
    mutateAdvancedCronJob: mutateAdvancedCronJob(templates),
    validateAdvancedCronJob: validateAdvancedCronJobRequest,
    mutateBroadcastJob: mutateBroadcastJob(templates),
    validateBroadcastJob: validateBroadcastJobRequest,
    validateEphemeralJob: validateEphemeralJobRequest,
  };
}

/** Kinds about pods and containers that exist. */
function podStates({ client, options }: AdmissionDeps): Handlers {
  const { gates } = options;
  return {
    validatePodProbeMarker: validatePodProbeMarkerRequest(gates),
    validatePersistentPodState: validatePersistentPodStateRequest({
      list: async (namespace) => (await client.list(persistentPodStateResource, { namespace })).items,
    }),
    mutateContainerRecreateRequest: mutateContainerRecreateRequest({
      agents: gates.KruiseDaemon,
      lookupPod: (namespace, name) => lookupPodJson(client, namespace, name),
      lookupNodeLabels: async (name) => (await client.get(nodeResource, { name })).labels,
    }),
  };
}

function images({ clock, options: { gates } }: AdmissionDeps): Handlers {
  return {
    mutateImagePullJob,
    validateImagePullJob: validateImagePullJob(gates),
    mutateImageListPullJob,
    validateImageListPullJob: validateImageListPullJob(gates),
    mutateNodeImage: mutateNodeImage(clock),
    validateNodeImage: validateNodeImage(gates),
  };
}

/** Kinds of others that the label protects. Services and Ingresses are neither counted nor audited (protection B5). */
function nativeProtection({ client, options: { gates } }: AdmissionDeps, told: Told): Handlers {
  const isOn = gates.ResourcesDeletionProtection;
  const guarded = (handler: AdmissionHandler): AdmissionHandler => (isOn ? handler : () => allowed);
  const content = protectedContent(client);
  const cascading = gates.DeletionProtectionForCRDCascadingGate;
  return {
    protectDeployment: told("Deployment", guarded(protectReplicas)),
    protectReplicaSet: told("ReplicaSet", guarded(protectReplicas)),
    protectNativeStatefulSet: told("StatefulSet", guarded(protectReplicas)),
    protectNamespace: told("Namespace", guarded(protectNamespace(content))),
    protectDefinition: told("CustomResourceDefinition", guarded(protectDefinition(content, { cascading }))),
    ...(isOn ? { protectService: protectAlways, protectIngress: protectAlways } : {}),
  };
}

function namespaceOf({ metadata }: KubeObject): string[] {
  return [metadata.namespace ?? ""];
}

async function lookupPod(client: Client, namespace: string, name: string) {
  try {
    const pod = await client.get(podResource, { namespace, name });
    return { ownerUid: pod.controller?.uid, terminating: pod.deletionAt !== undefined };
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** Hooks and ports, which no cache holds. */
const podJsonResource = jsonResource<KubeObject & JsonObject>({
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
});

async function lookupPodJson(
  client: Client,
  namespace: string,
  name: string,
): Promise<JsonObject | undefined> {
  try {
    return await client.get(podJsonResource, { namespace, name });
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}
