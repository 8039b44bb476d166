/** What is stuck, of many objects: those whose status says that something is left to do are explained one by one. */
import type { FeatureGates } from "../../controller/index.ts";
import { counted, keyOf } from "../../kube/core/index.ts";
import { isKubeError, listAll } from "../../kube/index.ts";
import type { Call, ClusterAccess } from "../command.ts";
import { CliError, describeError } from "../errors.ts";
import { type AnyObject, at, countAt, listAt, numberAt, textAt } from "../fields.ts";
import { type AnswerFormat, printObject } from "../object_output.ts";
import { inNamespace, objectResource, pluralName, type ResourceType } from "../resource_types.ts";
import { workloadNamed } from "../rollout/workloads.ts";
import type { Target } from "../target.ts";
import { age, textTable } from "../text_table.ts";
import { answerOf, cannotTell, exitCodeOf, nextLines, rolesFor, type State, stateOf } from "./answer.ts";
import { conditionsOf, timeAt } from "./causes/pod_facts.ts";
import { minute } from "./causes/pod_reason.ts";
import { missingRight, type Unread } from "./causes/reader.ts";
import { shownText } from "./causes/shown_text.ts";
import { reportsFailure } from "./causes/subject_reasons.ts";
import { type Explanation, explain, explainedType, isExplained } from "./explain.ts";
import { WorkloadLists } from "./workload_lists.ts";

/** More are counted, not explained. */
const mostExplained = 200;
const atATime = 8;
/** What has been under way for so long is shown as well. */
const slowMs = 10 * minute;
/** One a node: what they wait for is in the object that asks for it. */
const ofNodes: readonly string[] = ["NodeImage", "NodePodProbe"];
const builtin: readonly (readonly [group: string, kind: string])[] = [
  ["apps", "Deployment"],
  ["apps", "StatefulSet"],
  ["apps", "DaemonSet"],
  ["batch", "Job"],
];

interface Found {
  readonly target: Target;
  readonly stored: AnyObject;
}

interface Answer extends Found {
  readonly state: State;
  readonly explanation: Explanation;
}

export async function runOverview(
  call: Call,
  gates: FeatureGates,
  format: AnswerFormat | undefined,
): Promise<number> {
  const access = await call.cluster();
  const { found, unread: unlisted } = await objectsOf(call, access, await typesOf(call, access));
  const suspects = found.filter(mayBeHeldUp);
  const { answers, unexplained } = await explainEach(call, access, gates, suspects.slice(0, mostExplained));
  const unread = [...unlisted, ...unexplained];
  const now = call.host.clock.now();
  const held = answers.filter((answer) => isHeldUp(answer, now)).sort(byNeed);
  const counts = { objects: found.length, notExplained: Math.max(0, suspects.length - mostExplained) };
  if (format === undefined) printTable(call, access, held, { ...counts, unread });
  else {
    const items = held.map(({ target, explanation }) =>
      answerOf(target, explanation, nextLines(explanation.forecast, target.type)),
    );
    printObject(call, { items, ...counts, unread }, format);
  }
  return exitCodeOf([...held.map(({ state }) => state), ...(unread.length > 0 ? ["unknown" as const] : [])]);
}

