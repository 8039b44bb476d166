/** Which of the two containers of a hot upgrade works, step by step, from what pods and sets say. */
import t from "tap";
import { type AnyObject, toAnyObject } from "../../fields.ts";
import { hotUpgradeItems } from "./hot_upgrades.ts";
import { injectedPod } from "./sidecar_owners.ts";

const set = (image: string): AnyObject =>
  toAnyObject({
    metadata: { name: "mesh" },
    spec: {
      containers: [
        { name: "plain", image: "plain:1" },
        {
          name: "envoy",
          image,
          upgradeStrategy: { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "empty:1" },
        },
      ],
    },
  });

function pod(working: string, images: readonly [string, string], ready: readonly string[], name = "web-1") {
  const names = ["envoy-1", "envoy-2"];
  return toAnyObject({
    metadata: {
      name,
      namespace: "shop",
      annotations: {
        "kruise.io/sidecarset-working-hotupgrade-container": JSON.stringify({
          envoy: working,
          other: "other-1",
        }),
        "version.sidecarset.kruise.io/envoy-1": "1",
        "version.sidecarset.kruise.io/envoy-2": "345",
      },
    },
    spec: { containers: names.map((each, index) => ({ name: each, image: images[index] })) },
    status: { containerStatuses: names.map((each) => ({ name: each, ready: ready.includes(each) })) },
  });
}

const itemsOf = (image: string, ...pods: AnyObject[]) => [
  ...hotUpgradeItems(
    pods.map((each) => injectedPod(each, "mesh")),
    set(image),
  ).values(),
];
const both = ["envoy-1", "envoy-2"];

t.test("the table of the specification, from one upgrade to the next", async (t) => {
  const steps: [string, readonly [string, string], readonly string[], string, string][] = [
    ["envoy-1", ["v:1", "empty:1"], both, "v:1", "rests"],
    ["envoy-1", ["v:1", "empty:1"], both, "v:2", "waiting"],
    ["envoy-2", ["v:1", "v:2"], ["envoy-1"], "v:2", "starting"],
    ["envoy-2", ["v:1", "v:2"], both, "v:2", "handingOver"],
    ["envoy-2", ["empty:1", "v:2"], both, "v:2", "rests"],
    ["envoy-1", ["v:3", "v:2"], ["envoy-2"], "v:3", "starting"],
    ["envoy-1", ["v:3", "empty:1"], both, "v:3", "rests"],
  ];
  for (const [working, images, ready, wanted, step] of steps) {
    const [item] = itemsOf(wanted, pod(working, images, ready));
    t.match(item, { namespace: "shop", pod: "web-1", sidecar: "envoy", step }, `${working}: ${images}`);
    t.strictSame(
      item?.slots.map(({ container, isWorking, isEmpty }) => [container, isWorking, isEmpty]),
      both.map((name, index) => [name, name === working, images[index] === "empty:1"]),
    );
  }
});

t.test("each container is told with its image and its version", async (t) => {
  const [item] = itemsOf("v:2", pod("envoy-2", ["v:1", "v:2"], ["envoy-1"]));
  t.match(item?.slots, [
    { image: "v:1", version: "1", isReady: true, isNew: false },
    { image: "v:2", version: "345", isReady: false, isNew: true },
  ]);
});

t.test("what is under way comes first, and pods that say nothing or nonsense are left out", async (t) => {
  const silent = toAnyObject({ metadata: { name: "a", namespace: "shop" } });
  const key = "kruise.io/sidecarset-working-hotupgrade-container";
  const broken = toAnyObject({ metadata: { name: "b", annotations: { [key]: "[{" } } });
  const done = pod("envoy-2", ["empty:1", "v:2"], both, "c");
  const moving = pod("envoy-2", ["v:1", "v:2"], both, "d");
  t.strictSame(
    itemsOf("v:2", silent, broken, done, moving).map((item) => item.pod),
    ["d", "c"],
  );
  t.strictSame([...hotUpgradeItems([injectedPod(done, "mesh")], toAnyObject({ metadata: {} }))], []);
});

t.test("of very many pods those under way are told", async (t) => {
  const many = Array.from({ length: 300 }, (_, number) =>
    pod("envoy-2", number < 290 ? ["empty:1", "v:2"] : ["v:1", "v:2"], both, `web-${number}`),
  );
  const items = itemsOf("v:2", ...many);
  t.equal(items.length, 200);
  t.equal(items.filter(({ step }) => step === "handingOver").length, 10);
});
