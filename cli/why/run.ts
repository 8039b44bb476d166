import type { FeatureGates, Waiting } from "../../controller/index.ts";
import { counted } from "../../kube/core/index.ts";
import type { Call, ClusterAccess } from "../command.ts";
import { CliError } from "../errors.ts";
import { featureGates } from "../feature_gates.ts";
import { sentenceWidth } from "../io.ts";
import { readManifests } from "../manifest_input.ts";
import { isTypeName, targetOrWorkload } from "../named_workload.ts";
import { type AnswerFormat, answerFormat, printObject } from "../object_output.ts";
import { objectName } from "../resource_types.ts";
import { oneTarget, readTarget, type Target } from "../target.ts";
import { wrapped } from "../text_table.ts";
import { answerOf, cannotTell, exitCodes, nextLines, rolesFor, stateOf } from "./answer.ts";
import type { Cause } from "./causes/cause.ts";
import { describeEnd, describeWaiting } from "./describe.ts";
import { type Explanation, explain, explainedType } from "./explain.ts";
import type { Forecast } from "./forecast.ts";
import { planAnswer } from "./plan_answer.ts";
import { manifestItem, noPlans, type PlanItem, storedItem } from "./plan_items.ts";

export async function runWhy(call: Call): Promise<number> {
  const format = answerFormat(call);
  if (await isAboutMany(call))
    return (await import("./overview.ts")).runOverview(call, gatesOf(call), format);
  const target = await targetOrWorkload(call);
  refuseSelection(call);
  explainedType(target.type);
  const access = await call.cluster();
  const stored = await readTarget(access, target);
  const explanation = await explain({ access, target, stored, gates: gatesOf(call), host: call.host });
  const next = nextLines(explanation.forecast, target.type);
  if (format !== undefined) printObject(call, answerOf(target, explanation, next), format);
  else printAnswer(call, target, explanation, next);
  return exitCodes[stateOf(explanation)];
}

/** No object is named, or one word that is a type, or several types with commas. */
async function isAboutMany(call: Call): Promise<boolean> {
  const [word, ...names] = call.words;
  if (word === undefined || call.flags.on("all-namespaces") || call.flags.given("selector"))
    return names.length === 0 && word?.includes("/") !== true;
  if (names.length > 0 || word.includes("/")) return false;
  return word === "all" || word.includes(",") || isTypeName(await call.cluster(), word);
}

/** Flags that choose among many objects say nothing of one that is named. */
function refuseSelection({ flags, words }: Call): void {
  const flag = flags.on("all-namespaces") ? "-A" : flags.text("selector") === undefined ? undefined : "-l";
  if (flag !== undefined)
    throw new CliError(
      `${flag} chooses among objects, but ${words.join(" ")} is named: leave out one of them`,
    );
}

function printAnswer(call: Call, { type, ref }: Target, explanation: Explanation, next: string[]): void {
  const { forecast, causes, message, isReport, missing, unread } = explanation;
  call.print(`${call.paint("bold", objectName(type, ref.name))}: ${message}`);
  if (missing.length > 0) {
    call.print(`Cannot tell all that holds it back: ${cannotTell(missing)}.`);
    for (const command of rolesFor(missing)) call.print(`  ask for: ${call.paint("cyan", command)}`);
  }
  printWaiting(call, causes, isReport ? "reports" : "waits for");
  if (causes.some(({ stopsController }) => stopsController)) printLines(call, "Once that is over:", next);
  else if (causes.length > 0) printLines(call, "Meanwhile:", next);
  else if (missing.length > 0) printLines(call, "The controller acts next:", next);
  else if (isReport) call.print("It reports no problem.");
  else if (next.length === 0) call.print("Nothing holds it back.");
  else printLines(call, "Nothing holds it back; the controller acts next:", next);
  if (forecast !== undefined) printNotices(call, forecast);
  if (unread.length > 0)
    call.print(`Note: not read: ${unread.map(({ what, why }) => `${what} (${why})`).join(", ")}.`);
}

export async function runPlan(call: Call): Promise<number> {
  const format = answerFormat(call);
  const access = await call.cluster();
  const items = await itemsOf(call, access);
  if (format !== undefined) return printPlanAnswers(call, access, items, format);
  for (const item of items) printPlan(call, item, await forecastOf(call, access, item));
  return 0;
}

