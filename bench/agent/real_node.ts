/** Restarts and image swaps of pods on a real node: by the kubelet and by the agent, in turns on the same node. */
import { methods } from "../../proto/cri/index.ts";
import { BenchError } from "../errors.ts";
import { InstanceWatch, longestIncomplete } from "./instances.ts";
import { type By, type Lab, namespace, requests } from "./lab.ts";
import { type Pod, readyContainers } from "./watched_objects.ts";

/**
 * `restart`: a new start of the same image. `one`, `four`: a new image for a pod of one container that stops at once,
 * or of four that take a second each. `back`: the image that the pod ran shortly before, which the kubelet holds back.
 */
export type What = "restart" | "one" | "four" | "back";

export interface Turn {
  readonly what: What;
  readonly by: By;
  /** 1 is the first of its pod; the kubelet's back-off for restarts shows from the second on. */
  readonly round: number;
  /** From the request until every container is ready in a new instance. */
  readonly readyMs: number;
  /** Longest time during which not all containers ran, by the runtime's own time stamps. */
  readonly gapMs: number;
  /** Restarts by the agent: from ready until the request is Completed. */
  readonly completedMs?: number;
}

const sides = ["kubelet", "agent"] as const;
const restarts = 4;

export async function measureNode(lab: Lab, cycles: number): Promise<Turn[]> {
  const { io } = lab;
  const run = `bench-agent-${Math.floor(io.clock.now() / 1000)}`;
  const turns: Turn[] = [];
  for (let cycle = 1; cycle <= cycles; cycle++) {
    io.note(`swaps, ${cycle} of ${cycles}`);
    turns.push(...(await swapsOf(lab, `${run}-one-${cycle}`, 1)));
    turns.push(...(await swapsOf(lab, `${run}-four-${cycle}`, 4)));
  }
  io.note("restarts");
  turns.push(...(await restartsOf(lab, `${run}-restart`)));
  return turns;
}

/**
 * A pod of each side, between two images. The kubelet notes the start of an image when it knows of an ended container,
 * which is from the second change on; it holds back what it noted, from the fourth on.
 */
async function swapsOf(lab: Lab, run: string, containers: 1 | 4): Promise<Turn[]> {
  const stopSeconds = containers === 4 ? 1 : 0;
  const made = new Map<By, Pod>();
  for (const by of sides)
    made.set(by, await lab.makePod({ name: `${run}-${by}`, by, containers, stopSeconds }));
  const turns: Turn[] = [];
  for (let round = 1; round <= (containers === 4 ? 2 : 5); round++) {
    for (const by of sides) {
      const what = containers === 4 ? "four" : round > 3 ? "back" : "one";
      const image = lab.settings.images[round % 2] ?? lab.settings.images[0];
      const measured = await turn(lab, present(made, by), (pod) => lab.setImage(pod, image));
      made.set(by, measured.pod);
      turns.push({ what, by, round, readyMs: measured.readyMs, gapMs: measured.gapMs });
    }
  }
  for (const by of sides) await lab.removePod(`${run}-${by}`);
  return turns;
}

async function restartsOf(lab: Lab, run: string): Promise<Turn[]> {
  const made = new Map<By, Pod>();
  for (const by of sides) made.set(by, await lab.makePod({ name: `${run}-${by}`, by, containers: 1 }));
  const turns: Turn[] = [];
  for (let round = 1; round <= restarts; round++) {
    const kubelets = await turn(lab, present(made, "kubelet"), (pod) => stop(lab, pod));
    made.set("kubelet", kubelets.pod);
    turns.push({ what: "restart", by: "kubelet", round, readyMs: kubelets.readyMs, gapMs: kubelets.gapMs });
    const request = `${run}-${round}`;
    const agents = await turn(lab, present(made, "agent"), (pod) => recreate(lab, request, pod));
    made.set("agent", agents.pod);
    const completed = await lab.requests.until(
      request,
      "Completed",
      (one) => one.status?.phase === "Completed",
    );
    const completedMs = completed.at - agents.readyAt;
    turns.push({
      what: "restart",
      by: "agent",
      round,
      readyMs: agents.readyMs,
      gapMs: agents.gapMs,
      completedMs,
    });
  }
  for (const by of sides) await lab.removePod(`${run}-${by}`);
  return turns;
}

function present(made: ReadonlyMap<By, Pod>, by: By): Pod {
  const pod = made.get(by);
  if (!pod) throw new BenchError(`no pod of the ${by}`);
  return pod;
}

interface Measured {
  readonly pod: Pod;
  readonly readyMs: number;
  readonly readyAt: number;
  readonly gapMs: number;
}

/** After a rest, so that the kubelet has done with what was before. */
const restMs = 1_500;

async function turn(lab: Lab, pod: Pod, trigger: (pod: Pod) => Promise<unknown>): Promise<Measured> {
  const { clock } = lab.io;
  await clock.sleep(restMs, lab.io.signal);
  const watch = new InstanceWatch(lab.cri, pod.metadata.uid ?? "", lab.io);
  try {
    await watch.look();
    const since = clock.now();
    const began = clock.monotonic();
    const expected = lab.untilReplaced(pod);
    expected.catch(() => undefined);
    await trigger(pod);
    const { object, at } = await expected;
    const gapMs = longestIncomplete(await watch.stop(), since);
    lab.io.note(
      `${pod.metadata.name}: ready after ${(at - began).toFixed(0)} ms, gap ${gapMs.toFixed(0)} ms`,
    );
    return { pod: object, readyMs: at - began, readyAt: at, gapMs };
  } finally {
    await watch.stop();
  }
}

/** All that an agent without containers of its own can do: end it, and leave the start to the kubelet. */
async function stop(lab: Lab, pod: Pod): Promise<void> {
  for (const id of readyContainers(pod)?.values() ?? []) {
    await lab.cri.call(methods.StopContainer, { container_id: id.split("//")[1] ?? "", timeout: 5 });
  }
}

async function recreate(lab: Lab, name: string, pod: Pod): Promise<void> {
  await lab.client.create(requests, namespace, {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ContainerRecreateRequest",
    metadata: { name },
    spec: { podName: pod.metadata.name, ttlSecondsAfterFinished: 60, containers: [{ name: "app" }] },
  });
}
