/**
 * A container whose environment reads metadata restarts once for a new value, whoever starts it again, and whatever else
 * changes with it. Each try is a pod that has only just become ready, which is when a kubelet still has looks to make;
 * `REFIT_ROUNDS` says how many there are of each kind.
 */
import assert from "node:assert/strict";
import { envHash } from "../../kube/index.ts";
import type { Item } from "../cluster/api.ts";
import { CloneSet } from "./clone_sets.ts";
import { firstOf, member, records, statusOf } from "./items.ts";
import { container, replacePatch } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const rounds = Number(process.env["REFIT_ROUNDS"] ?? 2);

/** The agent leaves containers with a hook to the kubelet. */
const names = ["by-kubelet", "by-agent", "plain"];

interface Kind {
  readonly name: string;
  readonly title: string;
  /** What changes with the environment. */
  readonly others?: readonly object[];
  /** Containers launch one after the other. */
  readonly ordered?: boolean;
  readonly graceSeconds?: number;
  /** Of the containers, in the order of their names above. */
  readonly restarts: readonly number[];
}

const kinds: readonly Kind[] = [
  { name: "alone", title: "alone", restarts: [1, 1, 0] },
  { name: "resized", title: "with a resize", others: [cpu(0), cpu(2)], restarts: [1, 1, 0] },
  {
    name: "swapped",
    title: "with images and a resize",
    others: [cpu(0), cpu(2), image(1), image(2)],
    restarts: [1, 1, 1],
  },
  {
    name: "ordered",
    title: "in batches by launch priority",
    others: [cpu(2), image(2)],
    ordered: true,
    restarts: [1, 1, 1],
  },
  {
    name: "grace",
    title: "after a grace period",
    others: [cpu(0)],
    graceSeconds: 2,
    restarts: [1, 1, 0],
  },
];

export const suite: Suite = {
  number: "i18",
  title: "In place: one restart for a new environment",
  needs: ["agent", "real-node"],
  gates: "InPlaceWorkloadVerticalScaling=true",
  versions: ["v1beta1"],
  async run(world) {
    const steps = kinds.map((kind) => world.step(`${kind.title}, ${rounds} times`, () => tries(world, kind)));
    for (const step of await Promise.allSettled(steps)) if (step.status === "rejected") throw step.reason;
  },
};

function cpu(index: number): object {
  const path = `/spec/template/spec/containers/${index}/resources/requests/cpu`;
  return { op: "replace", path, value: "60m" };
}

function image(index: number): object {
  return { op: "replace", path: `/spec/template/spec/containers/${index}/image`, value: "busybox:1.35" };
}

/** All are made before any is checked, so that a failure tells how many there were. */
async function tries(world: World, kind: Kind): Promise<void> {
  const seen: string[] = [];
  while (seen.length < rounds) seen.push(await update(world, kind, `${kind.name}-${seen.length}`));
  const expected = `restarts ${kind.restarts.join(" ")}, by-kubelet at second, by-agent at second`;
  assert.deepEqual(seen, Array(rounds).fill(expected));
}

async function update(world: World, kind: Kind, name: string): Promise<string> {
  const annotations = {
    "case.example/mode": "first",
    // Where the agents swap images themselves.
    "agent.refit/direct-swap": "true",
    ...(kind.ordered ? { "apps.kruise.io/container-launch-priority": "Ordered" } : {}),
  };
  const clone = new CloneSet(world, name);
  const inPlaceUpdateStrategy = { gracePeriodSeconds: kind.graceSeconds ?? 0 };
  await clone.create({
    strategy: { policy: "InPlaceIfPossible", inPlaceUpdateStrategy },
    templateMetadata: { annotations },
    containers: [
      reader("by-kubelet", { lifecycle: { postStart: { exec: { command: ["sleep", "1"] } } } }),
      reader("by-agent"),
      reader("plain", { env: [] }),
    ],
  });
  const untilUpdated = async (mode: string, stableMs: number) => {
    const probe = async () => {
      await clone.assertAll(1);
      const pod = firstOf(await clone.pods());
      assert.equal(pod.metadata.annotations?.["case.example/mode"], mode);
    };
    await world.until(`${name} is at ${mode}`, probe, { timeoutMs: 90_000, stableMs });
  };
  await untilUpdated("first", 0);
  const mode = replacePatch("/spec/template/metadata/annotations/case.example~1mode", "second");
  await clone.patch("json", [...mode, ...(kind.others ?? [])]);
  await untilUpdated("second", 2_000);
  const pod = firstOf(await clone.pods());
  await clone.remove();
  return seenOf(pod);
}

/** Ends at once when it is asked to. */
function reader(name: string, more: object = {}): object {
  const fieldRef = { fieldPath: "metadata.annotations['case.example/mode']" };
  return container(name, "busybox:1.34", {
    command: ["sh", "-c", 'trap "exit 0" TERM; sleep 86400 & wait'],
    env: [{ name: "MODE", valueFrom: { fieldRef } }],
    resources: { requests: { cpu: "10m", memory: "16Mi" } },
    ...more,
  });
}

/** Restarts of the containers, and the environments that the runtime has recorded of those that read one. */
function seenOf(pod: Item): string {
  const meta = JSON.parse(pod.metadata.annotations?.["apps.kruise.io/runtime-containers-meta"] ?? "{}");
  const entries = records(meta.containers);
  const restarts = names.map((name) => statusOf(pod, name)?.restartCount);
  const modes = ["by-kubelet", "by-agent"].map((name) => {
    const containerID = statusOf(pod, name)?.containerID;
    const entry = entries.find((each) => each["containerID"] === containerID);
    const hash = member(entry, "hashes")?.["extractedEnvFromMetadataHash"];
    return ["first", "second"].find((value) => envHash([{ name: "MODE", value }]) === hash);
  });
  return `restarts ${restarts.join(" ")}, by-kubelet at ${modes[0]}, by-agent at ${modes[1]}`;
}
