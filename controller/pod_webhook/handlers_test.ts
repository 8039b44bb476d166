import t from "tap";
import { nullLog, nullMetrics, seededRandom } from "../../kube/index.ts";
import { admissionRequest } from "../../testkit/controller/admission_builder.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { fakeServer } from "../../testkit/kube/fake_server.ts";
import { controllers } from "../kinds.ts";
import { writersOf } from "../plan/owners.ts";
import type { PodAdmission, PodAdmissionDeps } from "../runtime/admission/pod_admission.ts";
import { type AdmissionHandler, allowed, denied } from "../runtime/admission/request.ts";
import { parseFeatureGates } from "../runtime/feature_gates.ts";
import { SharedInformers } from "../runtime/informers.ts";
import { controllerOptions } from "../runtime/options.ts";
import { podHandlers } from "./handlers.ts";

function depsOf(gates: string): PodAdmissionDeps {
  const parts = { client: fakeServer().client, clock: testClock(), random: seededRandom(1) };
  const shared = new SharedInformers({ ...parts, log: nullLog, metrics: nullMetrics, namespace: "" });
  return {
    ...parts,
    writesFor: writersOf(parts.client),
    options: controllerOptions({ gates: parseFeatureGates(gates) }),
    informers: {
      cacheOf: (resource, indexes) => shared.cacheOf(resource, indexes),
      caughtUp: async () => undefined,
    },
    recorderOf: () => ({ event: () => undefined }),
    refused: () => undefined,
  };
}

function handlersOf(admissions: readonly PodAdmission[], gates = "") {
  const took: string[] = [];
  const handlers = podHandlers(admissions, { ...depsOf(gates), stepTook: (step) => took.push(step) });
  return { ...handlers, took };
}

const listed = controllers.flatMap(({ podAdmission }) => podAdmission ?? []);
const creation = admissionRequest({ object: { metadata: { name: "p" }, spec: { containers: [] } } });

t.test("a new pod goes through the steps of all controllers in this order", async (t) => {
  const names = [
    "readiness gate",
    "workload spread",
    "field managers",
    "sidecar sets",
    "container launch priority",
    "pod unavailable budget",
    "persistent pod state",
    "enhanced liveness probe",
    "pod probe marker",
  ];
  for (const gates of ["AllAlpha=true,AllBeta=true", ""]) {
    const { mutate, took } = handlersOf(listed.toReversed(), gates);
    t.match(await mutate?.(creation), { allowed: true });
    t.same(took, names, "also those that the gates leave nothing to do");
  }
  t.equal(new Set(listed.map(({ step }) => step?.place)).size, listed.length, "one step a place");
});

t.test("without gate PodWebhook no step is made, and guards are asked", async (t) => {
  const made: string[] = [];
  const admission: PodAdmission = {
    step: { place: "sidecars", name: "s" },
    guard: { place: "decision", ties: [] },
    start: () => ({
      mutation: () => {
        made.push("step");
        return undefined;
      },
      guard: () => denied(403, "no"),
    }),
  };
  const { mutate, guard } = handlersOf([admission], "PodWebhook=false");
  t.equal(mutate, undefined);
  t.same(made, []);
  t.match(await guard?.(creation), { allowed: false });
});

t.test("guards are asked in their order until one refuses", async (t) => {
  const asked: string[] = [];
  const guarding = (place: "record" | "decision", answer: AdmissionHandler): PodAdmission => ({
    guard: { place, ties: [] },
    start: () => ({
      guard: (request) => {
        asked.push(place);
        return answer(request);
      },
    }),
  });
  const decision = guarding("decision", () => denied(429, "wait"));
  const passing = handlersOf([decision, guarding("record", () => allowed)]);
  t.match(await passing.guard?.(creation), { code: 429, message: "wait" });
  t.same(asked.splice(0), ["record", "decision"]);
  const failing = handlersOf([decision, guarding("record", () => denied(400, "not recorded"))]);
  t.match(await failing.guard?.(creation), { code: 400 });
  t.same(asked.splice(0), ["record"]);
  const alone = handlersOf([guarding("record", () => allowed)]);
  t.strictSame(await alone.guard?.(creation), allowed);
  t.equal(handlersOf([{ start: () => ({}) }]).guard, undefined);
});

t.test("the gates say who guards pods, and who has steps that do something", async (t) => {
  const off = [
    "PodUnavailableBudgetDeleteGate=false",
    "PodUnavailableBudgetUpdateGate=false",
    "WorkloadSpread=false",
    "EnablePodProbeMarkerOnServerless=false",
  ].join(",");
  const atWork = (gates: string) => {
    const started = listed.map(({ step, start }) => ({ name: step?.name, ...start(depsOf(gates)) }));
    const named = (found: typeof started) => found.map(({ name }) => name).sort();
    return {
      steps: named(started.filter(({ mutation }) => mutation?.() !== undefined)),
      guards: named(started.filter(({ guard }) => guard !== undefined)),
      disruptions: controllers.filter((one) => one.disruptionGuard?.(depsOf(gates)) !== undefined).length,
    };
  };
  const always = ["container launch priority", "persistent pod state", "sidecar sets"];
  t.same(atWork(off), { steps: always, guards: [], disruptions: 0 });
  t.same(atWork("AllAlpha=true,AllBeta=true"), {
    steps: [...always, "pod probe marker", "pod unavailable budget", "workload spread"].sort(),
    guards: ["pod unavailable budget", "workload spread"],
    disruptions: 1,
  });
});
