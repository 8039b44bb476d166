/**
 * `npm run bench -- swaps --kubeconfig FILE --nodes NODE=SOCKET [--rounds 200] [--containers 1,4] [--load 2] [--out FILE]`
 * Direct swaps of pods, one after the other without a rest, and what must hold of every one of them.
 */
import { spawn } from "node:child_process";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { jsonResource, type KubeObject } from "../../kube/index.ts";
import { methods } from "../../proto/cri/index.ts";
import { UsageError } from "../errors.ts";
import { checkWritable, write } from "../files.ts";
import type { BenchIo, Command } from "../io.ts";
import { ascending, quantile } from "../measure/statistics.ts";
import type { OptionTable } from "../options.ts";
import { readArguments, within } from "../settings.ts";
import { doubles, type Handover, handovers, type Instance, InstanceWatch } from "./instances.ts";
import { Lab, namespace } from "./lab.ts";
import { labSettings, nodeOptions } from "./node_options.ts";
import { type Pod, readyContainers } from "./watched_objects.ts";

export interface SoakResult {
  readonly containers: number;
  readonly swaps: number;
  /** Processor-bound processes beside it. */
  readonly loops: number;
  readonly load: readonly number[];
  readonly handovers: readonly Handover[];
  /** Warning events of the pod by reason. */
  readonly warnings: Readonly<Record<string, number>>;
  /** What must not be: empty when all swaps were right. */
  readonly violations: readonly string[];
}

const swapsOptions = {
  ...nodeOptions,
  rounds: { type: "string", default: "200", value: "N", help: "Swaps of each pod, 1 to 10000." },
  containers: { type: "string", default: "1,4", value: "1|4|1,4", help: "Containers of the pods." },
  load: { type: "string", default: "0", value: "N", help: "Busy processes beside it, 0 to 64." },
  out: { type: "string", value: "FILE", help: "Write results as JSON." },
} as const satisfies OptionTable;

export const swaps: Command = {
  usage: "--kubeconfig FILE --nodes NODE=SOCKET,…",
  summary: "direct swaps without a rest on real nodes, and what must hold of each",
  options: swapsOptions,
  run: runSwaps,
};

async function runSwaps(args: readonly string[], io: BenchIo): Promise<number> {
  const { values } = readArguments(() =>
    parseArgs({
      args: [...args],
      options: swapsOptions,
    }),
  );
  const rounds = within(values.rounds, "rounds", 1, 10_000);
  const loops = within(values.load, "load", 0, 64);
  const settings = labSettings(values);
  if (!settings) throw new UsageError("swaps needs --kubeconfig FILE and --nodes NODE=SOCKET");
  checkWritable(values.out);
  const sizes = values.containers.split(",").map((size) => {
    if (size !== "1" && size !== "4") throw new UsageError("--containers: 1, 4 or 1,4");
    return size === "1" ? 1 : 4;
  });
  const lab = await Lab.open(settings, io);
  const endLoad = startLoad(loops);
  let results: SoakResult[];
  try {
    results = await Promise.all(sizes.map((containers) => soak(lab, { containers, rounds, loops })));
  } finally {
    endLoad();
    await lab.close();
  }
  for (const line of results.flatMap(soakTable)) io.print(line);
  if (values.out !== undefined) write(values.out, `${JSON.stringify(results)}\n`, io);
  return results.some((result) => result.violations.length > 0) ? 1 : 0;
}

/** Processes that never rest, at the same priority as everything else; the returned function ends them. */
function startLoad(loops: number): () => void {
  const children = Array.from({ length: loops }, () =>
    spawn(process.execPath, ["-e", "for(;;);"], { stdio: "ignore" }),
  );
  const end = (): void => {
    for (const child of children) child.kill("SIGKILL");
  };
  process.once("exit", end);
  return () => {
    process.off("exit", end);
    end();
  };
}

interface SoakOrder {
  readonly containers: 1 | 4;
  readonly rounds: number;
  readonly loops: number;
}

/** After the last swap: what the kubelet would still undo, it undoes within two of its looks. */
const afterMs = 5_000;

