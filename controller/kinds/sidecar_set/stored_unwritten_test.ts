/** A set that was stored while no webhook looked, as at a first installation: without defaults and without its hashes. */
import t from "tap";
import { defaultSidecarSet, type SidecarSet } from "../../../crds/index.ts";
import type { JsonObject } from "../../../kube/core/index.ts";
import { podResource } from "../../../kube/index.ts";
import { injectSidecars } from "./injection/inject.ts";
import { PreparedSidecars, readSidecarSet } from "./injection/sidecars.ts";
import { memberOf, rolloutOf } from "./rollout.ts";

function setOf(image: string): SidecarSet {
  const selector = { matchLabels: { app: "web" } };
  return { metadata: { name: "mesh" }, spec: { selector, containers: [{ name: "proxy", image }] } };
}

/** As admission writes it with the next update. */
function written(set: SidecarSet): SidecarSet {
  const object = { apiVersion: "apps.kruise.io/v1beta1", kind: "SidecarSet", ...set };
  const read = readSidecarSet(defaultSidecarSet(object));
  if ("errors" in read) throw new Error("the set cannot be read");
  return read;
}

function injected(set: SidecarSet) {
  const pod: JsonObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web-0", namespace: "default", uid: "u" },
    spec: { containers: [{ name: "app", image: "app:1" }] },
  };
  injectSidecars(pod, [new PreparedSidecars().ofSet(set)], { sortByName: false, now: 0 });
  return podResource.codec.decode(Buffer.from(JSON.stringify(pod)), "application/json");
}

t.test("its pods are up to date, and stay so when an update writes the hashes", async (t) => {
  const stored = setOf("proxy:1");
  const pod = injected(stored);
  t.match(memberOf(pod, false, rolloutOf(stored)), { updated: true, upgradable: true });
  t.match(memberOf(pod, false, rolloutOf(written(stored))), { updated: true, upgradable: true });
});

t.test("a newer image is brought to its pods in place", async (t) => {
  const pod = injected(setOf("proxy:1"));
  for (const next of [setOf("proxy:2"), written(setOf("proxy:2"))])
    t.match(memberOf(pod, false, rolloutOf(next)), { updated: false, upgradable: true });
});
