/** What the try-out shows: a CloneSet appears, then its image is swapped in place. */
import { counted } from "../../kube/core/index.ts";
import type { Client } from "../../kube/index.ts";
import { jsonResource } from "../../kube/index.ts";
import type { Call } from "../command.ts";
import { CliError } from "../errors.ts";
import { toAnyObject } from "../fields.ts";
import { createDisplay, type Display } from "./display.ts";
import { PodTracker } from "./pod_tracker.ts";
import { compare, type Kept, type PodView } from "./pod_view.ts";

export const demoName = "demo";
const namespace = "default";
const oldImage = "nginx:1.20";
const newImage = "nginx:1.21";
const labels = { app: demoName };
/** A rollout that takes longer than this is stuck. */
const longestMs = 120_000;

const cloneSets = jsonResource({
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "clonesets",
  kind: "CloneSet",
  namespaced: true,
});

export interface DemoResult {
  readonly kept: Kept;
  readonly updatedMs: number;
}

export async function runDemo(call: Call, client: Client, pods: number): Promise<DemoResult> {
  const { clock } = call.host;
  const stop = new AbortController();
  const signal = AbortSignal.any([call.io.signal, stop.signal]);
  const tracker = new PodTracker({ client, clock, namespace, labelSelector: `app=${demoName}`, signal });
  const late = clock.after(longestMs, () =>
    stop.abort(new CliError(`the rollout did not end within ${longestMs / 1000} s`)),
  );
  const following = tracker.run();
  following.catch((error: unknown) => stop.abort(error));
  try {
    call.print(`CloneSet ${namespace}/${demoName}: ${counted(pods, "pod")} of ${oldImage}`);
    const started = clock.monotonic();
    await client.create(cloneSets, namespace, cloneSet(pods));
    await showUntil(call, tracker, "starting", pods, (pod) => pod.state === "ready");
    const created = clock.monotonic();
    const before = tracker.pods;
    call.print(
      `All ready after ${seconds(created - started)}. Image ${oldImage} -> ${newImage}, in place, a fifth at a time:`,
    );
    await client.patch(cloneSets, { namespace, name: demoName }, { type: "json", body: imagePatch });
    await showUntil(
      call,
      tracker,
      "updating",
      pods,
      (pod) => pod.image === newImage && pod.state === "ready",
    );
    const updatedMs = clock.monotonic() - created;
    return { kept: compare(before, tracker.pods), updatedMs };
  } finally {
    late.cancel();
    stop.abort();
    await following.catch(() => undefined);
  }
}

const imagePatch = [
  { op: "replace", path: "/metadata/annotations/kubernetes.io~1change-cause", value: newImage },
  { op: "replace", path: "/spec/template/spec/containers/0/image", value: newImage },
] as const;

function cloneSet(replicas: number): object {
  return toAnyObject({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "CloneSet",
    metadata: { name: demoName, namespace, annotations: { "kubernetes.io/change-cause": oldImage } },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: "20%" },
      },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [{ name: "web", image: oldImage, imagePullPolicy: "IfNotPresent" }],
        },
      },
    },
  });
}

/** Draws the pods until all of them have arrived. */
async function showUntil(
  call: Call,
  tracker: PodTracker,
  title: string,
  total: number,
  hasArrived: (pod: PodView) => boolean,
): Promise<void> {
  const display: Display = createDisplay(call.io, call.paint, { title, total, clock: call.host.clock });
  try {
    const count = (pods: readonly PodView[]): number => pods.filter(hasArrived).length;
    await tracker.until(
      (pods) => pods.length === total && count(pods) === total,
      (pods) => display.show(pods, count(pods)),
    );
  } finally {
    display.end();
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** `names 20/20  UIDs 20/20 …`, and how often containers restarted. */
export function printKept(call: Call, { kept, updatedMs }: DemoResult): void {
  const { paint } = call;
  const share = (count: number): string => {
    const text = `${count}/${kept.pods}`;
    return paint(count === kept.pods ? "green" : "red", text);
  };
  call.print(
    `${paint("bold", "Rolled out")} in ${seconds(updatedMs)}. Kept of ${counted(kept.pods, "pod")}:`,
  );
  call.print(
    `  names ${share(kept.names)}   UIDs ${share(kept.uids)}   nodes ${share(kept.nodes)}   IPs ${share(kept.ips)}`,
  );
  const each = kept.restarts === kept.uids ? "each container once" : `${kept.restarts} in all`;
  call.print(`  restarts: ${each}`);
}
