/**
 * Golden pairs: a pod on a node, and what happens to it step by step. `UPDATE_GOLDEN=1` rewrites the second halves.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import t from "tap";
import { parse, stringify } from "yaml";
import { applyMergePatch, isJsonObject } from "../../kube/core/index.ts";
import { applyChange } from "../nodes/apply_change.ts";
import type { Kubelet } from "../nodes/facts.ts";
import { nextStage } from "../nodes/next_stage.ts";
import { newRun } from "../nodes/pod_run.ts";
import { podStatus } from "../nodes/pod_status.ts";
import { isPod, type PodObject } from "../objects/index.ts";
import { type ProfileName, profiles } from "./profile.ts";

const folder = new URL("./testdata/", import.meta.url);
const start = Date.UTC(2026, 0, 1);
const mostSteps = 20;

interface Given {
  readonly profile: ProfileName;
  readonly pod: PodObject;
  /** On the node; others are pulled, those of `failing` cannot be. */
  readonly images: string[];
  readonly failing?: string[];
  readonly infeasible?: boolean;
  /** Merge patches, each applied when `afterSteps` stages have happened. */
  readonly edits?: { afterSteps: number; patch: object }[];
}

function isGiven(value: unknown): value is Given {
  return isJsonObject(value) && isJsonObject(value["pod"]) && Array.isArray(value["images"]);
}

/** `<milliseconds> <stage> [<container>] [(<report>)]` per stage, then the status that the kubelet would report. */
function play(given: Given): { steps: string[]; status: unknown } {
  const timing = profiles[given.profile];
  const images = new Set(given.images);
  let ids = 0;
  let now = start;
  let pod = structuredClone(given.pod);
  const run = newRun(pod);
  const kubelet: Kubelet = {
    hasImage: (image) => images.has(image),
    pullFails: (image) => given.failing?.includes(image) ?? false,
    pullMs: () => undefined,
    missingConfig: () => undefined,
    missingVolume: () => undefined,
    resizeRefusal: () => (given.infeasible ? { reason: "Infeasible", message: "too much" } : undefined),
    agent: false,
  };
  const steps: string[] = [];
  for (let count = 0; count < mostSteps; count++) {
    for (const edit of given.edits ?? []) {
      const edited: unknown = edit.afterSteps === count ? applyMergePatch(pod, edit.patch) : pod;
      if (isJsonObject(edited)) pod = asPod(edited);
    }
    const next = nextStage({ pod, run, kubelet }, timing, now, () => 0.5);
    if (!next) break;
    now += next.afterMs;
    run.due = next.due.filter((due) => due.key !== next.key);
    steps.push(
      [now - start, next.stage, next.container, `(${next.report})`]
        .filter((part) => part !== undefined)
        .join(" "),
    );
    const effects = applyChange({ pod, run, kubelet }, next.change, next.container, {
      timing,
      now,
      newContainerId: () => `sandbox://${++ids}`,
      newAddress: () => "10.1.0.1",
    });
    for (const effect of effects) if (effect.do === "keep image") images.add(effect.image);
    if (effects.some((effect) => effect.do === "remove pod")) break;
  }
  return {
    steps,
    status: podStatus({ pod, run, hostIp: "172.16.0.2", now, imageId: (image) => `id of ${image}` }),
  };
}

function asPod(value: Record<string, unknown>): PodObject {
  const metadata = isJsonObject(value["metadata"]) ? value["metadata"] : {};
  const object = { ...value, metadata };
  if (!isPod(object)) throw new Error("the edited pod has no containers");
  return object;
}

for (const file of readdirSync(folder).filter((name) => name.endsWith(".given.yaml"))) {
  t.test(file.replace(".given.yaml", "").replaceAll("_", " "), async (t) => {
    const given: unknown = parse(readFileSync(new URL(file, folder), "utf8"));
    if (!isGiven(given)) throw new Error(`${file} needs a pod and images`);
    const happened: unknown = JSON.parse(JSON.stringify(play(given)));
    const golden = new URL(file.replace(".given.", ".happens."), folder);
    if (process.env["UPDATE_GOLDEN"]) writeFileSync(golden, stringify(happened));
    t.same(happened, parse(readFileSync(golden, "utf8")));
  });
}
