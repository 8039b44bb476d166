/** Hashes of SidecarSets: the reference's vector, what enters them and what does not. Spec: sidecarset, rules 24 to 26. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import t from "tap";
import { safeEncode } from "../../kube/core/index.ts";
import { sidecarSetHashes } from "./hash.ts";
import type { SidecarContainer } from "./schema.ts";

const hashOf = (text: string) => safeEncode(createHash("sha256").update(text).digest("hex"));
const main: SidecarContainer = { name: "container1", image: "test-image" };

t.test("the reference's vector", (t) => {
  const { hash, hashWithoutImage } = sidecarSetHashes({ containers: [main] });
  t.equal(hash, "w26c4x8fz245642fdv499b464248f974xddx4x55z5dw55bc6x66464fxz77dc78");
  const bare = '{"name":"container1","resources":{},"upgradeStrategy":{},"shareVolumePolicy":{}}';
  t.equal(hashWithoutImage, hashOf(`{"containers":[${bare}]}`));
  t.end();
});

t.test("members stand in the order of their types, with empty ones left out", (t) => {
  const { hash } = sidecarSetHashes({
    containers: [
      {
        resourcesPolicy: {
          resourcesExpr: { requests: { memory: "memory*2", cpu: "" }, limits: { cpu: "cpu" } },
          targetContainersNameRegex: ".*",
          targetContainersMode: "sum",
        },
        transferEnv: [
          {
            envNames: ["A", "B"],
            envName: "",
            sourceContainerNameFrom: { fieldRef: { fieldPath: "metadata.labels['a']", apiVersion: "v1" } },
          },
        ],
        shareVolumeDevicePolicy: {},
        shareVolumePolicy: { type: "disabled" },
        upgradeStrategy: { hotUpgradeEmptyImage: "empty:1", upgradeType: "HotUpgrade" },
        podInjectPolicy: "BeforeAppContainer",
        env: [{ name: "X", value: "<&>" }],
        image: "a:1",
        resources: { limits: { cpu: "1000m" } },
        name: "a",
        unknown: true,
      },
    ],
  });
  t.equal(
    hash,
    hashOf(
      '{"containers":[{"name":"a","image":"a:1","env":[{"name":"X","value":"\\u003c\\u0026\\u003e"}],' +
        '"resources":{"limits":{"cpu":"1"}},"podInjectPolicy":"BeforeAppContainer",' +
        '"upgradeStrategy":{"upgradeType":"HotUpgrade","hotUpgradeEmptyImage":"empty:1"},' +
        '"shareVolumePolicy":{"type":"disabled"},"shareVolumeDevicePolicy":{},"transferEnv":[{' +
        '"sourceContainerNameFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.labels[\'a\']"}},"envNames":["A","B"]}],' +
        '"resourcesPolicy":{"targetContainersMode":"sum","targetContainersNameRegex":".*",' +
        '"resourcesExpr":{"limits":{"cpu":"cpu"},"requests":{"memory":"memory*2"}}}}]}',
    ),
  );
  t.end();
});

t.test("init containers enter only with a native sidecar among them, and then all of them", (t) => {
  const plain: SidecarContainer = { name: "init", image: "i:1" };
  const native: SidecarContainer = { name: "native", image: "n:1", restartPolicy: "Always" };
  const without = sidecarSetHashes({ containers: [main] });
  t.strictSame(sidecarSetHashes({ containers: [main], initContainers: [plain] }), without);
  const both = sidecarSetHashes({ initContainers: [plain, native] });
  const tail = '"resources":{},"upgradeStrategy":{},"shareVolumePolicy":{}';
  const nativeTail = `"resources":{},"restartPolicy":"Always","upgradeStrategy":{},"shareVolumePolicy":{}`;
  t.equal(
    both.hash,
    hashOf(
      `{"containers":null,"initContainers":[{"name":"init","image":"i:1",${tail}},{"name":"native","image":"n:1",${nativeTail}}]}`,
    ),
  );
  t.equal(
    both.hashWithoutImage,
    hashOf(`{"containers":null,"initContainers":[{"name":"init",${tail}},{"name":"native",${nativeTail}}]}`),
  );
  t.end();
});

t.test("images change the one hash, everything else both", (t) => {
  const name = fc.constantFrom("a", "b");
  const container = fc.record({ name, image: name, workingDir: name });
  fc.assert(
    fc.property(fc.array(container, { maxLength: 3 }), fc.array(container, { maxLength: 3 }), (a, b) => {
      const [left, right] = [sidecarSetHashes({ containers: a }), sidecarSetHashes({ containers: b })];
      const bare = (list: typeof a) => JSON.stringify(list.map(({ name, workingDir }) => [name, workingDir]));
      const whole = (list: typeof a) => JSON.stringify(list.map(({ image }) => image)) + bare(list);
      return (
        (left.hash === right.hash) === (whole(a) === whole(b)) &&
        (left.hashWithoutImage === right.hashWithoutImage) === (bare(a) === bare(b))
      );
    }),
    { numRuns: 2000, seed: 25 },
  );
  t.end();
});
