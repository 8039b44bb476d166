/** `npm run simulate`: tells stories from seeds in some processes, and says which of them went wrong. */
import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Caught, record } from "./caught.ts";
import type { Mutant } from "./mutant.ts";
import { mutants } from "./mutants.ts";
import { report } from "./report.ts";
import { type Story, storyOf } from "./story.ts";
import type { Told } from "./worker.ts";

const usage = `Usage: npm run simulate -- [flags]

Tells what may happen to a cluster, each time another story: people, faults, controllers that die; and looks after each write whether
what must hold holds. Ends with 1 where it did not.

  --seeds N       stories (default 100)
  --from SEED     of the first story (default: from the time of day)
  --hours H       ends after so long, whatever is left (default: never)
  --workers N     processes (default 2)
  --replay FILE   tells the story of a file again
  --mutants       breaks the controller in each known way, and says which story finds it; what it says goes into
                  simulation/caught.json, from which the table of docs/correctness.md is made
  --mutant NAME   breaks it in this way; with --mutants only this one is judged`;

/** What dead processes of a story wait for stays in memory for good: Node keeps signals that are listened to. */
const storiesOfWorker = 250;

const folder = join(import.meta.dirname, "..", ".refit", "simulation");

interface Totals {
  told: number;
  simulatedMs: number;
  writes: number;
  steps: number;
  failures: Told[];
}

interface Order {
  readonly seeds: number;
  readonly from: number;
  readonly untilMs: number;
  readonly workers: number;
  readonly mutant: string;
  /** Stories without all of these texts are left out. */
  readonly needs: readonly string[];
  /** Ends with the first story that goes wrong. */
  readonly untilFailure: boolean;
}

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "100" },
      from: { type: "string" },
      hours: { type: "string" },
      workers: { type: "string", default: "2" },
      replay: { type: "string" },
      mutants: { type: "boolean", default: false },
      mutant: { type: "string", default: "" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  if (values.replay !== undefined) return replay(values.replay);
  const from = Number(values.from ?? Date.now() % 1_000_000_000);
  const untilMs =
    values.hours === undefined ? Number.POSITIVE_INFINITY : Date.now() + Number(values.hours) * 3_600_000;
  const order = {
    seeds: Number(values.seeds),
    from,
    untilMs,
    workers: Number(values.workers),
    mutant: values.mutant,
    needs: [],
  };
  if (values.mutants) return judgeMutants({ ...order, untilFailure: true });
  return judge({ ...order, untilFailure: values.mutant !== "" });
}

async function judge(order: Order): Promise<number> {
  const { seeds, from, workers } = order;
  console.log(`${seeds} stories from seed ${from} in ${workers} processes`);
  const started = Date.now();
  const totals = await tellAll(order, (so, { failure }) => {
    // At once: thousands of stories take an hour, and who ends them early has this one.
    if (failure !== undefined) keep(failure);
    if (so.told % 200 === 0) console.log(line(so, started));
  });
  console.log(line(totals, started));
  return totals.failures.length === 0 ? 0 : 1;
}

