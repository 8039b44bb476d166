import t from "tap";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { FakeCluster } from "../../testkit/sandbox/fake_cluster.ts";
import { type ClaimObject, isClaim, isVolume, type VolumeObject } from "../objects/index.ts";
import { VolumeBinder } from "./volume_binder.ts";

function setUp() {
  const clock = testClock();
  const cluster = new FakeCluster();
  cluster.now = clock.now;
  const errors: unknown[] = [];
  const binder = new VolumeBinder({ cluster, clock, onError: (error) => errors.push(error) });
  t.teardown(() => binder.stop());
  const claim = (name: string, spec: object = {}): void => {
    cluster.create("persistentvolumeclaims", {
      metadata: { namespace: "default", name },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
    });
    clock.skip(0);
  };
  const volume = (
    name: string,
    storage: string,
    spec: object = {},
    labels: Record<string, string> = {},
  ): void => {
    cluster.create("persistentvolumes", {
      metadata: { name, labels },
      spec: { capacity: { storage }, accessModes: ["ReadWriteOnce"], ...spec },
    });
    clock.skip(0);
  };
  const theClaim = (name: string): ClaimObject => {
    const found = cluster.get("persistentvolumeclaims", { namespace: "default", name });
    if (!isClaim(found)) throw new Error(`no claim ${name}`);
    return found;
  };
  const theVolume = (name: string): VolumeObject => {
    const found = cluster.get("persistentvolumes", { name });
    if (!isVolume(found)) throw new Error(`no volume ${name}`);
    return found;
  };
  const storageClass = (name: string, rest: object): void => {
    cluster.create("storageclasses.storage.k8s.io", { metadata: { name }, provisioner: "sandbox", ...rest });
    clock.skip(0);
  };
  return { clock, cluster, claim, volume, theClaim, theVolume, storageClass, errors };
}

t.test("the smallest volume that offers what is asked, of the same class", async (t) => {
  const { claim, volume, theClaim, theVolume, errors } = setUp();
  volume("other-class", "1Gi", { storageClassName: "x" });
  volume("big", "10Gi");
  volume("too-small", "500Mi");
  volume("fits", "2Gi");
  volume("blue", "2Gi", {}, { colour: "blue" });
  claim("a");
  t.equal(theClaim("a").spec.volumeName, "fits");
  t.match(theVolume("fits"), {
    status: { phase: "Bound" },
    spec: { claimRef: { name: "a", namespace: "default" } },
  });
  claim("b", { selector: { matchLabels: { colour: "blue" } } });
  t.equal(theClaim("b").spec.volumeName, "blue");
  claim("c", { accessModes: ["ReadWriteMany"] });
  t.equal(theClaim("c").spec.volumeName, undefined);
  volume("shared", "1Gi", { accessModes: ["ReadWriteOnce", "ReadWriteMany"] });
  t.equal(theClaim("c").spec.volumeName, "shared", "bound when its volume appears");
  t.same(errors, []);
});

t.test("volumes reserved for a claim, claims that name a volume", async (t) => {
  const { claim, volume, theClaim } = setUp();
  volume("reserved", "5Gi", { claimRef: { namespace: "default", name: "mine" } });
  claim("other");
  t.equal(theClaim("other").spec.volumeName, undefined);
  claim("mine");
  t.equal(theClaim("mine").spec.volumeName, "reserved");
  volume("named", "1Gi", { storageClassName: "x" });
  claim("asks", { volumeName: "named", storageClassName: "x" });
  t.equal(theClaim("asks").status?.phase, "Bound");
});

t.test(
  "classes provision, at once or for the first consumer's node; a class without provisioner does not",
  async (t) => {
    const { clock, cluster, claim, theClaim, theVolume, storageClass } = setUp();
    storageClass("now", {
      metadata: { name: "now", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    });
    storageClass("later", { volumeBindingMode: "WaitForFirstConsumer" });
    storageClass("manual", { provisioner: "kubernetes.io/no-provisioner" });
    claim("a");
    t.match(theVolume(theClaim("a").spec.volumeName ?? ""), {
      spec: {
        storageClassName: "now",
        persistentVolumeReclaimPolicy: "Delete",
        capacity: { storage: "1Gi" },
      },
    });
    claim("none", { storageClassName: "" });
    claim("manual", { storageClassName: "manual" });
    t.equal(theClaim("none").spec.volumeName, undefined);
    t.equal(theClaim("manual").spec.volumeName, undefined);
    claim("b", { storageClassName: "later" });
    t.equal(theClaim("b").spec.volumeName, undefined);
    cluster.update("persistentvolumeclaims", { namespace: "default", name: "b" }, (draft) => {
      draft.metadata.annotations = { "volume.kubernetes.io/selected-node": "node1" };
    });
    clock.skip(0);
    t.equal(theClaim("b").status?.phase, "Bound");
  },
);

t.test("a bound volume grows with its claim where its class allows it", async (t) => {
  const { clock, cluster, claim, theClaim, theVolume, storageClass } = setUp();
  storageClass("grows", { allowVolumeExpansion: true });
  storageClass("stays", {});
  for (const [name, size] of [
    ["grows", "2Gi"],
    ["stays", "1Gi"],
  ] as const) {
    claim(name, { storageClassName: name });
    cluster.update("persistentvolumeclaims", { namespace: "default", name }, (draft) => {
      if (isClaim(draft)) draft.spec.resources = { requests: { storage: "2Gi" } };
    });
    clock.skip(0);
    t.equal(theClaim(name).status?.capacity?.["storage"], size);
    t.equal(theVolume(theClaim(name).spec.volumeName ?? "").spec.capacity?.["storage"], size);
  }
});

t.test("a claim in use outlives its deletion; then its volume is deleted or released", async (t) => {
  const { clock, cluster, claim, volume, theClaim, theVolume, storageClass } = setUp();
  storageClass("s", {});
  volume("kept", "1Gi", { persistentVolumeReclaimPolicy: "Retain" });
  claim("kept", { storageClassName: "" });
  claim("made", { storageClassName: "s" });
  const made = theClaim("made").spec.volumeName ?? "";
  cluster.create("pods", {
    metadata: { namespace: "default", name: "p" },
    spec: {
      nodeName: "n",
      containers: [],
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: "made" } }],
    },
  });
  for (const name of ["kept", "made"])
    cluster.remove("persistentvolumeclaims", { namespace: "default", name });
  clock.skip(0);
  t.ok(theClaim("made").metadata.deletionTimestamp, "held by the pod");
  t.equal(theVolume("kept").status?.phase, "Released");
  cluster.remove("pods", { namespace: "default", name: "p" }, { gracePeriodSeconds: 0 });
  clock.skip(0);
  t.equal(cluster.get("persistentvolumeclaims", { namespace: "default", name: "made" }), undefined);
  t.equal(cluster.get("persistentvolumes", { name: made }), undefined);
  claim("again", { storageClassName: "" });
  t.equal(theClaim("again").spec.volumeName, undefined, "a released volume is not bound again");
});
