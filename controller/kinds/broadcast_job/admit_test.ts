import t from "tap";
import { applyJsonPatch, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { handlerOf, withGates } from "../../../testkit/controller/kind_admission.ts";
import type { AdmissionRequest } from "../../runtime/admission/request.ts";
import { broadcastJobWebhooks } from "./admit.ts";

const mutate = handlerOf(broadcastJobWebhooks, "mutating");
const validate = handlerOf(broadcastJobWebhooks, "validating");

function request(object: JsonObject, oldObject?: JsonObject): AdmissionRequest {
  return admissionRequest({ object, oldObject });
}

function job(spec: object, podSpec: object = {}, name = "task"): JsonObject {
  const template = {
    spec: { restartPolicy: "Never", containers: [{ name: "a", image: "task:1" }], ...podSpec },
  };
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "BroadcastJob",
    metadata: { name, namespace: "default" },
    spec: { template, ...spec },
  };
}

async function defaulted(object: JsonObject, old?: JsonObject): Promise<JsonObject> {
  const answer = await mutate(request(object, old));
  if (!answer.allowed) throw new Error(answer.message);
  return applyJsonPatch(object, answer.patch ?? []);
}

/** The refusal after defaulting, or nothing. */
async function refusal(object: JsonObject, old?: JsonObject): Promise<string | undefined> {
  const answer = await validate(request(await defaulted(object, old), old));
  if (answer.allowed) return undefined;
  t.equal(answer.code, 500);
  return answer.message;
}

t.test("defaults, once", async (t) => {
  const whole = await defaulted({ ...job({}), status: { active: 1 } });
  t.match(whole, {
    status: undefined,
    spec: {
      parallelism: 2147483647,
      completionPolicy: { type: "Always" },
      failurePolicy: { type: "FailFast" },
      template: { spec: { dnsPolicy: "ClusterFirst", terminationGracePeriodSeconds: 30 } },
    },
  });
  t.same(await defaulted(whole), whole);
  t.equal(await refusal(job({})), undefined);
});

t.test(
  "with gate TemplateNoDefaults the template stays as it is, and is validated as the server will fill it in",
  async (t) => {
    const bare = handlerOf(broadcastJobWebhooks, "mutating", withGates("TemplateNoDefaults=true"));
    const object = job({});
    const answer = await bare(request(object));
    const after = answer.allowed ? applyJsonPatch(object, answer.patch ?? []) : {};
    t.same((after["spec"] as JsonObject)["template"], (object["spec"] as JsonObject)["template"]);
    t.match(await validate(request(after)), { allowed: true });
    const broken = job({}, { containers: [{ name: "A_B", image: "task:1" }] });
    t.match(await validate(request(broken)), {
      allowed: false,
      message: /containers\[0\]\.name/,
    });
  },
);

t.test("a stored template is not filled in again", async (t) => {
  const old = job({});
  const changed = await defaulted(job({ paused: true }), old);
  t.match(changed, { spec: { template: { spec: { dnsPolicy: undefined } } } });
});

t.test("restart policies: only those that end, and one must be written", async (t) => {
  const words = /spec\.template\.spec\.restartPolicy: .*pod restartPolicy can only be Never or OnFailure/;
  t.match(await refusal(job({}, { restartPolicy: "Always" })), words);
  t.match(await refusal(job({}, { restartPolicy: undefined })), words);
  t.equal(await refusal(job({}, { restartPolicy: "OnFailure" })), undefined);
});

t.test("Never has neither deadline nor time to live; both are reported", async (t) => {
  const completionPolicy = { type: "Never", ttlSecondsAfterFinished: 30, activeDeadlineSeconds: 10 };
  const text = await refusal(job({ completionPolicy }));
  t.match(text, "ttlSecondsAfterFinished can just work with Always CompletionPolicyType");
  t.match(text, "activeDeadlineSeconds can just work with Always CompletionPolicyType");
  t.equal(await refusal(job({ completionPolicy: { ...completionPolicy, type: "Always" } })), undefined);
});

t.test("names without dots, of at most 63 characters", async (t) => {
  const words = "BroadcastJob name must consist of alphanumeric characters or '-'";
  t.match(await refusal(job({}, {}, "a.b")), words);
  t.match(await refusal(job({}, {}, "a".repeat(64))), "must be no more than 63 characters");
  t.equal(await refusal(job({}, {}, "a".repeat(63))), undefined);
});

t.test("labels of the controller cannot be preset", async (t) => {
  const words =
    '"broadcastjob-name" and "broadcastjob-controller-uid" are not allowed to preset in pod labels';
  for (const label of ["broadcastjob-name", "broadcastjob-controller-uid"]) {
    const object = job({});
    const { template } = object["spec"] as { template: JsonObject };
    template["metadata"] = { labels: { [label]: "x" } };
    t.match(await refusal(object), words);
  }
});

t.test("amounts that mean nothing are refused, unless they are stored", async (t) => {
  t.match(await refusal(job({ parallelism: "many" })), /^spec\.parallelism: Invalid value: "many"/);
  t.match(await refusal(job({ parallelism: -1 })), /spec\.parallelism/);
  t.equal(await refusal(job({ parallelism: "5" })), undefined);
  t.equal(await refusal(job({ parallelism: "25%" })), undefined);
  const old = await defaulted(job({ failurePolicy: { restartLimit: -1 } }));
  t.match(await refusal(old), /spec\.failurePolicy\.restartLimit/);
  t.equal(await refusal(old, old), undefined);
});

t.test("values of wrong types cannot be decoded", async (t) => {
  const answer = await validate(request(job({ paused: "yes" })));
  t.match(answer, { allowed: false, code: 400, message: /spec\.paused/ });
});