function keep({ story, run }: NonNullable<Told["failure"]>): void {
  const file = join(folder, `seed-${story.seed}.json`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${JSON.stringify(story, undefined, 2)}\n`);
  console.log(`\n${report(story, run)}\n\nAgain: npm run simulate -- --replay ${file}`);
}

function line({ told, simulatedMs, writes, steps, failures }: Totals, started: number): string {
  const took = Math.round((Date.now() - started) / 1000);
  const hours = (simulatedMs / 3_600_000).toFixed(1);
  return `${told} stories, ${hours} simulated hours in ${took} s, ${steps} steps, ${writes} writes of controllers, ${failures.length} went wrong`;
}

async function replay(file: string): Promise<number> {
  const story: Story = JSON.parse(readFileSync(file, "utf8"));
  // All of the product: who has workers tell stories does not wait for it.
  const { run } = await import("./run.ts");
  const result = await run(story);
  console.log(report(story, result));
  return result.violations.length === 0 ? 0 : 1;
}

async function judgeMutants(order: Order): Promise<number> {
  let caught = 0;
  let missed = 0;
  const judged = mutants.filter(({ name }) => order.mutant === "" || name === order.mutant);
  for (const mutant of judged) {
    const { name, survives } = mutant;
    const { check, text, stories } = await judgeMutant(order, mutant);
    if (check !== "") caught += 1;
    else if (survives === undefined) missed += 1;
    const verdict = check !== "" ? "caught" : survives === undefined ? "MISSED" : "survives";
    console.log(
      `${verdict.padEnd(8)}  ${name}: ${stories} stories; ${text || (survives ?? "none found it")}`,
    );
  }
  console.log(`${caught} of ${judged.length} mutants are caught, ${missed} are missed`);
  return missed === 0 ? 0 : 1;
}

async function judgeMutant(order: Order, { name, needs = [] }: Mutant): Promise<Caught> {
  const began = Date.now();
  const { stories, found } = await firstWrong({ ...order, mutant: name, needs });
  const { check = "", text = "" } = found?.failure?.run.violations[0] ?? {};
  const seconds = Math.ceil((Date.now() - began) / 1000);
  const result = { name, check, text, stories, seed: found?.seed ?? order.from, seconds };
  record(result);
  return result;
}

/** A story that goes wrong without the mutant, too, says nothing of it: the next ones are told. */
async function firstWrong(order: Order): Promise<{ stories: number; found?: Told }> {
  let { from } = order;
  let stories = 0;
  while (stories < order.seeds) {
    const { told, failures } = await tellAll(
      { ...order, from, seeds: order.seeds - stories },
      () => undefined,
    );
    stories += told;
    const [found] = failures;
    if (found === undefined) break;
    if (!(await isWrongAnyway(order, found.seed))) return { stories, found };
    from = found.seed + 1;
  }
  return { stories };
}

async function isWrongAnyway(order: Order, seed: number): Promise<boolean> {
  const { failures } = await tellAll(
    { ...order, from: seed, seeds: 1, mutant: "", needs: [], workers: 1 },
    () => undefined,
  );
  if (failures.length > 0) console.log(`story ${seed} goes wrong without a mutant, too`);
  return failures.length > 0;
}

async function tellAll(order: Order, told: (totals: Totals, last: Told) => void): Promise<Totals> {
  const totals: Totals = { told: 0, simulatedMs: 0, writes: 0, steps: 0, failures: [] };
  let next = 0;
  let seed = order.from;
  const drawn = (): number => {
    next += 1;
    while (!has(storyOf(seed), order.needs)) seed += 1;
    return seed++;
  };
  const isOver = (): boolean =>
    next >= order.seeds || Date.now() >= order.untilMs || (order.untilFailure && totals.failures.length > 0);
  const turn = async (): Promise<void> => {
    const worker = fork(join(import.meta.dirname, "worker.ts"), [order.mutant], {
      // What was compiled once is not compiled for each mutant again.
      env: { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") },
    });
    try {
      await heard(worker);
      for (let left = storiesOfWorker; left > 0 && !isOver(); left--) {
        worker.send({ seed: drawn() });
        const result = await heard(worker);
        if (result === undefined) continue;
        totals.told += 1;
        totals.simulatedMs += result.simulatedMs;
        totals.writes += result.writes;
        totals.steps += result.steps;
        if (result.failure !== undefined) totals.failures.push(result);
        told(totals, result);
      }
    } finally {
      worker.disconnect();
    }
  };
  const lane = async (): Promise<void> => {
    while (!isOver()) await turn();
  };
  await Promise.all(Array.from({ length: order.workers }, lane));
  return totals;
}

function has({ steps }: Story, texts: readonly string[]): boolean {
  const told = JSON.stringify(steps);
  return texts.every((text) => told.includes(text));
}

/** The next message of a worker; undefined when it says that it is ready. */
function heard(worker: ChildProcess): Promise<Told | undefined> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void =>
      reject(new Error(`a process of the simulation ended with code ${code}`));
    worker.once("exit", ended);
    worker.once("message", (message) => {
      worker.off("exit", ended);
      resolve(isTold(message) ? message : undefined);
    });
  });
}

function isTold(message: unknown): message is Told {
  return typeof message === "object" && message !== null && "seed" in message;
}
