import t from "tap";
import type { JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { handlerOf } from "../../../testkit/controller/kind_admission.ts";
import type {
  AdmissionOperation,
  AdmissionRequest,
  AdmissionResponse,
} from "../../runtime/admission/request.ts";
import { daemonSetWebhooks } from "./admit.ts";

const mutate = handlerOf(daemonSetWebhooks, "mutating");
const validate = handlerOf(daemonSetWebhooks, "validating");

function daemons(version: string, rollingUpdate: object, spec: object = {}): JsonObject {
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "DaemonSet",
    metadata: { name: "sample", namespace: "default" },
    spec: {
      selector: { matchLabels: { app: "a" } },
      updateStrategy: { type: "RollingUpdate", rollingUpdate },
      template: {
        metadata: { labels: { app: "a" } },
        spec: { containers: [{ name: "main", image: "nginx:1" }] },
      },
      ...spec,
    },
  };
}

function request(
  operation: AdmissionOperation,
  object: JsonObject | undefined,
  oldObject?: JsonObject,
): AdmissionRequest {
  return admissionRequest({ operation, object, oldObject });
}

const good = daemons("v1beta1", { maxUnavailable: 1 });
const bad = daemons("v1beta1", { maxUnavailable: 0 });

t.test("what is refused tells the operation by its code, as in the API", async (t) => {
  t.match(await validate(request("CREATE", good)), { allowed: true });
  t.match(await validate(request("CREATE", bad)), {
    allowed: false,
    code: 500,
    message:
      "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
  });
  t.match(await validate(request("UPDATE", bad, good)), { allowed: false, code: 422 });
  t.match(await validate(request("CREATE", undefined)), { allowed: false, code: 400 });
});

t.test("types are reported with 400", async (t) => {
  const malformed = daemons("v1beta1", { maxUnavailable: { a: 1 } });
  t.match(await validate(request("CREATE", malformed)), { allowed: false, code: 400 });
  t.match(await mutate(request("CREATE", malformed)), { allowed: false, code: 400 });
  const unknown = { ...good, apiVersion: "apps.kruise.io/v9" };
  t.match(await mutate(request("CREATE", unknown)), { allowed: false, code: 400 });
});

t.test("a stored object that cannot be decoded may be put right", async (t) => {
  const broken = daemons("v1beta1", { maxUnavailable: { a: 1 } });
  t.match(await validate(request("UPDATE", good, broken)), { allowed: true });
});

t.test("Surging is rewritten in v1alpha1 only", async (t) => {
  const patched = await mutate(request("CREATE", daemons("v1alpha1", { rollingUpdateType: "Surging" })));
  const values = Object.fromEntries(operationsOf(patched).map(({ path, value }) => [path, value]));
  t.match(values, {
    "/spec/updateStrategy/rollingUpdate/rollingUpdateType": "Standard",
    "/spec/updateStrategy/rollingUpdate/maxSurge": 1,
    "/spec/updateStrategy/rollingUpdate/maxUnavailable": 0,
  });
  const kept = await mutate(request("CREATE", daemons("v1beta1", { rollingUpdateType: "Surging" })));
  t.notOk(operationsOf(kept).some(({ path }) => path.endsWith("/rollingUpdateType")));
});

function operationsOf(response: AdmissionResponse): { path: string; value?: unknown }[] {
  if (!response.allowed) throw new Error(response.message);
  return [...(response.patch ?? [])];
}
