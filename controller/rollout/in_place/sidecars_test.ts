import fc from "fast-check";
import { test } from "tap";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { areSidecarsUpdated, areUpdated, isConsistent, isSettling } from "./sidecars.ts";

const container = (image: string) => ({ name: "side", image, resources: {}, env: [], resizePolicy: {} });
const status = (image: string, imageID: string) => ({
  name: "side",
  image,
  imageID,
  containerID: "",
  ready: true,
  restartCount: 0,
});
const before = (imageID: string) => ({
  revision: "",
  updateTimestamp: "",
  lastContainerStatuses: new Map([["side", { imageID }]]),
});
const podOf = (wanted: string, running: string, imageID: string) =>
  barePod("pod", { containers: [container(wanted)], containerStatuses: [status(running, imageID)] });

test("a container is updated when its ID has changed or its image is named as in the spec", async (t) => {
  const old = podOf("side:2", "docker.io/library/side:1", "sha256:1");
  t.equal(areUpdated(old, ["side"], undefined), true, "nothing was recorded");
  t.equal(areUpdated(old, ["side"], before("sha256:1")), false);
  t.equal(isSettling(old, ["side"], before("sha256:1")), true);
  t.equal(areUpdated(podOf("side:2", "side:2", "sha256:2"), ["side"], before("sha256:1")), true);
  const retagged = podOf("side:2", "docker.io/library/side:2", "sha256:1");
  t.equal(areUpdated(retagged, ["side"], before("sha256:1")), true, "two tags of one image");
  t.equal(areUpdated({ ...retagged, behind: true }, ["side"], before("sha256:1")), false);
});

test("an image by digest is updated when that is what runs", async (t) => {
  const digest = `side@sha256:${"a".repeat(64)}`;
  t.equal(areUpdated(podOf(digest, "side:1", `docker-pullable://${digest}`), ["side"], undefined), true);
  t.equal(areUpdated(podOf(digest, "side:1", "side@sha256:b"), ["side"], undefined), false);
});

test("a pod is consistent once its node has reported on every container", async (t) => {
  const pod = podOf("side:1", "side:1", "sha256:1");
  t.equal(isConsistent(pod, ["side"], undefined), true);
  t.equal(isConsistent({ ...pod, containerStatuses: [] }, ["side"], undefined), false);
});

test("what annotations say of any set counts for budgets, and garbage says nothing", async (t) => {
  const pod = podOf("side:2", "side:1", "sha256:1");
  const state = (imageID: string) => ({
    "kruise.io/sidecarset-inplace-update-state": JSON.stringify({
      set: { revision: "h", updateTimestamp: "", lastContainerStatuses: { side: { imageID } } },
    }),
  });
  t.equal(areSidecarsUpdated(pod), true);
  t.equal(areSidecarsUpdated({ ...pod, annotations: state("sha256:1") }), false);
  t.equal(areSidecarsUpdated({ ...pod, annotations: state("sha256:0") }), true);
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) =>
      areSidecarsUpdated({ ...pod, annotations: { "kruise.io/sidecarset-inplace-update-state": text } }),
    ),
    { seed: 1, numRuns: 1000 },
  );
});
