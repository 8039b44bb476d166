/** What is stored and would be refused today does not keep anybody from changing the rest of it: every kind of the list. */
import fc from "fast-check";
import t from "tap";
import { cloneJson, isJsonObject, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { defaulted, handlersOf, type ListedKind } from "../../../testkit/controller/kind_admission.ts";
import { gatedObjects, minimalObjects } from "../../../testkit/controller/minimal_objects.ts";
import { kinds } from "../../kinds.ts";
import type { AdmissionHandler, AdmissionResponse } from "./request.ts";

/** One whose spec nothing may change has nothing to be changed elsewhere; of those made by this program nobody asks for more. */
const withoutSpecs = new Set(["ContainerRecreateRequest", "NodePodProbe"]);
const tag = {
  tag: "1.20",
  createdAt: "2026-01-01T00:00:00Z",
  version: 1,
  pullPolicy: { ttlSecondsAfterFinished: 60, timeoutSeconds: 60, backoffLimit: 3 },
};
const nodeImage = { images: { nginx: { tags: [tag] } } };

function sampleOf({ resource: { kind, group, version } }: ListedKind): JsonObject {
  const known = [...minimalObjects, ...gatedObjects].find((sample) => sample.kind === kind);
  const [, served = version] = known?.resource.split(".") ?? [];
  const spec: object | undefined = kind === "NodeImage" ? nodeImage : known?.spec;
  if (spec === undefined)
    throw new Error(`there is no object of kind ${kind}: add one to minimal_objects.ts`);
  return {
    apiVersion: `${group}/${served}`,
    kind,
    metadata: { name: "sample" },
    spec: cloneJson({ ...spec }),
  };
}

type Leaf = { readonly holder: JsonObject | unknown[]; readonly key: string };

function leavesOf(value: unknown): Leaf[] {
  if (typeof value !== "object" || value === null) return [];
  const holder = isJsonObject(value) || Array.isArray(value) ? value : [];
  return Object.entries(value).flatMap(([key, inner]) => [{ holder, key }, ...leavesOf(inner)]);
}

/** Somewhere in the spec: a word, number or name that is none, or nothing at all. */
const mistake = fc.record({
  where: fc.nat(),
  word: fc.constantFrom("", "Not_A/Name!", "NoSuchWord", "-5%"),
  isMissing: fc.boolean(),
});
type Mistake = typeof mistake extends fc.Arbitrary<infer M> ? M : never;

function withMistake(object: JsonObject, { where, word, isMissing }: Mistake): JsonObject {
  const copy = cloneJson(object);
  const leaves = leavesOf(copy["spec"]);
  const { holder, key } = leaves[where % leaves.length] ?? { holder: [], key: "" };
  if (isMissing && isJsonObject(holder)) delete holder[key];
  else Object.assign(holder, { [key]: typeof Reflect.get(holder, key) === "number" ? -7 : word });
  return copy;
}

const answerTo = (handler: AdmissionHandler, object: JsonObject, oldObject?: JsonObject) =>
  handler(admissionRequest({ object, ...(oldObject === undefined ? {} : { oldObject }) }));
const wordsOf = (answer: AdmissionResponse) => (answer.allowed ? "" : answer.message);
/** Read with all that their schema demands: without that the API server itself takes no update. */
const strictlyRead = new Set(["EphemeralJob", "PodProbeMarker"]);

/** What has not the right type is refused before any rule is asked. */
const isMistyped = (kind: string, answer: AdmissionResponse) =>
  wordsOf(answer).includes("must be of type") ||
  (strictlyRead.has(kind) && /^\S+: Required value$/.test(wordsOf(answer)));

const refused = new Map<string, number>();
const added = new Map<string, number>();

for (const kind of kinds.filter(({ resource }) => !withoutSpecs.has(resource.kind))) {
  const { kind: name } = kind.resource;
  t.test(name, async (t) => {
    const sample = await defaulted(kind, sampleOf(kind));
    const labelled = (object: JsonObject) => ({
      ...object,
      metadata: { ...Object(object["metadata"]), labels: { more: "label" } },
    });
    for (const handler of handlersOf(kind, "validating")) {
      t.equal(wordsOf(await answerTo(handler, sample)), "");
      const property = fc.asyncProperty(mistake, mistake, async (one, other) => {
        const stored = withMistake(sample, one);
        const created = await answerTo(handler, stored);
        if (created.allowed || isMistyped(name, created)) return;
        refused.set(name, (refused.get(name) ?? 0) + 1);
        const complaint = wordsOf(await answerTo(handler, labelled(stored), stored));
        t.equal(complaint, "", `only what is new is refused, by \`ratcheted\`: ${JSON.stringify(one)}`);
        // Beside it another mistake is one all the same, where both can be told apart.
        const both = withMistake(withMistake(sample, other), one);
        const isTold = (answer: AdmissionResponse) =>
          wordsOf(answer).includes(`value: ${JSON.stringify(other.word)}: `);
        if (isTold(created) || !isTold(await answerTo(handler, both))) return;
        added.set(name, (added.get(name) ?? 0) + 1);
        t.ok(
          isTold(await answerTo(handler, both, stored)),
          `${JSON.stringify(other)} beside ${JSON.stringify(one)}`,
        );
      });
      await fc.assert(property, { numRuns: 300, seed: 23 });
    }
    if (handlersOf(kind, "validating").length > 0)
      t.ok((refused.get(name) ?? 0) > 5, `${refused.get(name)} refused`);
  });
}

t.test("mistakes beside each other", (t) => {
  t.ok([...added.values()].reduce((sum, count) => sum + count, 0) > 60);
  t.end();
});
