/**
 * Random requests about random pods against a plain reading of which pass, which shares no code with the guard.
 * Spec: protection A2 (conversion 4), A4, rules 11 to 21.
 */
import fc from "fast-check";
import t from "tap";
import type { JsonObject } from "../../../kube/core/index.ts";
import { seededRandom } from "../../../kube/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { fakeServer, type StoredObject } from "../../../testkit/kube/fake_server.ts";
import { writersOf } from "../../plan/owners.ts";
import { parseFeatureGates } from "../../runtime/feature_gates.ts";
import { controllerOptions } from "../../runtime/options.ts";
import { guardPods } from "./guard.ts";

const budgets = "podunavailablebudgets.policy.kruise.io";

/** Of a container, by name: what QoS it makes of a pod that has it alone. */
const resources: Readonly<Record<string, { qos: string; amounts: object }>> = {
  none: { qos: "BestEffort", amounts: {} },
  one: { qos: "Burstable", amounts: { requests: { cpu: "1" } } },
  two: { qos: "Burstable", amounts: { requests: { cpu: "2" } } },
  memory: { qos: "Burstable", amounts: { requests: { cpu: "1", memory: "1Gi" } } },
  disk: { qos: "Burstable", amounts: { requests: { cpu: "1", "ephemeral-storage": "1Gi" } } },
  full: {
    qos: "Guaranteed",
    amounts: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1", memory: "1Gi" } },
  },
  more: {
    qos: "Guaranteed",
    amounts: { limits: { cpu: "1", memory: "2Gi" }, requests: { cpu: "1", memory: "2Gi" } },
  },
};
/** Between two of them, the resources that differ. */
const differing: Readonly<Record<string, readonly string[]>> = {
  "one two": ["cpu"],
  "one memory": ["memory"],
  "one disk": ["ephemeral-storage"],
  "two memory": ["cpu", "memory"],
  "two disk": ["cpu", "ephemeral-storage"],
  "memory disk": ["memory", "ephemeral-storage"],
  "full more": ["memory"],
};
const restartOf = { resourceName: "memory", restartPolicy: "RestartContainer" };

/** So that most requests get as far as the budget. */
const mostly = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 9, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );

const words = fc.constantFrom(...Object.keys(resources));
const pod = fc.record({
  tie: fc.constantFrom("new", "new", "old", "both", "none", "gone"),
  noProtect: mostly<string | undefined>(undefined, "true", "T", "1", "yes", "false", ""),
  ready: mostly("True", "False", "Unknown"),
  phase: mostly("Running", "Pending", "Succeeded"),
  terminating: mostly(false, true),
  label: mostly("", "unavailable-pod.kruise.io/a", "free"),
  static: mostly(false, true),
  resizePolicy: fc.constantFrom([], [], [restartOf], [{ ...restartOf, restartPolicy: "NotRequired" }]),
  resources: words,
});
const change = fc.record({
  label: fc.constantFrom("", "", "unavailable-pod.kruise.io/b", "other"),
  image: fc.constantFrom("app:1", "app:1", "app:2"),
  resources: fc.option(words, { nil: undefined }),
  isUntied: mostly(false, true),
});
const budget = fc.record({
  isThere: mostly(true, false),
  deleting: mostly(false, true),
  allowed: fc.constantFrom(0, 1, 1, 2, -1),
  desired: mostly(3, 0),
  listed: fc.constantFrom<string[] | undefined>(
    undefined,
    undefined,
    [],
    ["DELETE"],
    ["EVICT", "UPDATE"],
    ["RESIZE"],
  ),
  annotated: mostly<string | undefined>(undefined, "", "EVICT, UPDATE", "DELETE,", " , "),
  ignores: mostly(false, true),
  recorded: mostly("", "disruptedPods", "unavailablePods"),
  others: mostly(0, 1999, 2000, 2001),
});
const asked = fc.record({
  operation: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom("DELETE", "EVICT", "UPDATE", "UPDATE") },
    { weight: 1, arbitrary: fc.constantFrom("status", "resize", "ephemeralcontainers") },
  ),
  dryRun: fc.constantFrom("", "", "request", "body"),
  deletes: mostly(true, false),
  updates: mostly(true, false),
  resizeApart: fc.boolean(),
  // Every object inherits a member of the latter name.
  name: mostly("web-0", "constructor"),
});

type Of<A> = A extends fc.Arbitrary<infer G> ? G : never;
type GivenPod = Of<typeof pod>;
type Change = Of<typeof change>;
type Budget = Of<typeof budget>;
type Asked = Of<typeof asked>;

