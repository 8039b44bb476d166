/** Kinds whose controllers are not part of the sandbox: defaults, and what may not change. */
import {
  cloneJson,
  defaultPodTemplate,
  type FieldError,
  forbidden,
  goJson,
  goQuote,
  invalid,
  jsonEqual,
  notSupported,
  required,
  validatePodTemplate,
} from "../../../kube/core/index.ts";
import type { StoredObject } from "../../cluster.ts";
import { cleanupFinalizer, defaultDefinition, validateDefinition } from "../../crd/definition.ts";
import { type Fields, fieldsAt, isFields, objectsAt, setAt, textAt, valueAt } from "../../json.ts";
import type { Strategy } from "../resource.ts";
import { initialStatus } from "./initial_status.ts";

function specOf(draft: StoredObject): Fields {
  const spec = fieldsAt(draft, "spec");
  draft["spec"] = spec;
  return spec;
}

function defaultTemplate(parent: Fields): void {
  const template = parent["template"];
  if (isFields(template)) parent["template"] = defaultPodTemplate(template, { imagePullPolicy: "ByTag" });
}

/** What every kind with a pod template gets; returns its spec. */
function defaultOwner(draft: StoredObject, values: Fields): Fields {
  const spec = specOf(draft);
  defaultTemplate(spec);
  setMissing(spec, values);
  return spec;
}

function defaultRolling(strategy: Fields, values: Fields): void {
  strategy["type"] ??= "RollingUpdate";
  if (strategy["type"] !== "RollingUpdate") return;
  strategy["rollingUpdate"] ??= {};
  setMissing(fieldsAt(strategy, "rollingUpdate"), values);
}

function setMissing(target: Fields, values: Fields): void {
  for (const [name, value] of Object.entries(values)) target[name] ??= cloneJson(value);
}

