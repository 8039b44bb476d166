import t from "tap";
import type { JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { handlerOf } from "../../../testkit/controller/kind_admission.ts";
import type { AdmissionResponse } from "../../runtime/admission/request.ts";
import { ephemeralJobWebhooks } from "./admit.ts";

const good = {
  name: "look",
  image: "busybox:1.33",
  imagePullPolicy: "IfNotPresent",
  terminationMessagePolicy: "File",
  command: ["sleep", "3"],
};

async function ask(object: JsonObject | undefined): Promise<AdmissionResponse> {
  return handlerOf(ephemeralJobWebhooks, "validating")(admissionRequest({ object }));
}

function job(ephemeralContainers: unknown, more: object = {}): JsonObject {
  return {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "EphemeralJob",
    metadata: { name: "look" },
    spec: { selector: { matchLabels: { a: "b" } }, template: { ephemeralContainers }, ...more },
  };
}

async function refusal(...containers: object[]): Promise<string> {
  const answer = await ask(job(containers));
  return answer.allowed ? "allowed" : `${answer.code} ${answer.message}`;
}

t.test("accepted", async (t) => {
  t.equal(await refusal(good), "allowed");
  t.equal(
    await refusal({ ...good, targetContainerName: "main", tty: true, ports: [], resources: {} }),
    "allowed",
  );
  t.same(await ask(job([])), { allowed: true }, "an empty template is reported by the job itself");
});

t.test("what has to be there: nothing is filled in", async (t) => {
  const at = "400 ephemeralContainers[0]";
  t.equal(await refusal({ ...good, imagePullPolicy: undefined }), `${at}.imagePullPolicy: Required value`);
  t.equal(
    await refusal({ ...good, terminationMessagePolicy: "" }),
    `${at}.terminationMessagePolicy: Required value`,
  );
  t.equal(await refusal({ ...good, image: "" }), `${at}.image: Required value`);
  t.equal(await refusal({ ...good, name: "" }), `${at}.name: Required value`);
  t.match(await refusal({ ...good, name: "A" }), /^400 ephemeralContainers\[0\]\.name: Invalid value: "A"/);
  t.equal(await refusal(good, good), '400 ephemeralContainers[1].name: Duplicate value: "look"');
  t.equal(
    await refusal({ ...good, imagePullPolicy: "Often" }),
    `${at}.imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"`,
  );
});

t.test("what only containers of the pod's own spec can have", async (t) => {
  const probe = { exec: { command: ["true"] } };
  const fields = {
    ports: [{ containerPort: 80 }],
    resources: { limits: { cpu: "1" } },
    livenessProbe: probe,
    readinessProbe: probe,
    startupProbe: probe,
    lifecycle: { preStop: probe },
    restartPolicy: "Always",
    resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }],
  };
  for (const [key, value] of Object.entries(fields)) {
    t.equal(
      await refusal({ ...good, [key]: value }),
      `400 ephemeralContainers[0].${key}: Forbidden: cannot be set for an Ephemeral Container`,
    );
  }
  const mount = { name: "v", mountPath: "/v", subPath: "x" };
  t.equal(
    await refusal({ ...good, volumeMounts: [mount] }),
    "400 ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an Ephemeral Container",
  );
});

t.test("malformed objects are refused, not thrown", async (t) => {
  t.match(await ask(job("x")), { allowed: false, code: 400 });
  t.match(await ask(job([1])), { allowed: false, code: 400 });
  t.match(await ask(job([{ ...good, command: "x" }])), { allowed: false, code: 400 });
  t.match(await ask(job([good], { parallelism: "x" })), { allowed: false, code: 400 });
  t.match(await ask({ apiVersion: "apps.kruise.io/v1", spec: {} }), {
    code: 400,
    message: /unsupported version: v1/,
  });
  t.match(await ask(undefined), { allowed: false, code: 400 });
  const leaving = { ...job("x"), metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
  t.same(await ask(leaving), { allowed: true }, "its finalizer can still go");
});