const labelsOf = ({ label }: GivenPod) => (label === "" ? {} : { [label]: "x" });

function podObject(given: GivenPod, name: string): StoredObject {
  const annotations: Record<string, string> = {};
  const { tie } = given;
  if (tie === "new" || tie === "both") annotations["pub.kruise.io/related-pub"] = "three";
  if (tie === "gone") annotations["pub.kruise.io/related-pub"] = "gone";
  if (tie === "old") annotations["kruise.io/related-pub"] = "three";
  if (tie === "both") annotations["kruise.io/related-pub"] = "other";
  if (given.noProtect !== undefined) annotations["pub.kruise.io/no-protect"] = given.noProtect;
  if (given.static) annotations["kubernetes.io/config.source"] = "file";
  const { amounts } = resources[given.resources] ?? { amounts: {} };
  const { resizePolicy } = given;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "default",
      uid: "p",
      resourceVersion: "1",
      labels: labelsOf(given),
      annotations,
      ...(given.terminating ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: { containers: [{ name: "main", image: "app:1", resources: amounts, resizePolicy }] },
    status: { phase: given.phase, conditions: [{ type: "Ready", status: given.ready }] },
  };
}

function changed(before: JsonObject, { label, image, resources: wanted, isUntied }: Change): JsonObject {
  const after = structuredClone(before);
  const { metadata, spec } = Object(after);
  if (label !== "") metadata.labels[label] = "y";
  if (isUntied) metadata.annotations = {};
  spec.containers[0].image = image;
  if (wanted !== undefined) spec.containers[0].resources = resources[wanted]?.amounts;
  return after;
}

