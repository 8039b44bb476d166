import { formatSelector } from "../../kube/core/index.ts";
import { listAll } from "../../kube/index.ts";
import { parseDuration, switchFlag, textFlag } from "../arguments.ts";
import type { Call, ClusterAccess, Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, conditionOf, selectorAt, textAt } from "../fields.ts";
import { follow } from "../follow.ts";
import { sentenceWidth } from "../io.ts";
import { targetOrWorkload } from "../named_workload.ts";
import { type AnswerFormat, answerFlag, answerFormat, printObject } from "../object_output.ts";
import { redrawingTerminal } from "../redrawn_lines.ts";
import { inNamespace, objectName, objectResource } from "../resource_types.ts";
import { readTarget, type Target } from "../target.ts";
import { wrapped } from "../text_table.ts";
import type { FirstCause } from "../why/explain.ts";
import { LiveStatus } from "./live_status.ts";
import type { Progress } from "./progress.ts";
import { runningRevision } from "./revisions.ts";
import {
  rolloutExitCodes as exitCodes,
  RolloutEnd,
  type SeenRollout,
  statusAnswer,
} from "./status_answer.ts";
import { progressOf, type Workload, workloadOf } from "./workloads.ts";

/** A rollout that stands still for this long is explained, then again after twice the time, and so on. */
const stillMs = 5000;
const longestStillMs = 60_000;

/** The last line waits no longer for its reason. */
const longestTellingMs = 5_000;

/** Without a terminal, where every line is kept: the newest state, this often at most. */
const betweenLinesMs = 2000;

export const rolloutStatus: Command = {
  name: "rollout status",
  summary: "Follow a rollout until it is done, and say why it waits.",
  usage: "TYPE/NAME|NAME [-w=false] [--detail] [--revision N] [--timeout TIME] [--give-up=false]",
  details: `While a rollout stands still, the first reason that "refit why" names is printed on standard error. A terminal shows a
bar instead, with the pods by state, the reason, and how long the rest takes at the pace so far.
With -o one object is printed in the end, and nothing before it.
Exit codes:
  ${exitCodes.done}    the rollout is done (with -w=false: its state was printed)
  ${exitCodes.failed}    it failed, was replaced or deleted, or timed out; the command line or the cluster was not as it should be
  ${exitCodes.stuck}    it cannot go on by itself: it is paused, or what holds it back stays until somebody acts
  ${exitCodes.interrupted}  Ctrl-C`,
  examples: ["refit rollout status clone/sample", "refit rollout status asts/web --timeout 5m"],
  flags: {
    watch: switchFlag("Follow until the rollout is done.", { short: "w", default: "true" }),
    detail: switchFlag("Name the updated pods, ready and not ready.", { short: "d" }),
    revision: textFlag("N", "Fail when another revision becomes the newest."),
    timeout: textFlag("TIME", "Give up after this time; 0s means never.", { default: "0s" }),
    "give-up": switchFlag(
      `End with ${exitCodes.stuck} once the rollout cannot go on by itself; otherwise follow it all the same.`,
      { default: "true" },
    ),
    ...answerFlag,
  },
  run: runStatus,
};

async function runStatus(call: Call): Promise<number> {
  const format = answerFormat(call);
  const target = await targetOrWorkload(call);
  const workload = workloadOf(target.type, "rollout status");
  const access = await call.cluster();
  const revision = call.flags.integer("revision", 0) ?? 0;
  const stop = new AbortController();
  const reporter = new StatusReporter(call, access, target, workload, revision, (why) => stop.abort(why));
  const timeoutMs = parseDuration(call.flags.text("timeout") ?? "0s");
  if (timeoutMs === undefined) throw new CliError("--timeout must be a duration such as 5m");
  const reported = call.flags.on("watch")
    ? followStatus(call, access, target, reporter, { timeoutMs, stop })
    : readTarget(access, target).then(async (object) => {
        await reporter.report(object);
        return exitCodes.done;
      });
  const ended = format === undefined ? reported : answered(call, target, reporter, format, reported);
  return ended.catch((error: unknown) => {
    throw error instanceof RolloutEnd ? lastLines(call, error) : error;
  });
}

/** The same end, in lines that a terminal does not cut. */
function lastLines({ io }: Call, { message, exitCode }: RolloutEnd): CliError {
  const [first = "", ...others] = statusSentence(`error: ${message}`, sentenceWidth(io));
  return new CliError([first.slice("error: ".length), ...others].join("\n"), { exitCode });
}

/** A command to paste stays in one line. */
function statusSentence(text: string, width: number): string[] {
  const tied = text.replace(/"refit [^"]*"/g, (command) => command.replaceAll(" ", "\u00a0"));
  return wrapped(tied, width).map((line) => line.replaceAll("\u00a0", " "));
}

