import { formatSelector } from "../../kube/core/index.ts";
import { parseDuration } from "../arguments.ts";
import type { Call, ClusterAccess, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, isFields, listAt, selectorAt, textAt } from "../fields.ts";
import { follow } from "../follow.ts";
import { listAll } from "../list.ts";
import { objectName } from "../resource_types.ts";
import { oneTarget, readTarget, type Target } from "../target.ts";
import { runningRevision } from "./revisions.ts";
import { type Workload, workloadOf } from "./workloads.ts";

/** A rollout that stands still for this long is asked why. */
const stillMs = 5000;

export const rolloutStatus: Command = {
  name: "rollout status",
  summary: "Follow a rollout until it is done, and say why it waits.",
  usage: "TYPE/NAME [-w=false] [--detail] [--revision N] [--timeout TIME]",
  details: `Exits with 0 when the rollout is done, with 1 when it failed, was replaced or timed out.
A rollout that stands still is explained on standard error, as "refit why" does.`,
  examples: ["refit rollout status clone/sample", "refit rollout status asts/web --timeout 5m"],
  flags: {
    watch: { kind: "switch", short: "w", default: "true", help: "Follow until the rollout is done." },
    detail: { kind: "switch", short: "d", help: "Name the updated pods, ready and not ready." },
    revision: { kind: "text", value: "N", help: "Fail when another revision becomes the newest." },
    timeout: { kind: "text", value: "TIME", default: "0s", help: "Give up after this time; 0s means never." },
  },
  run: runStatus,
};

async function runStatus(call: Call): Promise<number> {
  const target = await oneTarget(call);
  const workload = workloadOf(target.type, "rollout status");
  const access = await call.cluster();
  const revision = call.flags.integer("revision", 0) ?? 0;
  const reporter = new StatusReporter(call, access, target, workload, revision);
  if (!call.flags.on("watch")) {
    await reporter.report(await readTarget(access, target));
    return 0;
  }
  const timeoutMs = parseDuration(call.flags.text("timeout") ?? "0s");
  if (timeoutMs === undefined) throw new CliError("--timeout must be a duration such as 5m");
  return followStatus(call, access, target, reporter, timeoutMs);
}

async function followStatus(
  call: Call,
  access: ClusterAccess,
  target: Target,
  reporter: StatusReporter,
  timeoutMs: number,
): Promise<number> {
  const stop = new AbortController();
  const signal = AbortSignal.any([call.io.signal, stop.signal]);
  let hasTimedOut = false;
  const timer = timeoutMs > 0 ? call.host.clock.after(timeoutMs, onTimeout) : undefined;
  function onTimeout(): void {
    hasTimedOut = true;
    stop.abort();
  }
  try {
    for await (const object of follow(access, target, call.host.clock, signal)) {
      if (object === undefined) throw new CliError(`${objectName(target.type, target.ref.name)} was deleted`);
      if (await reporter.report(object)) return 0;
    }
  } finally {
    timer?.cancel();
    reporter.stop();
    stop.abort();
  }
  if (hasTimedOut) throw new CliError("timed out waiting for the condition");
  return 130;
}

/** Prints each new state once; explains a state that lasts. */
class StatusReporter {
  readonly #call: Call;
  readonly #access: ClusterAccess;
  readonly #target: Target;
  readonly #workload: Workload;
  readonly #wantedRevision: number;
  #last = "";
  #explained = "";
  #still: { cancel(): void } | undefined;

  constructor(call: Call, access: ClusterAccess, target: Target, workload: Workload, wantedRevision: number) {
    this.#call = call;
    this.#access = access;
    this.#target = target;
    this.#workload = workload;
    this.#wantedRevision = wantedRevision;
  }

  stop(): void {
    this.#still?.cancel();
  }

  /** Resolves to true when the rollout is done. Throws CliError when it failed. */
  async report(object: AnyObject): Promise<boolean> {
    await this.#checkRevision(object);
    const counted = await this.#workload.counted?.(this.#access, object);
    const progress = this.#workload.progress(counted ?? object);
    if (progress.state === "failed") throw new CliError(progress.message);
    if (progress.message !== this.#last) {
      this.#last = progress.message;
      if (progress.state === "waiting" && progress.isRemark === true) this.#call.warn(progress.message);
      else this.#call.print(progress.message);
      if (this.#call.flags.on("detail")) await this.#printDetail(object);
      this.#explainLater(progress.state === "waiting");
    }
    return progress.state === "done";
  }

  async #checkRevision(object: AnyObject): Promise<void> {
    if (this.#wantedRevision === 0) return;
    const running = await runningRevision(this.#access, this.#workload, object);
    if (running === undefined || running === this.#wantedRevision) return;
    throw new CliError(
      `desired revision (${this.#wantedRevision}) is different from the running revision (${running})`,
    );
  }

  #explainLater(isWaiting: boolean): void {
    this.#still?.cancel();
    this.#still = undefined;
    if (!isWaiting || !this.#call.flags.on("watch")) return;
    this.#still = this.#call.host.clock.after(stillMs, () => {
      this.#explain().catch((error: unknown) => this.#call.warn(`  cannot tell why: ${String(error)}`));
    });
  }

  async #explain(): Promise<void> {
    // Loaded when needed: it brings the whole controller.
    const { reasonsOf } = await import("../why/planners.ts");
    const reasons = await reasonsOf(this.#access, this.#target, this.#call.host);
    const text = reasons.map((reason) => `  ${this.#call.paint("yellow", "waits:")} ${reason}`).join("\n");
    if (text === "" || text === this.#explained) return;
    this.#explained = text;
    this.#call.warn(text);
  }

  async #printDetail(object: AnyObject): Promise<void> {
    const { ready, unready } = await updatedPods(this.#access, this.#workload, object);
    this.#call.print(`Updated ready pods: [${ready.join(" ")}]`);
    this.#call.print(`Updated not ready pods: [${unready.join(" ")}]`);
  }
}

async function updatedPods(
  access: ClusterAccess,
  workload: Workload,
  owner: AnyObject,
): Promise<{ ready: string[]; unready: string[] }> {
  const type = await access.types.find("pods");
  const labelSelector = formatSelector(selectorAt(owner, "spec", "selector"));
  const { namespace } = owner.metadata;
  const pods = await listAll(access.client, type, {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === "" ? {} : { labelSelector }),
  });
  const { isUpdated } = await workload.revised();
  const ready: string[] = [];
  const unready: string[] = [];
  for (const pod of pods) {
    if (!isUpdated(pod, owner)) continue;
    const { name = "" } = pod.metadata;
    const shown = namespace === undefined ? `${pod.metadata.namespace ?? ""}/${name}` : name;
    (isReady(pod) ? ready : unready).push(shown);
  }
  return { ready: ready.sort(), unready: unready.sort() };
}

export function isReady(pod: AnyObject): boolean {
  const condition = listAt(pod, "status", "conditions").find(
    (candidate) => textAt(candidate, "type") === "Ready",
  );
  return isFields(condition) && condition["status"] === "True";
}