function validateTemplateOwner(object: StoredObject): FieldError[] {
  const errors: FieldError[] = [];
  const selector = valueAt(object, "spec", "selector");
  if (!isFields(selector)) errors.push(required("spec.selector"));
  const wanted = fieldsAt(selector, "matchLabels");
  const labels = fieldsAt(object, "spec", "template", "metadata", "labels");
  if (Object.entries(wanted).some(([key, value]) => labels[key] !== value)) {
    errors.push(
      invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`"),
    );
  }
  const template = valueAt(object, "spec", "template");
  if (isFields(template))
    errors.push(...validatePodTemplate(template, "spec.template", { claimTemplates: claimNames(object) }));
  const replicas = valueAt(object, "spec", "replicas");
  if (typeof replicas === "number" && replicas < 0) {
    errors.push(invalid("spec.replicas", replicas, "must be greater than or equal to 0"));
  }
  return errors;
}

function claimNames(object: StoredObject): string[] {
  return objectsAt(object, "spec", "volumeClaimTemplates").map((claim) => textAt(claim, "metadata", "name"));
}

function selectorIsFixed(object: StoredObject, stored: StoredObject): FieldError[] {
  const errors = validateTemplateOwner(object);
  const after = valueAt(object, "spec", "selector");
  if (!jsonEqual(after, valueAt(stored, "spec", "selector"))) {
    errors.push(invalid("spec.selector", after, "field is immutable"));
  }
  return errors;
}

const mutableSetFields = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
] as const;
const frozenSet =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

function validateSetUpdate(object: StoredObject, stored: StoredObject): FieldError[] {
  const before = fieldsAt(stored, "spec");
  const after: Fields = { ...fieldsAt(object, "spec") };
  for (const name of mutableSetFields) setAt(after, [name], before[name]);
  return jsonEqual(after, before) ? [] : [forbidden("spec", frozenSet)];
}

/** Its pods are found by its UID. */
function prepareJob(draft: StoredObject): void {
  const spec = specOf(draft);
  if (spec["manualSelector"] === true) return;
  const { uid = "" } = draft.metadata;
  const labels = {
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": draft.metadata.name ?? "",
    "controller-uid": uid,
    "job-name": draft.metadata.name ?? "",
  };
  for (const [key, value] of Object.entries(labels)) {
    setAt(spec, ["template", "metadata", "labels", key], value);
  }
  spec["selector"] = { matchLabels: { "batch.kubernetes.io/controller-uid": uid } };
  draft["status"] = {};
}

function defaultJob(spec: Fields): void {
  defaultTemplate(spec);
  if (spec["completions"] === undefined && spec["parallelism"] === undefined) spec["completions"] = 1;
  setMissing(spec, {
    parallelism: 1,
    backoffLimit: 6,
    completionMode: "NonIndexed",
    suspend: false,
    manualSelector: false,
    podReplacementPolicy: "TerminatingOrFailed",
  });
}

const endingPolicies = ["OnFailure", "Never"];

/** Pods of a job must be able to end. `path` is where the job's spec is: `spec`. */
function validateJobSpec(spec: Fields, path: string): FieldError[] {
  const template = fieldsAt(spec, "template");
  const field = `${path}.template.spec.restartPolicy`;
  const policy = textAt(template, "spec", "restartPolicy");
  const errors = validatePodTemplate(template, `${path}.template`);
  // Always may be a default, so it counts as nothing.
  if (policy === "" || policy === "Always")
    errors.push(required(field, `valid values: ${endingPolicies.map(goQuote).join(", ")}`));
  else if (!endingPolicies.includes(policy)) errors.push(notSupported(field, policy, endingPolicies));
  else if (spec["podFailurePolicy"] !== undefined && policy !== "Never")
    errors.push(invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified'));
  return errors;
}

const apps: Readonly<Record<string, Partial<Strategy>>> = {
  "deployments.apps": {
    defaults(draft) {
      const values = { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600, strategy: {} };
      const spec = defaultOwner(draft, values);
      defaultRolling(fieldsAt(spec, "strategy"), { maxUnavailable: "25%", maxSurge: "25%" });
    },
    prepareCreate: initialStatus({}),
    validateCreate: validateTemplateOwner,
    validateUpdate: selectorIsFixed,
  },
  "replicasets.apps": {
    defaults: (draft) => defaultOwner(draft, { replicas: 1 }),
    prepareCreate: initialStatus({ replicas: 0 }),
    validateCreate: validateTemplateOwner,
    validateUpdate: selectorIsFixed,
  },
  "statefulsets.apps": {
    defaults(draft) {
      const spec = defaultOwner(draft, {
        replicas: 1,
        revisionHistoryLimit: 10,
        podManagementPolicy: "OrderedReady",
        updateStrategy: {},
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
      });
      for (const claim of objectsAt(spec, "volumeClaimTemplates")) {
        claim["kind"] ??= "PersistentVolumeClaim";
        claim["apiVersion"] ??= "v1";
        claim["status"] = { phase: "Pending" };
        setMissing(fieldsAt(claim, "spec"), { volumeMode: "Filesystem" });
      }
      const strategy = fieldsAt(spec, "updateStrategy");
      strategy["type"] ??= "RollingUpdate";
      if (strategy["type"] === "RollingUpdate") strategy["rollingUpdate"] ??= { partition: 0 };
    },
    prepareCreate: initialStatus({ replicas: 0, availableReplicas: 0 }),
    validateCreate: validateTemplateOwner,
    validateUpdate: validateSetUpdate,
  },
  "daemonsets.apps": {
    defaults(draft) {
      const spec = defaultOwner(draft, { revisionHistoryLimit: 10, updateStrategy: {} });
      defaultRolling(fieldsAt(spec, "updateStrategy"), { maxUnavailable: 1, maxSurge: 0 });
    },
    prepareCreate: initialStatus({
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    }),
    validateCreate: validateTemplateOwner,
    validateUpdate: selectorIsFixed,
  },
  "controllerrevisions.apps": {
    validateUpdate(object, stored) {
      if (jsonEqual(object["data"], stored["data"])) return [];
      return [invalid("data", goJson(object["data"]), "field is immutable")];
    },
  },
};

export const workloadRules: Readonly<Record<string, Partial<Strategy>>> = {
  ...apps,
  "jobs.batch": {
    defaults: (draft) => defaultJob(specOf(draft)),
    prepareCreate: prepareJob,
    validateCreate: (object) => validateJobSpec(fieldsAt(object, "spec"), "spec"),
    validateUpdate(object, stored) {
      const fixed = ["completions", "selector", "template", "completionMode"];
      return fixed
        .filter((name) => !jsonEqual(valueAt(object, "spec", name), valueAt(stored, "spec", name)))
        .filter((name) => name !== "completions" || textAt(object, "spec", "completionMode") !== "Indexed")
        .map((name) => invalid(`spec.${name}`, valueAt(object, "spec", name), "field is immutable"));
    },
  },
  "cronjobs.batch": {
    defaults(draft) {
      const spec = specOf(draft);
      setMissing(spec, {
        concurrencyPolicy: "Allow",
        suspend: false,
        successfulJobsHistoryLimit: 3,
        failedJobsHistoryLimit: 1,
      });
      const job = valueAt(spec, "jobTemplate", "spec");
      if (isFields(job)) defaultTemplate(job);
    },
    prepareCreate: initialStatus({}),
    validateCreate: (object) =>
      validateJobSpec(fieldsAt(object, "spec", "jobTemplate", "spec"), "spec.jobTemplate.spec"),
  },
  replicationcontrollers: {
    defaults(draft) {
      const spec = defaultOwner(draft, { replicas: 1 });
      setMissing(spec, { selector: fieldsAt(spec, "template", "metadata", "labels") });
    },
    prepareCreate: initialStatus({ replicas: 0 }),
  },
  "poddisruptionbudgets.policy": {
    prepareCreate: initialStatus({
      currentHealthy: 0,
      desiredHealthy: 0,
      disruptionsAllowed: 0,
      expectedPods: 0,
    }),
    validateCreate(object) {
      const spec = fieldsAt(object, "spec");
      if (spec["minAvailable"] === undefined || spec["maxUnavailable"] === undefined) return [];
      return [invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")];
    },
  },
  "horizontalpodautoscalers.autoscaling": {
    defaults(draft) {
      const spec = specOf(draft);
      setMissing(spec, {
        minReplicas: 1,
        metrics: [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
          },
        ],
      });
    },
    prepareCreate: initialStatus({ desiredReplicas: 0, currentMetrics: null }),
  },
  "customresourcedefinitions.apiextensions.k8s.io": {
    defaults: defaultDefinition,
    prepareCreate: initialStatus({}),
    validateCreate: validateDefinition,
    validateUpdate: validateDefinition,
    finalizerOnDelete: cleanupFinalizer,
  },
};
