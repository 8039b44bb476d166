import t from "tap";
import type { PersistentPodState } from "../../../crds/index.ts";
import { applyMergePatch, isJsonObject } from "../../../kube/core/index.ts";
import { asksForState, generationChanged, planGeneration, type Workload } from "./generate.ts";

const asked = {
  "kruise.io/auto-generate-persistent-pod-state": "true",
  "kruise.io/required-persistent-topology": "kubernetes.io/os",
  "kruise.io/preferred-persistent-topology": "kubernetes.io/hostname,zone",
  "kruise.io/persistent-pod-annotations": "ip",
};

function workload(annotations: Record<string, string> = asked, uid = "u1"): Workload {
  const metadata = { name: "web", namespace: "default", uid, annotations };
  return { apiVersion: "apps.kruise.io/v1beta1", kind: "StatefulSet", metadata };
}

/** The object that a creation leads to. */
function made(from = workload(), spec: object = {}): PersistentPodState {
  const generation = planGeneration(from, undefined);
  if (generation.type !== "create object") throw new Error(generation.type);
  const body = { ...generation.body } as PersistentPodState;
  const metadata = { name: "web", namespace: "default", ...body.metadata };
  return { metadata, spec: { ...body.spec, ...spec } };
}

t.test("an object is made of the annotations", async (t) => {
  t.same(made(), {
    metadata: {
      name: "web",
      namespace: "default",
      ownerReferences: [
        {
          apiVersion: "apps.kruise.io/v1beta1",
          kind: "StatefulSet",
          name: "web",
          uid: "u1",
          controller: true,
        },
      ],
    },
    spec: {
      targetRef: { apiVersion: "apps.kruise.io/v1beta1", kind: "StatefulSet", name: "web" },
      requiredPersistentTopology: { keys: ["kubernetes.io/os"] },
      preferredPersistentTopology: [
        { weight: 100, preference: { keys: ["kubernetes.io/hostname", "zone"] } },
      ],
      persistentPodAnnotations: [{ key: "ip" }],
    },
  });
});

t.test("blanks and empty parts of a list are no keys", async (t) => {
  const { spec } = made(workload({ ...asked, "kruise.io/required-persistent-topology": " a, ,b," }));
  t.same(spec.requiredPersistentTopology, { keys: ["a", "b"] });
});

t.test("nothing happens without a topology, whether there is an object or not", async (t) => {
  const none = workload({ "kruise.io/auto-generate-persistent-pod-state": "true" });
  t.equal(planGeneration(none, undefined).type, "nothing");
  t.equal(planGeneration(none, made()).type, "nothing");
  t.equal(asksForState(none.metadata.annotations), false);
  t.equal(asksForState(asked), true);
  t.equal(asksForState(undefined), false);
});

t.test("without the switch the generated object goes, and only that", async (t) => {
  for (const value of ["false", "True"]) {
    const off = workload({ ...asked, "kruise.io/auto-generate-persistent-pod-state": value });
    t.same(planGeneration(off, made()), { type: "delete object" });
    t.equal(planGeneration(off, undefined).type, "nothing");
    const { ownerReferences: _, ...metadata } = made().metadata;
    t.same(planGeneration(off, { ...made(), metadata }), { type: "nothing", why: "not ours" });
  }
});

t.test("a changed annotation rewrites the spec and keeps the user's retention policy", async (t) => {
  const { "kruise.io/required-persistent-topology": _, ...fewer } = asked;
  const present = made(workload(), { persistentPodStateRetentionPolicy: "WhenDeleted" });
  t.same(planGeneration(workload(), present), { type: "nothing", why: "up to date" });
  const generation = planGeneration(workload(fewer), present);
  const patch = generation.type === "patch object" ? generation.body.spec : undefined;
  if (!isJsonObject(patch)) throw new Error(generation.type);
  const spec = applyMergePatch({ ...present.spec }, patch);
  t.same(spec, {
    targetRef: present.spec.targetRef,
    preferredPersistentTopology: present.spec.preferredPersistentTopology,
    persistentPodAnnotations: [{ key: "ip" }],
    persistentPodStateRetentionPolicy: "WhenDeleted",
  });
});

t.test("another version in the reference is the same workload", async (t) => {
  const targetRef = { apiVersion: "apps.kruise.io/v1alpha1", kind: "StatefulSet", name: "web" };
  t.same(planGeneration(workload(), made(workload(), { targetRef })), { type: "nothing", why: "up to date" });
});

t.test("an object of an earlier workload of this name is waited for", async (t) => {
  t.same(planGeneration(workload(asked, "u2"), made()), { type: "wait" });
});

t.test("an object that somebody wrote is not overwritten", async (t) => {
  const { ownerReferences: _, ...metadata } = made().metadata;
  t.same(planGeneration(workload(), { ...made(), metadata }), { type: "nothing", why: "not ours" });
});

t.test("only these annotations matter", async (t) => {
  t.equal(generationChanged({ ...asked, other: "1" }, { ...asked, other: "2" }), false);
  for (const name of Object.keys(asked))
    t.equal(generationChanged(asked, { ...asked, [name]: "x" }), true, name);
});
