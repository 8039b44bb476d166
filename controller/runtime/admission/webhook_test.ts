import t from "tap";
import { cloneSet } from "../../../crds/index.ts";
import { nullLog, nullMetrics, seededRandom } from "../../../kube/index.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { controllers } from "../../kinds.ts";
import { writersOf } from "../../plan/owners.ts";
import { podHandlers } from "../../pod_webhook/handlers.ts";
import { admissionWebhooks } from "../../start_admission.ts";
import { parseFeatureGates } from "../feature_gates.ts";
import { SharedInformers } from "../informers.ts";
import { controllerOptions } from "../options.ts";
import { allowed } from "./request.ts";
import { handlersByPath, kindWebhook, type WebhookDeps } from "./webhook.ts";

function deps(gates = ""): WebhookDeps {
  const parts = { client: fakeServer().client, clock: testClock(), random: seededRandom(1) };
  const shared = {
    ...parts,
    writesFor: writersOf(parts.client),
    options: controllerOptions({ gates: parseFeatureGates(gates) }),
    informers: new SharedInformers({ ...parts, log: nullLog, metrics: nullMetrics, namespace: "" }),
    recorderOf: () => ({ event: () => undefined }),
    refused: () => undefined,
  };
  const admissions = controllers.flatMap(({ podAdmission }) => podAdmission ?? []);
  return {
    ...shared,
    settings: { namespace: "kruise-system" },
    allowPrivileged: true,
    pods: podHandlers(admissions, { ...shared, stepTook: () => undefined }),
    reported: (_, handler) => handler,
  };
}

t.test("a kind's webhook, from its definition", async (t) => {
  const webhook = kindWebhook("validating", cloneSet, { handler: () => () => allowed });
  t.match(webhook, {
    name: "vcloneset.kb.io",
    path: "/validate-apps-kruise-io-cloneset",
    rules: [{ apiVersions: ["v1alpha1", "v1beta1"], operations: ["CREATE", "UPDATE"] }],
    failurePolicy: "Fail",
  });
  t.strictSame(
    [...handlersByPath([webhook], deps()).keys()],
    ["/validate-apps-kruise-io-cloneset", "/validate-apps-kruise-io-v1alpha1-cloneset"],
  );
});

t.test("what the gates leave out is not served", async (t) => {
  const served = (gates: string) => [...handlersByPath(admissionWebhooks, deps(gates)).keys()];
  t.ok(served("").includes("/mutate-pod"));
  t.notOk(served("PodWebhook=false").includes("/mutate-pod"));
  const noGuards =
    "PodUnavailableBudgetDeleteGate=false,PodUnavailableBudgetUpdateGate=false,WorkloadSpread=false";
  t.ok(served("").includes("/validate-pod"));
  t.notOk(served(noGuards).includes("/validate-pod"));
  t.notOk(served("").includes("/validate-service"));
  t.ok(served("ResourcesDeletionProtection=true").includes("/validate-service"));
});

t.test("names, which configurations are merged by, are each taken once", async (t) => {
  const names = admissionWebhooks.map(({ name }) => name);
  t.equal(new Set(names).size, names.length);
});