async function soak(lab: Lab, { containers, rounds, loops }: SoakOrder): Promise<SoakResult> {
  const { io, settings } = lab;
  const name = `bench-swaps-${Math.floor(io.clock.now() / 1000)}-${containers}`;
  let pod = await lab.makePod({ name, by: "agent", containers });
  const uid = pod.metadata.uid ?? "";
  const watch = new InstanceWatch(lab.cri, uid, io);
  const violations: string[] = [];
  try {
    await watch.look();
    for (let round = 1; round <= rounds; round++) {
      if (round % 50 === 0) io.note(`pod of ${containers}: swap ${round} of ${rounds}`);
      const image = settings.images[round % 2] ?? settings.images[0];
      const { metadata } = await lab.setImage(pod, image);
      pod = (await lab.untilReplaced(pod, metadata.generation)).object;
      violations.push(...statusFaults(pod, image, round).map((fault) => `swap ${round}: ${fault}`));
      if (violations.length > 20) break;
    }
    await io.clock.sleep(afterMs, io.signal);
    const { object } = await lab.pods.until(name, "ready", (one) => readyContainers(one) !== undefined);
    violations.push(...statusFaults(object, object.spec?.containers[0]?.image ?? "", rounds));
    const instances = await watch.stop();
    violations.push(...doubles(instances).map((one) => `two instances ran: ${one}`));
    violations.push(...attemptFaults(instances, rounds));
    violations.push(...(await leftBehind(lab, uid)));
    return {
      containers,
      swaps: rounds,
      loops,
      load: loadavg(),
      handovers: handovers(instances),
      warnings: await warningsOf(lab, name),
      violations,
    };
  } finally {
    await watch.stop();
    await lab.removePod(name);
  }
}

/** What is wrong with the status of a pod that was swapped `restarts` times. Pure. */
export function statusFaults(pod: Pod, image: string, restarts: number): string[] {
  return (pod.status?.containerStatuses ?? []).flatMap((status) => [
    ...(status.restartCount === restarts
      ? []
      : [`${status.name} was restarted ${status.restartCount} times`]),
    ...(status.image.endsWith(image) ? [] : [`${status.name} is of ${status.image}`]),
    ...(status.state?.running ? [] : [`${status.name} is ${status.state?.waiting?.reason ?? "not running"}`]),
  ]);
}

/** Each attempt has run once: none was made in vain, none was left out. Pure. */
export function attemptFaults(instances: readonly Instance[], swaps: number): string[] {
  const names = [...new Set(instances.map((one) => one.name))];
  return names.flatMap((name) => {
    const attempts = instances.filter((one) => one.name === name && one.startedAt < Infinity);
    const exact =
      attempts.length === swaps + 1 && new Set(attempts.map((one) => one.attempt)).size === swaps + 1;
    return exact ? [] : [`${name}: ${attempts.length} instances ran for ${swaps} swaps`];
  });
}

/** Placeholders of the pod that nobody removed. */
async function leftBehind(lab: Lab, uid: string): Promise<string[]> {
  const [sandbox] = (
    await lab.cri.call(methods.ListPodSandbox, {
      filter: { label_selector: { "io.kubernetes.pod.uid": uid } },
    })
  ).items;
  const { containers } = await lab.cri.call(methods.ListContainers, {
    filter: {
      pod_sandbox_id: sandbox?.id ?? "",
      label_selector: { "agent.refit/placeholder": "true" },
    },
  });
  return containers.map(
    (one) => `a placeholder is left: attempt ${one.metadata?.attempt} of ${one.metadata?.name}`,
  );
}

interface PodEvent extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly count?: number;
}
const events = jsonResource<PodEvent>({
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
});

async function warningsOf(lab: Lab, pod: string): Promise<Record<string, number>> {
  const fieldSelector = `involvedObject.name=${pod},type=Warning`;
  const { items } = await lab.client.list(events, { namespace, fieldSelector });
  const counts: Record<string, number> = {};
  for (const { reason = "", count = 1 } of items) counts[reason] = (counts[reason] ?? 0) + count;
  return counts;
}

export function soakTable(result: SoakResult): string[] {
  const of = (pick: (one: Handover) => number): string => {
    const sorted = ascending(result.handovers.map(pick));
    const [half, most, last] = [0.5, 0.99, 1].map((at) => quantile(sorted, at).toFixed(0));
    return `median ${half}, 99 % ${most}, longest ${last} ms`;
  };
  const warnings = Object.entries(result.warnings).map(([reason, count]) => `${count} ${reason}`);
  return [
    `${result.swaps} swaps of a pod of ${result.containers}, ${result.loops} busy loops, load average ${result.load.map((one) => one.toFixed(1)).join(" ")}`,
    `  no instance running: ${of((one) => one.gapMs)}`,
    `  of it until the new one was created: ${of((one) => one.createMs)}`,
    `  of it until the new one ran: ${of((one) => one.startMs)}`,
    `  warnings: ${warnings.join(", ") || "none"}`,
    ...result.violations.map((violation) => `  VIOLATION ${violation}`),
  ];
}