function budgetObject(given: Budget, podName: string): StoredObject {
  const at = "2026-01-01T00:00:00Z";
  const disrupted = Object.fromEntries(Array.from({ length: given.others }, (_, index) => [`p${index}`, at]));
  const status: JsonObject = {
    observedGeneration: 1,
    unavailableAllowed: given.allowed,
    currentAvailable: given.desired + given.allowed,
    desiredAvailable: given.desired,
    totalReplicas: 4,
    disruptedPods: disrupted,
    unavailablePods: {},
  };
  if (given.recorded !== "") Object(status[given.recorded])[podName] = at;
  return {
    apiVersion: "policy.kruise.io/v1beta1",
    kind: "PodUnavailableBudget",
    metadata: {
      name: "three",
      namespace: "default",
      uid: "u",
      generation: 1,
      resourceVersion: "1",
      ...(given.deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
      annotations:
        given.annotated === undefined ? {} : { "kruise.io/pub-protect-operations": given.annotated },
    },
    spec: {
      maxUnavailable: 1,
      ...(given.listed === undefined ? {} : { protectOperations: given.listed }),
      ...(given.ignores ? { ignoredPodSelector: { matchLabels: { free: "x" } } } : {}),
    },
    status,
  };
}

type Expected = { code: 0 } | { code: 0; record: string } | { code: 403 | 429; words: RegExp };
const pass: Expected = { code: 0 };

/** Rule 20; undefined where nothing is asked about (rule 12d). */
function updateKind(before: GivenPod, after: Change): "UPDATE" | "RESIZE" | undefined {
  const isAvailable = !before.label.startsWith("unavailable-pod");
  if (isAvailable && after.label.startsWith("unavailable-pod")) return "UPDATE";
  const wanted = after.resources ?? before.resources;
  if (after.image === "app:1" && wanted === before.resources) return undefined;
  if (after.image !== "app:1" || before.static) return "UPDATE";
  const [old, next] = [resources[before.resources], resources[wanted]];
  if (old?.qos !== next?.qos) return "UPDATE";
  const pair = [before.resources, wanted];
  const differ = differing[pair.join(" ")] ?? differing[pair.toReversed().join(" ")] ?? ["other"];
  const restarts = before.resizePolicy.some(({ restartPolicy }) => restartPolicy === "RestartContainer");
  const inPlace = (name: string) => name === "cpu" || (name === "memory" && !restarts);
  return differ.every(inPlace) ? "RESIZE" : "UPDATE";
}

/** Rules 12 and 14, in their order. */
function expected(of: GivenPod, after: Change, rule: Budget, how: Asked): Expected {
  if (!["DELETE", "EVICT", "UPDATE"].includes(how.operation)) return pass;
  const operation = how.operation === "UPDATE" ? updateKind(of, after) : how.operation;
  if (operation === undefined) return pass;
  if (operation === "DELETE" || operation === "EVICT" ? !how.deletes : !how.updates) return pass;
  if (of.tie === "none" || of.tie === "gone") return pass;
  if (["1", "t", "T", "TRUE", "true", "True"].includes(of.noProtect ?? "")) return pass;
  const isReady = of.phase === "Running" && of.ready === "True" && !of.terminating;
  if (!isReady || of.label.startsWith("unavailable-pod")) return pass;
  // Rule 30: its deletion lifts the protection at once.
  if (!rule.isThere || rule.deleting) return pass;
  if (rule.ignores && of.label === "free") return pass;
  if (rule.desired === 0) return pass;
  const annotated = (rule.annotated ?? "").split(",").map((item) => item.trim());
  const lists: string[][] = [rule.listed ?? [], annotated.filter((item) => item !== "")];
  const named = lists.find(({ length }) => length > 0);
  const operations = named ?? ["DELETE", "UPDATE", "EVICT"];
  const isProtected =
    operation === "RESIZE"
      ? operations.includes("RESIZE") || (!how.resizeApart && operations.includes("UPDATE"))
      : operations.includes(operation);
  if (!isProtected || rule.recorded !== "") return pass;
  const code = operation === "EVICT" ? 429 : 403;
  const forbidden = 'podunavailablebudget.policy.kruise.io "three" is forbidden: ';
  if (rule.allowed <= 0) return { code, words: RegExp(`^${forbidden}pub unavailable allowed is negative$`) };
  if (rule.others > 2000)
    return { code, words: RegExp(`^${forbidden}DisruptedPods and UnavailablePods map`) };
  if (how.dryRun === "request" || (how.dryRun === "body" && operation === "EVICT")) return pass;
  return { code: 0, record: operation === "UPDATE" ? "unavailablePods" : "disruptedPods" };
}

t.test("property: what passes, what is spent and what is refused are as the rules have them", async (t) => {
  const met: Record<string, number> = {};
  const property = fc.asyncProperty(pod, change, budget, asked, async (of, after, rule, how) => {
    const server = fakeServer();
    const before = podObject(of, how.name);
    server.put("pods", before);
    if (rule.isThere) server.put(budgets, budgetObject(rule, how.name));
    const { client } = server;
    const gates = [
      `PodUnavailableBudgetDeleteGate=${how.deletes}`,
      `PodUnavailableBudgetUpdateGate=${how.updates}`,
      `InPlacePodVerticalScaling=${how.resizeApart}`,
    ];
    const handler = guardPods({
      client,
      writesFor: writersOf(client),
      clock: testClock(),
      random: seededRandom(1),
      options: controllerOptions({ gates: parseFeatureGates(gates.join()) }),
      recorderOf: () => ({ event: () => undefined }),
      refused: () => undefined,
    });
    const { operation } = how;
    const next = changed(before, after);
    const dryRun = how.dryRun === "request";
    const options = how.dryRun === "body" ? { deleteOptions: { dryRun: ["All"] } } : {};
    const request =
      operation === "DELETE"
        ? admissionRequest({ oldObject: before, dryRun })
        : operation === "EVICT"
          ? admissionRequest({
              object: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: how.name }, ...options },
              resource: "pods",
              subresource: "eviction",
              dryRun,
            })
          : admissionRequest({
              object: next,
              oldObject: before,
              subresource: operation === "UPDATE" ? "" : operation,
              dryRun,
            });
    const answer = await handler(request);
    const want = expected(of, after, rule, how);
    const written = server.writes.length;
    const status = rule.isThere ? Object(server.object(budgets, "default/three"))["status"] : {};
    const where = JSON.stringify({ of, after, rule, how, want, answer });
    if (want.code !== 0) {
      met[want.code] = (met[want.code] ?? 0) + 1;
      const isRefused = !answer.allowed && answer.code === want.code && want.words.test(answer.message);
      if (!isRefused || written > 0) throw new Error(where);
    } else if ("record" in want) {
      met[want.record] = (met[want.record] ?? 0) + 1;
      const isSpent =
        Object.hasOwn(status[want.record], how.name) && status.unavailableAllowed === rule.allowed - 1;
      if (!answer.allowed || written !== 1 || !isSpent) throw new Error(where);
    } else if (!answer.allowed || written > 0) throw new Error(where);
  });
  await t.resolves(fc.assert(property, { seed: 31, numRuns: 3_000 }));
  t.ok(
    ["403", "429", "disruptedPods", "unavailablePods"].every((key) => (met[key] ?? 0) > 20),
    JSON.stringify(met),
  );
});
