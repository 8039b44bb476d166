/** What docs/adding-a-kind.md shows is run among the sources, as if it were written there. */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import t from "tap";
import { sourcesOnPage } from "../testkit/controller/page_kind.ts";

const root = new URL("../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), "utf8");
const sources = sourcesOnPage(read("docs/adding-a-kind.md"), read);
const byUrl = new Map([...sources].map(([path, source]) => [new URL(path, root).href, source]));

registerHooks({
  resolve(specifier, context, next) {
    const { href: url } = specifier.startsWith(".") ? new URL(specifier, context.parentURL) : { href: "" };
    return byUrl.has(url)
      ? { url, format: "module-typescript", shortCircuit: true }
      : next(specifier, context);
  },
  load(url, context, next) {
    const source = byUrl.get(url);
    return source === undefined
      ? next(url, context)
      : { source, format: "module-typescript", shortCircuit: true };
  },
});

const object = (spec: object, labels: object = {}) => ({
  apiVersion: "apps.kruise.io/v1alpha1",
  kind: "Greeting",
  metadata: { name: "hello", labels },
  spec,
});

t.test("the files of the page", async (t) => {
  t.strictSame([...sources.keys()].sort(), [
    "controller/kinds.ts",
    "controller/kinds/greeting/admit.ts",
    "controller/kinds/greeting/index.ts",
    "controller/kinds/greeting/plan.ts",
    "controller/kinds/greeting/reconcile.ts",
    "controller/plan/resources.ts",
    "crds/greeting/index.ts",
    "crds/greeting/schema.ts",
    "crds/greeting/validate.ts",
    "crds/index.ts",
    "crds/kinds.ts",
  ]);
});

t.test("its kind is served, and refuses of an update only what is new", async (t) => {
  const { kinds } = await import("./kinds.ts");
  const { kinds: definitions } = await import("../crds/index.ts");
  const { handlersOf } = await import("../testkit/controller/kind_admission.ts");
  const { admissionRequest } = await import("../testkit/controller/admission_builder.ts");
  t.ok(definitions.some(({ plural }) => plural === "greetings"));
  const kind = kinds.find(({ resource }) => resource.kind === "Greeting");
  const [validate, ...others] = kind === undefined ? [] : handlersOf(kind, "validating");
  t.same(others, []);
  t.match(await validate?.(admissionRequest({ object: object({ name: "you" }) })), { allowed: true });
  const nameless = object({});
  t.match(await validate?.(admissionRequest({ object: nameless })), { allowed: false });
  const labelled = admissionRequest({ object: object({}, { more: "label" }), oldObject: nameless });
  t.match(await validate?.(labelled), { allowed: true });
});

t.test("its reconciler says whom it greeted", async (t) => {
  const { mapKinds } = await import("./kinds.ts");
  const { kindDeps } = await import("../testkit/controller/kind_deps_builder.ts");
  const { fakeServer } = await import("../testkit/kube/fake_server.ts");
  const { testClock } = await import("../testkit/kube/fake_clock.ts");
  const passes = mapKinds(async ({ resource, reconciler }) => {
    if (resource.kind !== "Greeting") return [];
    const deps = kindDeps(resource, fakeServer().client, testClock());
    const stored = Buffer.from(JSON.stringify(object({ name: "you" })));
    const hello = resource.codec.decode(stored, "application/json");
    const result = await reconciler(deps).reconcile(hello, "default/hello");
    await deps.stop();
    return [result];
  });
  t.match((await Promise.all(passes)).flat(), [{ status: { message: "Hello, you" } }]);
});
