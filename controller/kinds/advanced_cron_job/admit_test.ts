import t from "tap";
import { applyJsonPatch, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { handlerOf } from "../../../testkit/controller/kind_admission.ts";
import type { AdmissionRequest, AdmissionResponse } from "../../runtime/admission/request.ts";
import { advancedCronJobWebhooks } from "./admit.ts";

const mutate = handlerOf(advancedCronJobWebhooks, "mutating");
const validate = handlerOf(advancedCronJobWebhooks, "validating");

function request(object: JsonObject, oldObject?: JsonObject): AdmissionRequest {
  return admissionRequest({ object, oldObject });
}

const pods = { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "task:1" }] } };
const broadcast = { broadcastJobTemplate: { spec: { template: pods } } };
const images = (spec: object = {}) => ({
  imageListPullJobTemplate: { spec: { images: ["nginx:1", "busybox:1"], ...spec } },
});

function cron(spec: object = {}, name = "tick"): JsonObject {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "AdvancedCronJob",
    metadata: { name, namespace: "default" },
    spec: { schedule: "*/1 * * * *", template: broadcast, ...spec },
  };
}

async function defaulted(object: JsonObject, old?: JsonObject): Promise<JsonObject> {
  const answer = await mutate(request(object, old));
  if (!answer.allowed) throw new Error(answer.message);
  return applyJsonPatch(object, answer.patch ?? []);
}

async function answerTo(object: JsonObject, old?: JsonObject): Promise<AdmissionResponse> {
  return validate(request(await defaulted(object, old), old));
}

/** The refusal after defaulting, or nothing. */
async function refusal(object: JsonObject, old?: JsonObject): Promise<string | undefined> {
  const answer = await answerTo(object, old);
  if (answer.allowed) return undefined;
  t.equal(answer.code, 422);
  return answer.message;
}

t.test("defaults, once", async (t) => {
  const whole = await defaulted(cron());
  t.match(whole, {
    spec: {
      concurrencyPolicy: "Allow",
      paused: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      template: { broadcastJobTemplate: { spec: { template: { spec: { dnsPolicy: "ClusterFirst" } } } } },
    },
  });
  t.same(await defaulted(whole), whole);
  t.equal(await refusal(cron()), undefined);
  const job = await defaulted(cron({ template: { jobTemplate: { spec: { template: pods } } } }));
  t.match(job, {
    spec: {
      template: { jobTemplate: { spec: { template: { spec: { schedulerName: "default-scheduler" } } } } },
    },
  });
});

t.test("image lists: defaults, and what they may not say", async (t) => {
  t.match(await defaulted(cron({ template: images() })), {
    spec: {
      concurrencyPolicy: "Replace",
      template: {
        imageListPullJobTemplate: {
          spec: {
            completionPolicy: { type: "Always" },
            pullPolicy: { timeoutSeconds: 600, backoffLimit: 3 },
            imagePullPolicy: "IfNotPresent",
          },
        },
      },
    },
  });
  t.equal(await refusal(cron({ template: images() })), undefined);
  const refused = (completionPolicy: object) => refusal(cron({ template: images({ completionPolicy }) }));
  t.match(
    await refused({ type: "Always", ttlSecondsAfterFinished: 5 }),
    "ttlSecondsAfterFinished is not supported in advancedCronJob",
  );
  t.match(await refused({ type: "Never" }), /completionPolicy\.type/);
  t.match(await refused({ type: "Always", activeDeadlineSeconds: 86_401 }), /activeDeadlineSeconds/);
  t.match(await refused({ type: "Always", activeDeadlineSeconds: 599 }), /activeDeadlineSeconds/);
  t.match(await refusal(cron({ template: images({ images: ["a:1", "a:1"] }) })), /duplicate/);
  t.match(
    await refusal(cron({ concurrencyPolicy: "Allow", template: images() })),
    'spec.spec.concurrencyPolicy: Invalid value: "Allow": concurrencyPolicy should be Replace or Forbid, but current value is: Allow',
  );
});

t.test("exactly one template", async (t) => {
  const words = "either JobTemplate or BroadcastJobTemplate or ImageListPullJobTemplate should be provided";
  t.equal(
    await refusal(cron({ template: {} })),
    `spec.template: Forbidden: spec must have one template, ${words}`,
  );
  const both = { ...broadcast, ...images() };
  t.match(await refusal(cron({ template: both })), `spec can have only one template, ${words}`);
});

