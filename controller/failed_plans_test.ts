import t from "tap";
import type { CloneSet } from "../crds/index.ts";
import { Cache, KubeError } from "../kube/index.ts";
import { cloneSetResource } from "./clone_set/resource.ts";
import { tellingFailedPlans } from "./failed_plans.ts";

function scene() {
  const objects = new Cache<CloneSet>(cloneSetResource.codec);
  const told: string[] = [];
  const recorder = {
    event: (target: { name: string }, type: string, reason: string, message: string) =>
      told.push(`${type} ${reason} ${target.name}: ${message}`),
  };
  let failure: Error | undefined;
  const kind = { resource: cloneSetResource };
  const reconcile = tellingFailedPlans(kind, { objects, recorder }, async () => {
    if (failure !== undefined) throw failure;
    return {};
  });
  return {
    told,
    store(generation: number) {
      const metadata = {
        name: "app",
        namespace: "d",
        uid: "u",
        generation,
        resourceVersion: `${generation}`,
      };
      const spec = { selector: {}, template: { spec: { containers: [] } } };
      objects.upsert({ apiVersion: "apps.kruise.io/v1beta1", kind: "CloneSet", metadata, spec });
    },
    async pass(error?: Error) {
      failure = error;
      return reconcile("d/app").then(
        () => "done",
        (thrown: Error) => thrown.message,
      );
    },
  };
}

t.test("an object that no plan can work with is told about once a generation", async (t) => {
  const { told, store, pass } = scene();
  store(1);
  const line = "Warning FailedReconcile app: CloneSet cannot be reconciled: no such number";
  t.equal(await pass(new Error("no such number")), "no such number", "and tried again");
  await pass(new Error("no such number"));
  t.same(told, [line]);
  store(2);
  await pass(new Error("no such number"));
  t.same(told, [line, line]);
  t.equal(await pass(), "done");
  await pass(new Error("no such number"));
  t.equal(told.length, 3, "after a success it is news again");
});

t.test("what the server refused is no matter of the object", async (t) => {
  const { told, store, pass } = scene();
  store(1);
  t.equal(await pass(new KubeError("Conflict", "was changed")), "was changed");
  t.same(told, []);
});
