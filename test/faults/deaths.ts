/** For every write that a controller makes in a scenario: it dies right after it, and the next one finishes the work. */
import type { Test } from "tap";
import { grantForGates } from "../../testkit/kube/account_fixture.ts";
import { startTestSandbox } from "../cases/sandbox_target.ts";
import { type Adversity, Lab, type LabOptions } from "./lab.ts";
import type { Scenario } from "./scenarios.ts";

const adversities: readonly Adversity[] = [
  { name: "nothing else is wrong" },
  {
    name: "the next one sees watches late",
    next: { verb: "watch", resource: "pods", effect: { type: "latency", ms: 100, jitterMs: 100 } },
  },
  {
    name: "the dying one never saw its pods again",
    dying: { verb: "watch", resource: "pods", effect: { type: "withhold" } },
  },
];

interface Job {
  readonly scenario: Scenario;
  readonly write: number;
  readonly writes: number;
}

interface Outcome {
  readonly what: string;
  /** Empty when the specified state was reached within the budget. */
  readonly failure: string;
}

/** For a whole file, on a machine however busy: what stalls is noticed by the limits of each step. */
export const longestMs = 850_000;

/** `kinds` are those of the scenarios: the controllers care for no others. `lanes`: how many scenarios run side by side. */
export async function tryDeaths(
  t: Test,
  kinds: readonly string[],
  scenarios: readonly Scenario[],
  { lanes = 8, ...controllers }: { lanes?: number } & LabOptions = {},
): Promise<void> {
  const sandbox = await startTestSandbox({ serves: kinds });
  t.teardown(() => sandbox.stop());
  await grantForGates(sandbox.kubeconfig, controllers.gates ?? "");
  const lab = new Lab(sandbox, controllers);
  const jobs: Job[] = [];
  await inLanes(lanes, scenarios, async (scenario) => {
    const { writes } = await lab.run(scenario, Number.POSITIVE_INFINITY, { name: "none" });
    for (let write = 1; write <= writes; write++) jobs.push({ scenario, write, writes });
  });
  for (const { name } of scenarios) {
    t.ok(
      jobs.some(({ scenario }) => scenario.name === name),
      `${name}: the controller writes`,
    );
  }
  const outcomes: Outcome[] = [];
  await inLanes(lanes, jobs, async (job) => void outcomes.push(await tryJob(lab, job)));
  for (const { what, failure } of outcomes) t.equal(failure, "", what);
}

async function tryJob(lab: Lab, { scenario, write, writes }: Job): Promise<Outcome> {
  const adversity = adversities[write % adversities.length] ?? { name: "" };
  const what = `${scenario.name}: death after write ${write} of ${writes}; ${adversity.name}`;
  try {
    await lab.run(scenario, write, adversity);
    return { what, failure: "" };
  } catch (error) {
    return { what, failure: error instanceof Error ? error.message : String(error) };
  }
}

async function inLanes<T>(
  lanes: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const lane = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
