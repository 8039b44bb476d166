import fc from "fast-check";
import { test } from "tap";
import { revisedSidecars, revisedSpecOf } from "./revision_data.ts";

const side = { name: "side", image: "busybox:1.32" };

test("data has all five members, null where there is nothing", async (t) => {
  t.equal(
    revisedSidecars.data({ containers: [side], volumes: [] }),
    '{"spec":{"$patch":"replace","containers":[{"image":"busybox:1.32","name":"side","resources":{},' +
      '"shareVolumePolicy":{},"upgradeStrategy":{}}],"imagePullSecrets":null,"initContainers":null,' +
      '"patchPodMetadata":null,"volumes":null}}',
  );
  t.equal(
    revisedSidecars.data({
      imagePullSecrets: [{ name: "key" }],
      initContainers: [{ ...side, restartPolicy: "Always" }],
      patchPodMetadata: [{ annotations: { a: "1" }, patchPolicy: "Retain" }],
      volumes: [{ name: "logs", emptyDir: {} }],
    }),
    '{"spec":{"$patch":"replace","containers":null,"imagePullSecrets":[{"name":"key"}],"initContainers":[{' +
      '"image":"busybox:1.32","name":"side","resources":{},"restartPolicy":"Always","shareVolumePolicy":{},' +
      '"upgradeStrategy":{}}],"patchPodMetadata":[{"annotations":{"a":"1"},"patchPolicy":"Retain"}],' +
      '"volumes":[{"emptyDir":{},"name":"logs"}]}}',
  );
});

test("what is read of data leads to the same data", async (t) => {
  const name = fc.stringMatching(/^[a-z]{1,8}$/);
  const sidecar = fc.record({ name, image: name });
  const spec = fc.record(
    {
      containers: fc.array(sidecar),
      initContainers: fc.array(sidecar),
      imagePullSecrets: fc.array(fc.record({ name })),
      volumes: fc.array(fc.record({ name, emptyDir: fc.constant({}) })),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(spec, (spec) => {
      const data = revisedSidecars.data(spec);
      const read = revisedSpecOf(data);
      return read !== undefined && revisedSidecars.data(read) === data;
    }),
    { seed: 1, numRuns: 1000 },
  );
  t.pass();
});

test("data of another form holds nothing", async (t) => {
  for (const data of ["", "{", "[]", '{"spec":1}', '{"spec":{"containers":{}}}', '{"spec":{"volumes":[1]}}'])
    t.equal(revisedSpecOf(data), undefined, data);
  t.match(revisedSpecOf('{"spec":{"$patch":"replace"}}'), {});
});
