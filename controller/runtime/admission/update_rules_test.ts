/** What an update may change: random changes against a table. Spec: statefulset 6, jobs A6, uniteddeployment 6. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { cloneJson, isJsonObject, type JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { defaulted, handlersOf } from "../../../testkit/controller/kind_admission.ts";
import { kinds } from "../../kinds.ts";

/** A new value of one field: `spec/replicas`; a number is a place in a list. */
interface Change {
  readonly path: string;
  readonly value: unknown;
}

interface Rules {
  readonly kind: string;
  readonly spec: JsonObject;
  readonly may: readonly Change[];
  readonly mayNot: readonly Change[];
}

function isRules(value: unknown): value is Rules {
  return isJsonObject(value) && isJsonObject(value["spec"]) && Array.isArray(value["mayNot"]);
}

/** Written by hand, from the reference's rules. */
const file = new URL("testdata/update_rules.json", import.meta.url);
const listed: unknown = JSON.parse(readFileSync(file, "utf8"));
const tables = Array.isArray(listed) ? listed.filter(isRules) : [];

function changed(object: JsonObject, changes: readonly Change[]): JsonObject {
  const copy = cloneJson(object);
  for (const { path, value } of changes) {
    const steps = path.split("/");
    const last = steps.pop() ?? "";
    let holder: object = copy;
    for (const step of steps) {
      const inner: unknown = Reflect.get(holder, step);
      if (typeof inner !== "object" || inner === null) throw new Error(`${path}: no ${step}`);
      holder = inner;
    }
    Object.assign(holder, { [last]: value });
  }
  return copy;
}

t.equal(tables.length, 9);
for (const { kind: name, spec, may, mayNot } of tables) {
  const words = Object.keys(Object(spec["template"])).join();
  t.test(`${name} ${words}`, async (t) => {
    const kind = kinds.find(({ resource }) => resource.kind === name);
    if (kind === undefined) throw new Error(`no kind ${name}`);
    const { group, version } = kind.resource;
    const metadata = { name: "sample", namespace: "default" };
    const stored = await defaulted(kind, { apiVersion: `${group}/${version}`, kind: name, metadata, spec });
    const [handler] = handlersOf(kind, "validating");
    if (handler === undefined) throw new Error(`${name} has no validating webhook`);
    const answerTo = async (changes: readonly Change[]) => {
      const object = await defaulted(kind, changed(stored, changes), stored);
      return handler(admissionRequest({ object, oldObject: stored }));
    };
    for (const change of may) t.match(await answerTo([change]), { allowed: true }, change.path);
    for (const change of mayNot)
      t.match(await answerTo([change]), { allowed: false, code: 422 }, change.path);
    // What is whole takes the place of what is in it.
    const whole = ["spec/template", "spec/topology/subsets"];
    const apart = (changes: readonly Change[]) => changes.filter(({ path }) => !whole.includes(path));
    const some = fc.subarray(apart(may));
    const others = fc.subarray(apart(mayNot));
    await fc.assert(
      fc.asyncProperty(some, others, async (allowed, refused) => {
        const answer = await answerTo([...allowed, ...refused]);
        return answer.allowed === (refused.length === 0);
      }),
      { numRuns: 300, seed: 23 },
    );
  });
}