/** The end of a rollout as an object; where it is an error, that goes to standard error as always. */
async function answered(
  call: Call,
  target: Target,
  reporter: StatusReporter,
  format: AnswerFormat,
  reported: Promise<number>,
): Promise<number> {
  try {
    const code = await reported;
    const isInterrupted = code === exitCodes.interrupted;
    printObject(call, statusAnswer(target, reporter.seen, isInterrupted ? "Interrupted" : undefined), format);
    return code;
  } catch (error) {
    if (error instanceof RolloutEnd) printObject(call, statusAnswer(target, reporter.seen, error), format);
    throw error;
  }
}

async function followStatus(
  call: Call,
  access: ClusterAccess,
  target: Target,
  reporter: StatusReporter,
  { timeoutMs, stop }: { timeoutMs: number; stop: AbortController },
): Promise<number> {
  const signal = AbortSignal.any([call.io.signal, stop.signal]);
  const timer =
    timeoutMs > 0
      ? call.host.clock.after(timeoutMs, async () => stop.abort(await reporter.timedOut()))
      : undefined;
  try {
    for await (const object of follow(access, target, call.host.clock, signal)) {
      if (object === undefined)
        throw new RolloutEnd("Deleted", `${objectName(target.type, target.ref.name)} was deleted`);
      if (await reporter.report(object)) return exitCodes.done;
    }
  } finally {
    timer?.cancel();
    reporter.stop();
  }
  if (stop.signal.aborted) throw stop.signal.reason;
  return exitCodes.interrupted;
}

interface State {
  readonly progress: Progress;
  readonly object: AnyObject;
}

/** Prints each new state once, on a terminal all of them; explains a state that lasts. */
class StatusReporter {
  readonly #call: Call;
  readonly #access: ClusterAccess;
  readonly #target: Target;
  readonly #workload: Workload;
  readonly #wantedRevision: number;
  #last = "";
  #explained = "";
  #still: { cancel(): void } | undefined;
  #stillMs = stillMs;
  /** Runs for a while after each line that is kept. */
  #pause: { cancel(): void } | undefined;
  /** What the pause holds back. */
  #newest: State | undefined;
  readonly #giveUp: (why: CliError) => void;
  /** On a terminal, in the place of lines. */
  readonly #live: LiveStatus | undefined;
  #seen: SeenRollout = {};

  /** `giveUp` is called once the rollout cannot go on by itself. */
  constructor(
    call: Call,
    access: ClusterAccess,
    target: Target,
    workload: Workload,
    wantedRevision: number,
    giveUp: (why: CliError) => void,
  ) {
    this.#giveUp = giveUp;
    this.#call = call;
    this.#access = access;
    this.#target = target;
    this.#workload = workload;
    this.#wantedRevision = wantedRevision;
    this.#live = liveStatusOf(call, target);
  }

  /** The newest state, for who prints it in the end. */
  get seen(): SeenRollout {
    return this.#seen;
  }