async function printPlanAnswers(
  call: Call,
  access: ClusterAccess,
  items: readonly PlanItem[],
  format: AnswerFormat,
): Promise<number> {
  const answers: object[] = [];
  for (const item of items) answers.push(planAnswer(item.target, await forecastOf(call, access, item)));
  const [only] = answers;
  const isList = call.flags.given("filename") || only === undefined;
  printObject(call, isList ? { items: answers } : only, format);
  return 0;
}

async function itemsOf(call: Call, access: ClusterAccess): Promise<PlanItem[]> {
  const file = call.flags.text("filename");
  if (file !== undefined && call.words.length > 0)
    throw new CliError(`name an object or a manifest, not both: "${call.words[0]}" and -f ${file}`);
  if (file === undefined) {
    return [await storedItem(access, await oneTarget(call))];
  }
  const items: PlanItem[] = [];
  for (const manifest of await readManifests(call, [file])) {
    const item = await manifestItem(access, manifest, file);
    if (item !== undefined) items.push(item);
  }
  if (items.length === 0) throw new CliError(`${file}: ${noPlans}`);
  return items;
}

function forecastOf(call: Call, access: ClusterAccess, { subject, planner }: PlanItem): Promise<Forecast> {
  return planner.forecast({ access, subject, gates: gatesOf(call), host: call.host });
}

function printPlan(call: Call, { target }: PlanItem, forecast: Forecast): void {
  const { type, ref } = target;
  const { summary, waiting, requeueAfterMs } = forecast;
  printSentence(call, `${call.paint("bold", objectName(type, ref.name))}: ${summary}`);
  const next = nextLines(forecast, type);
  if (next.length === 0) call.print("Nothing to do.");
  printLines(call, "Next:", next);
  printWaiting(call, waiting);
  printNotices(call, forecast);
  if (requeueAfterMs !== undefined) call.print(`Looks again after ${(requeueAfterMs / 1000).toFixed(1)} s.`);
}

function printNotices(call: Call, { notices = [] }: Forecast): void {
  for (const notice of notices) printSentence(call, `Note: ${notice}.`);
}

function printSentence(call: Call, sentence: string): void {
  for (const line of wrapped(sentence, sentenceWidth(call.io))) call.print(line);
}

const gatesOf = ({ flags }: Call): FeatureGates => featureGates(flags.text("feature-gates") ?? "");

const mostLines = 40;
const mostReasons = 12;
/** Of a column of words, in cells. */
const leastRoom = 30;

function printWaiting(
  call: Call,
  waiting: readonly (Waiting & Partial<Cause>)[],
  verb: "waits for" | "reports" = "waits for",
): void {
  if (waiting.length === 0) return;
  const noun = verb === "reports" ? "problem" : "reason";
  call.print(`It ${verb} ${waiting.length === 1 ? `one ${noun}` : counted(waiting.length, noun)}:`);
  const width = Math.max(...waiting.map(({ reason }) => reason.length));
  const now = call.host.clock.now();
  const shown = waiting.slice(0, mostReasons);
  const below = " ".repeat(width + 2);
  // Commands that are to be pasted stay whole.
  const room = Math.max(leastRoom, sentenceWidth(call.io) - width - 4);
  for (const entry of shown) {
    const [first = "", ...others] = wrapped(describeWaiting(entry), room);
    call.print(`  ${call.paint("yellow", entry.reason.padEnd(width))}  ${first}`);
    for (const line of [...others, ...wrapped(describeEnd(entry, now), room)])
      call.print(`  ${below}${line}`);
    if (entry.next !== undefined) call.print(`  ${below}next: ${call.paint("cyan", entry.next)}`);
  }
  if (waiting.length > mostReasons) call.print(`  … and ${waiting.length - mostReasons} more`);
}

function printLines(call: Call, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  call.print(title);
  for (const line of lines.slice(0, mostLines)) call.print(`  ${line}`);
  if (lines.length > mostLines) call.print(`  … and ${lines.length - mostLines} more`);
}
