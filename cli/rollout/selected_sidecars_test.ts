import t from "tap";
import { defaultSidecarSet, sidecarSet, sidecarSetHashes } from "../../crds/index.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import { type AnyObject, toAnyObject } from "../fields.ts";

const manifest = (updateStrategy: object): AnyObject => {
  const object = toAnyObject(
    defaultSidecarSet({
      apiVersion: "apps.kruise.io/v1beta1",
      kind: "SidecarSet",
      metadata: { name: "proxy", uid: "uid-proxy", generation: 1 },
      spec: {
        selector: { matchLabels: { app: "web" } },
        containers: [{ name: "side", image: "side:2" }],
        updateStrategy,
      },
      status: {
        observedGeneration: 1,
        matchedPods: 3,
        updatedPods: 1,
        readyPods: 3,
        updatedReadyPods: 1,
      },
    }),
  );
  return object;
};

/** Ready, with the sidecar at an image. */
function podOf(name: string, image: string, labels: Record<string, string>): AnyObject {
  const read = sidecarSet.readStored({ ...manifest({}) });
  const [side] = ("object" in read && read.object.spec?.containers) || [];
  const { hash, hashWithoutImage } = sidecarSetHashes({ containers: [{ ...side, name: "side", image }] });
  return toAnyObject({
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      labels: { app: "web", ...labels },
      annotations: {
        "kruise.io/sidecarset-injected-list": "proxy",
        "kruise.io/sidecarset-hash": JSON.stringify({ proxy: hash }),
        "kruise.io/sidecarset-hash-without-image": JSON.stringify({ proxy: hashWithoutImage }),
      },
    },
    spec: { containers: [{ name: "side", image }] },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [{ name: "side", image, imageID: "x", ready: true }],
    },
  });
}

t.test("a rollout that a selector limits is over when the pods are updated that it takes", async (t) => {
  const fake = fakeCluster();
  const { client } = fake;
  const canary = { canary: "true" };
  const set = (updateStrategy: object) => fake.put("sidecarsets.apps.kruise.io", manifest(updateStrategy));
  const status = async () => {
    const { stdout, stderr } = await run("rollout status sidecarset/proxy -w=false", { client });
    return stdout + stderr;
  };
  fake.put("pods", podOf("a", "side:2", canary));
  fake.put("pods", podOf("b", "side:1", canary));
  fake.put("pods", podOf("c", "side:1", {}));
  const waiting = 'Waiting for sidecar set "proxy" rollout to finish:';
  set({});
  t.equal(await status(), `${waiting} 1 out of 3 pods have been updated...\n`);
  set({ selector: { matchLabels: canary } });
  t.equal(await status(), `${waiting} 1 out of 2 pods have been updated...\n`);
  const why = await run("why sidecarset/proxy", { client });
  t.match(why.stdout, `${waiting} 1 out of 2 pods have been updated...`);
  fake.put("pods", podOf("b", "side:2", canary));
  t.equal(await status(), 'sidecar set "proxy" successfully rolled out\n');
  set({ selector: { matchLabels: { canary: "no" } } });
  t.equal(await status(), 'sidecar set "proxy" successfully rolled out\n', "no pod is taken");
});
