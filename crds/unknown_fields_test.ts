import fc from "fast-check";
import t from "tap";
import { isJsonObject, type JsonObject } from "../kube/core/index.ts";
import { cloneSet, kinds, sidecarSet, unknownFields } from "./index.ts";

const container = { name: "web", image: "nginx:1", ports: [{ containerPort: 80 }] };
const manifest = {
  apiVersion: "apps.kruise.io/v1beta1",
  kind: "CloneSet",
  metadata: { name: "web", labels: { any: "key" } },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "20%", partition: 1 } },
    template: { metadata: { annotations: { any: "key" } }, spec: { containers: [container] } },
    volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }],
  },
};
/** Any key may stand there. */
const maps: ReadonlySet<string> = new Set(["labels", "annotations", "matchLabels"]);

/** Every object of a value whose members are fields, with its path. */
function structs(value: unknown, path: string): { path: string; object: JsonObject }[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => structs(item, `${path}[${index}]`));
  if (!isJsonObject(value)) return [];
  const below = Object.entries(value).filter(([name]) => !maps.has(name));
  return [
    { path, object: value },
    ...below.flatMap(([name, member]) => structs(member, path === "" ? name : `${path}.${name}`)),
  ];
}

t.test("a field that no kind has is found wherever it stands, and nothing else is", async (t) => {
  t.same(unknownFields(cloneSet, manifest), []);
  const count = structs(manifest, "").length;
  fc.assert(
    fc.property(fc.nat(count - 1), fc.constantFrom("replica", "imagee", "x"), (at, name) => {
      const copy: JsonObject = structuredClone(manifest);
      const place = structs(copy, "")[at];
      if (place === undefined) return false;
      place.object[name] = { deep: [1] };
      const paths = unknownFields(cloneSet, copy).map((found) => found.path);
      return paths.length === 1 && paths[0] === (place.path === "" ? name : `${place.path}.${name}`);
    }),
    { seed: 15, numRuns: 500 },
  );
});

t.test("containers of a SidecarSet have fields of their own", async (t) => {
  const sidecar = { ...container, podInjectPolicy: "BeforeAppContainer", podInjectPolice: "" };
  const object = {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "SidecarSet",
    metadata: { name: "proxy" },
    spec: { containers: [sidecar] },
  };
  const [found, ...more] = unknownFields(sidecarSet, object);
  t.equal(found?.path, "spec.containers[0].podInjectPolice");
  t.same(more, []);
});

t.test("odd values are left to the checks of types", async (t) => {
  const odd = fc.oneof(fc.constant(null), fc.jsonValue());
  const look = fc.property(fc.constantFrom(...kinds), odd, odd, (kind, metadata, spec) => {
    const apiVersion = `${kind.group}/${kind.versions[0]?.name}`;
    unknownFields(kind, { apiVersion, kind: kind.kind, metadata, spec });
  });
  t.doesNotThrow(() => fc.assert(look, { seed: 15, numRuns: 1000 }));
});
