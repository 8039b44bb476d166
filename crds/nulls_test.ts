import t from "tap";
import { withoutNulls } from "./nulls.ts";

const set = (spec: object) => ({
  apiVersion: "apps.kruise.io/v1alpha1",
  kind: "DaemonSet",
  metadata: { name: "a", creationTimestamp: null },
  spec,
});

t.test("null members that the schema declares are dropped at every depth", async (t) => {
  const spec = {
    minReadySeconds: null,
    updateStrategy: { rollingUpdate: { partition: null, selector: null, maxUnavailable: 1 } },
  };
  t.same(withoutNulls(set(spec)), set({ updateStrategy: { rollingUpdate: { maxUnavailable: 1 } } }));
});

t.test("those of list items and map entries are, too", async (t) => {
  const image = (tag: object) => ({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "NodeImage",
    metadata: { name: "a" },
    spec: { images: { ubuntu: { sandboxConfig: null, tags: [tag] } } },
  });
  t.same(withoutNulls(image({ tag: "a", createdAt: null })).spec, {
    images: { ubuntu: { tags: [{ tag: "a" }] } },
  });
});

t.test("what the schema leaves open stays", async (t) => {
  const object = set({
    template: { metadata: { creationTimestamp: null }, spec: { containers: null } },
    selector: { matchLabels: { a: null } },
  });
  t.equal(withoutNulls(object), object);
});

t.test("objects of other kinds and versions are left alone", async (t) => {
  for (const object of [
    { apiVersion: "v1", kind: "Pod", spec: null },
    { apiVersion: "apps.kruise.io/v2", kind: "DaemonSet", spec: null },
    { kind: "DaemonSet", spec: null },
  ]) {
    t.equal(withoutNulls(object), object);
  }
});