async function explainEach(
  { host }: Call,
  access: ClusterAccess,
  gates: FeatureGates,
  suspects: readonly Found[],
): Promise<{ answers: Answer[]; unexplained: Unread[] }> {
  const lists = new WorkloadLists(access);
  const answers: Answer[] = [];
  const unexplained: Unread[] = [];
  const rest = suspects.values();
  const work = async (): Promise<void> => {
    for (const { target, stored } of rest) {
      try {
        const explanation = await explain({ access, target, stored, gates, host, lists });
        answers.push({ target, stored, explanation, state: stateOf(explanation) });
      } catch (error) {
        // One that was deleted meanwhile, or cannot be planned, keeps nobody from the others.
        if (!(error instanceof CliError) && !isKubeError(error)) throw error;
        if (!isKubeError(error, "NotFound"))
          unexplained.push({ what: shortName(target), why: shownText(describeError(error)) });
      }
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  return { answers, unexplained };
}

const isEverywhere = ({ flags }: Call): boolean => flags.on("all-namespaces");

async function typesOf(call: Call, access: ClusterAccess): Promise<ResourceType[]> {
  const [word] = call.words;
  if (word !== undefined && word !== "all") {
    const types = await Promise.all(word.split(",").map((name) => typeNamed(access, name)));
    return types.map(explainedType);
  }
  const own = await Promise.all(
    ["apps.kruise.io", "policy.kruise.io"].map((group) => access.types.preferred(group)),
  );
  const others = await Promise.all(builtin.map(([group, kind]) => access.types.findKind(group, kind)));
  return [...own.flat(), ...others]
    .filter((type) => type !== undefined)
    .filter((type) => isExplained(type) && !ofNodes.includes(type.kind))
    .filter(({ namespaced }) => namespaced || isEverywhere(call));
}

async function typeNamed({ types }: ClusterAccess, word: string): Promise<ResourceType> {
  try {
    return await types.find(word);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    throw new CliError(`${error.message}; an object is named after its type, as clone/${word}`, {
      cause: error,
    });
  }
}

async function objectsOf(
  call: Call,
  access: ClusterAccess,
  types: readonly ResourceType[],
): Promise<{ found: Found[]; unread: Unread[] }> {
  const unread: Unread[] = [];
  const labelSelector = call.flags.text("selector");
  const ofTypes = await Promise.all(
    types.map(async (type): Promise<Found[]> => {
      const scope = type.namespaced && !isEverywhere(call) ? { namespace: access.namespace } : {};
      try {
        const objects = await listAll(access.client, objectResource(type), { ...scope, labelSelector });
        return objects.map((stored) => ({ target: targetOf(type, stored), stored }));
      } catch (error) {
        if (!isKubeError(error)) throw error;
        const rule = missingRight(error.message);
        unread.push({ what: pluralName(type), why: shownText(error.message), ...(rule ? { rule } : {}) });
        return [];
      }
    }),
  );
  const isAsked = call.words.length > 0;
  return { found: ofTypes.flat().filter(({ stored }) => isAsked || !isControlled(stored)), unread };
}

function targetOf(type: ResourceType, { metadata: { namespace, name = "" } }: AnyObject): Target {
  return { type, ref: type.namespaced && namespace !== undefined ? { namespace, name } : { name } };
}

/** What it waits for is told of its owner. */
function isControlled(object: AnyObject): boolean {
  return listAt(object, "metadata", "ownerReferences").some((owner) => at(owner, "controller") === true);
}

/** By its status alone, which costs no request. */
function mayBeHeldUp({ target, stored }: Found): boolean {
  const conditions = conditionsOf(stored["status"]);
  if (stored.metadata.deletionTimestamp !== undefined || reportsFailure(conditions)) return true;
  const workload = workloadNamed(target.type);
  // `Complete` of a job, `Ready` of a pod.
  const isWell = ["Complete", "Ready"].some((type) => conditions.get(type)?.status === "True");
  if (workload === undefined) return !isWell && !hasEndedWell(stored);
  return workload.progress(stored).state !== "done" || hasUnreadyPods(stored);
}

function hasUnreadyPods({ spec, status }: AnyObject & { spec?: unknown; status?: unknown }): boolean {
  const wanted = numberAt(spec, "replicas") ?? numberAt(status, "desiredNumberScheduled") ?? 0;
  return Math.max(countAt(status, "readyReplicas"), countAt(status, "numberReady")) < wanted;
}

/** An image pull, a recreation of containers or a job of this API, none of whose parts failed. */
function hasEndedWell(object: AnyObject): boolean {
  const status = object["status"];
  return textAt(status, "completionTime") !== undefined && countAt(status, "failed") === 0;
}

function isHeldUp({ state, explanation: { causes } }: Answer, now: number): boolean {
  if (state === "progressing") return now - (causes[0]?.since ?? now) > slowMs;
  return state !== "done";
}

const needs: Readonly<Record<State, number>> = { stuck: 0, unknown: 1, waiting: 2, progressing: 3, done: 4 };

/** What is stuck first, of that what has been for the longest time; then by name. */
function byNeed(a: Answer, b: Answer): number {
  const since = ({ explanation }: Answer): number => explanation.causes[0]?.since ?? Number.MAX_SAFE_INTEGER;
  const name = ({ target }: Answer): string => `${keyOf(target.ref)} ${target.type.kind}`;
  return needs[a.state] - needs[b.state] || since(a) - since(b) || (name(a) < name(b) ? -1 : 1);
}

/** As it can be pasted: `clone/web`. */
function shortName({ type, ref }: Target): string {
  return `${type.shortNames[0] ?? type.singular}/${ref.name}`;
}

function printTable(
  call: Call,
  access: ClusterAccess,
  held: readonly Answer[],
  { objects, notExplained, unread }: { objects: number; notExplained: number; unread: readonly Unread[] },
): void {
  const everywhere = isEverywhere(call);
  if (unread.length > 0) {
    call.print(`Cannot tell of all: ${cannotTell(unread)}.`);
    for (const command of rolesFor(unread)) call.print(`  ask for: ${command}`);
  }
  if (held.length === 0) {
    const where = everywhere ? "" : ` in namespace ${access.namespace}`;
    const nothing = unread.length > 0 ? "Of what could be read nothing" : "Nothing";
    if (unread.length === 0 || objects > 0)
      call.print(`${nothing} is held up: ${counted(objects, "object")} looked at${where}.`);
    return;
  }
  const now = call.host.clock.now();
  const rows = held.map(({ target, stored, state, explanation: { causes } }) => {
    const [first] = causes;
    const since = first?.since ?? timeAt(stored, "metadata", "creationTimestamp");
    const next = `refit why ${shortName(target)}${inNamespace(target.ref.namespace)}`;
    const cells = [
      shortName(target),
      state,
      first?.since === undefined ? `<${age(now - (since ?? now))}` : age(now - first.since),
      first?.reason ?? "CannotTell",
      first?.next ?? next,
    ];
    return everywhere ? [target.ref.namespace ?? "", ...cells] : cells;
  });
  const header = ["OBJECT", "STATE", "SINCE", "REASON", "NEXT"];
  for (const line of textTable(everywhere ? ["NAMESPACE", ...header] : header, rows)) call.print(line);
  if (notExplained > 0) call.print(`… and ${notExplained} more that were not looked into`);
}