  /** Nothing is printed or explained any more, but the state that was held back last. */
  stop(): void {
    this.#stopExplaining();
    this.#live?.end();
    this.#pause?.cancel();
    this.#pause = undefined;
    if (this.#newest !== undefined) this.#printMessage(this.#newest.progress);
    else if (this.#live !== undefined && this.#seen.progress !== undefined)
      this.#say(this.#seen.progress.message);
    this.#newest = undefined;
  }

  #stopExplaining(): void {
    this.#still?.cancel();
    this.#still = undefined;
  }

  /** Resolves to true when the rollout is done. Throws CliError when it failed. */
  async report(object: AnyObject): Promise<boolean> {
    await this.#checkRevision(object);
    const progress = await progressOf(this.#workload, this.#access, object);
    this.#seen = { progress, ...(await this.#detailOf(object)) };
    if (progress.state === "failed") throw new RolloutEnd("Failed", progress.message);
    this.#live?.show(object, progress.message);
    if (progress.message !== this.#last) {
      this.#last = progress.message;
      if (this.#live !== undefined) this.#live.waits("");
      else if (this.#pause !== undefined && progress.state === "waiting") this.#newest = { progress, object };
      else await this.#print({ progress, object });
      this.#explainLater(progress.state === "waiting");
    }
    return progress.state === "done";
  }

  async #print({ progress, object }: State): Promise<void> {
    this.#newest = undefined;
    this.#printMessage(progress);
    const isFollowed = progress.state === "waiting" && this.#call.flags.on("watch");
    if (isFollowed && !this.#call.io.isTTY) this.#holdBack();
    if (this.#call.flags.on("detail") && !this.#isAnswered) await this.#printDetail(object);
  }

  #printMessage(progress: Progress): void {
    if (this.#isAnswered) return;
    this.#say(progress.message, progress.state === "waiting" && progress.isRemark === true);
  }

  #say(message: string, isRemark = false): void {
    for (const line of statusSentence(message, sentenceWidth(this.#call.io)))
      if (isRemark) this.#call.warn(line);
      else this.#call.print(line);
  }

  #holdBack(): void {
    this.#pause = this.#call.host.clock.after(betweenLinesMs, async () => {
      this.#pause = undefined;
      if (this.#newest === undefined) return;
      await this.#print(this.#newest).catch((error: unknown) =>
        this.#call.warn(`  no details: ${String(error)}`),
      );
    });
  }

  async #checkRevision(object: AnyObject): Promise<void> {
    if (this.#wantedRevision === 0) return;
    const running = await runningRevision(this.#access, this.#workload, object);
    if (running === undefined || running === this.#wantedRevision) return;
    throw new RolloutEnd(
      "OtherRevision",
      `desired revision (${this.#wantedRevision}) is different from the running revision (${running})`,
    );
  }

  #explainLater(isWaiting: boolean): void {
    this.#stopExplaining();
    this.#stillMs = stillMs;
    if (isWaiting && this.#call.flags.on("watch")) this.#explainAfter(this.#stillMs);
  }

  #explainAfter(ms: number): void {
    const still = this.#call.host.clock.after(ms, async () => {
      await this.#explain().catch((error: unknown) => this.#call.warn(`  cannot tell why: ${String(error)}`));
      // Meanwhile the rollout may have got on, or the command ended.
      if (this.#still !== still) return;
      this.#stillMs = Math.min(longestStillMs, 2 * this.#stillMs);
      this.#explainAfter(this.#stillMs);
    });
    this.#still = still;
  }

  /** With the reason, where it can be told soon enough. */
  async timedOut(): Promise<RolloutEnd> {
    this.#stopExplaining();
    const told = this.#firstCause().then(
      ({ text }) => text,
      () => "",
    );
    const late = Promise.withResolvers<string>();
    const timer = this.#call.host.clock.after(longestTellingMs, () => late.resolve(""));
    const reason = await Promise.race([told, late.promise]);
    timer.cancel();
    const waits = reason === "" ? "" : `; it waits: ${reason}`;
    return new RolloutEnd("TimedOut", `timed out waiting for the condition${waits}`);
  }

  async #firstCause(): Promise<FirstCause> {
    // Loaded when needed: it brings the whole controller.
    const { explainRollout } = await import("../why/explain.ts");
    return await explainRollout(this.#access, this.#target, this.#call.host);
  }

  async #explain(): Promise<void> {
    const explained = await this.#firstCause();
    const { reason, text, key } = explained;
    if (reason === undefined) return;
    if (this.#live !== undefined) this.#live.waits(text);
    else if (key !== this.#explained) this.#call.warn(`  ${this.#call.paint("yellow", "waits:")} ${text}`);
    this.#explained = key;
    if (!explained.isStuck || !this.#call.flags.on("give-up")) return;
    this.#stopExplaining();
    const { type, ref } = this.#target;
    const why = `refit why ${objectName(type, ref.name)}${inNamespace(ref.namespace)}`;
    const message = `the rollout cannot go on by itself (${reason}); "${why}" says more`;
    this.#giveUp(new RolloutEnd(reason, message, "stuck"));
  }

  get #isAnswered(): boolean {
    return answerFormat(this.#call) !== undefined;
  }

  async #detailOf(object: AnyObject): Promise<Pick<SeenRollout, "updatedPods">> {
    if (!this.#isAnswered || !this.#call.flags.on("detail")) return {};
    const { ready, unready } = await updatedPods(this.#access, this.#workload, object);
    return { updatedPods: { ready, notReady: unready } };
  }

  async #printDetail(object: AnyObject): Promise<void> {
    const { ready, unready } = await updatedPods(this.#access, this.#workload, object);
    this.#call.print(`Updated ready pods: [${ready.join(" ")}]`);
    this.#call.print(`Updated not ready pods: [${unready.join(" ")}]`);
  }
}

/** Undefined where lines are asked for, or all that a terminal does is to keep them. */
function liveStatusOf({ io, paint, host, flags }: Call, { type, ref }: Target): LiveStatus | undefined {
  const terminal = redrawingTerminal(io);
  const wantsLines = !flags.on("watch") || flags.on("detail") || flags.given("output");
  if (terminal === undefined || wantsLines) return undefined;
  const title = objectName(type, ref.name);
  return new LiveStatus({ terminal, columns: io.columns, paint, clock: host.clock, title });
}

async function updatedPods(
  access: ClusterAccess,
  workload: Workload,
  owner: AnyObject,
): Promise<{ ready: string[]; unready: string[] }> {
  const type = await access.types.find("pods");
  const labelSelector = formatSelector(selectorAt(owner, "spec", "selector"));
  const { namespace } = owner.metadata;
  const pods = await listAll(access.client, objectResource(type), {
    namespace,
    labelSelector,
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

const isReady = (pod: AnyObject): boolean => textAt(conditionOf(pod, "Ready"), "status") === "True";