t.test("schedules and zones", async (t) => {
  t.match(
    await refusal(cron({ schedule: "" })),
    "schedule cannot be empty, please provide valid cron schedule.",
  );
  t.match(
    await refusal(cron({ timeZone: "local" })),
    /spec\.timeZone: .*timeZone must be an explicit time zone/,
  );
  t.match(await refusal(cron({ timeZone: "No/Where" })), "unknown time zone No/Where");
  t.match(await refusal(cron({ timeZone: "" })), "timeZone must be nil or non-empty string");
  t.match(
    await refusal(cron({ timeZone: "UTC", schedule: "TZ=UTC @daily" })),
    "cannot use both timeZone field and TZ or CRON_TZ in schedule",
  );
});

t.test("updates: what may change, and what may not", async (t) => {
  const old = await defaulted(cron());
  const more = {
    schedule: "@daily",
    timeZone: "UTC",
    paused: true,
    concurrencyPolicy: "Forbid",
    startingDeadlineSeconds: 5,
    successfulJobsHistoryLimit: 1,
    failedJobsHistoryLimit: 0,
  };
  t.equal(await refusal(cron(more), old), undefined);
  const other = { broadcastJobTemplate: { spec: { template: pods, parallelism: 1 } } };
  t.equal(
    await refusal(cron({ template: other }), old),
    "spec: Forbidden: updates to advancedcronjob spec for fields other than 'imageListPullJobTemplate', 'schedule', 'concurrencyPolicy', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit', 'startingDeadlineSeconds', 'timeZone' and 'paused' are forbidden",
  );
  const pulls = await defaulted(cron({ template: images() }));
  t.equal(await refusal(cron({ template: images({ images: ["a:2"] }) }), pulls), undefined);
});

t.test("names and numbers", async (t) => {
  t.match(
    await refusal(cron({}, "a.b")),
    "AdvancedCronJob name must consist of alphanumeric characters or '-'",
  );
  t.match(await refusal(cron({ startingDeadlineSeconds: -1 })), /spec\.startingDeadlineSeconds/);
  t.match(await refusal(cron({ failedJobsHistoryLimit: -1 })), /spec\.failedJobsHistoryLimit/);
});

t.test("what never runs, or would be refused in every run, is warned about", async (t) => {
  t.match(await answerTo(cron({ schedule: "0 0 30 2 *" })), {
    allowed: true,
    warnings: [/never starts anything/],
  });
  const always = { spec: { containers: [{ name: "a", image: "task:1" }] } };
  const jobs = await answerTo(cron({ template: { jobTemplate: { spec: { template: always } } } }));
  t.match(jobs, { allowed: true, warnings: [/neither Never nor OnFailure/] });
  const broken = await answerTo(cron({ template: { broadcastJobTemplate: { spec: { template: always } } } }));
  t.match(broken, { allowed: true, warnings: [/pod restartPolicy can only be Never or OnFailure/] });
  t.match(await answerTo(cron({}, "a".repeat(53))), {
    allowed: true,
    warnings: [/longer than 52 characters/],
  });
  t.same(await answerTo(cron()), { allowed: true });
});

t.test(
  "v1alpha1 shows no image list: an update in it would drop the template, whatever is stored",
  async (t) => {
    const shown = (metadata: object = {}) => ({
      ...cron({ template: {}, schedule: "0 0 * * *" }),
      apiVersion: "apps.kruise.io/v1alpha1",
      metadata: { name: "tick", namespace: "default", ...metadata },
    });
    t.match(await refusal(shown({ labels: { more: "label" } }), shown()), "spec must have one template");
    const leaving = { deletionTimestamp: "2026-01-01T00:00:00Z" };
    t.equal(
      await refusal(shown(leaving), shown({ ...leaving, finalizers: ["x/y"] })),
      undefined,
      "it can go",
    );
    const stored = cron({ template: {} });
    t.equal(
      await refusal({ ...stored, metadata: { name: "tick", labels: { more: "label" } } }, stored),
      undefined,
      "in the version that shows all there was none",
    );
  },
);
