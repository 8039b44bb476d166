/** Whole requests against a model of a pod's containers, in random histories. */
import fc from "fast-check";
import t from "tap";
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import type { RuntimeContainer } from "../container.ts";
import { planRestart, restartStatus } from "./plan.ts";

interface Instance {
  id: number;
  running: boolean;
  ready: boolean;
  startedAt: number;
}

interface History {
  readonly names: readonly string[];
  readonly strategy: NonNullable<ContainerRecreateRequest["spec"]["strategy"]>;
  /** Per step: which container does something by itself, and what. */
  readonly happenings: readonly {
    readonly at: number;
    readonly what: "start" | "ready" | "crash" | "nothing";
  }[];
  /** The agent forgets what it has stopped: it was killed at this step. */
  readonly crashAt: number;
}

const start = Date.UTC(2026, 0, 1);

class Model {
  readonly containers = new Map<string, Instance>();
  readonly kills: string[] = [];
  /** By name: how often it restarted before its kill. */
  readonly restartedBefore = new Set<string>();
  request: ContainerRecreateRequest;
  now = start;
  readonly #stoppedHere = new Map<string, string>();

  constructor({ names, strategy }: History) {
    for (const name of names)
      this.containers.set(name, { id: 0, running: true, ready: true, startedAt: start });
    this.request = {
      metadata: { name: "one", namespace: "default", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
      spec: {
        podName: "web",
        containers: names.map((name) => ({
          name,
          statusContext: { containerID: `containerd://${name}-0`, restartCount: 0 },
        })),
        strategy,
      },
    };
  }

  happens(name: string, what: History["happenings"][number]["what"]): void {
    const one = this.containers.get(name);
    if (one === undefined) return;
    if (what === "start" && !one.running) {
      Object.assign(one, { id: one.id + 1, running: true, ready: false, startedAt: this.now });
    }
    if (what === "ready" && one.running) one.ready = true;
    if (what === "crash" && one.running) {
      Object.assign(one, { running: false, ready: false });
      if (!this.kills.includes(name)) this.restartedBefore.add(name);
    }
  }

  /** One look of the agent; what it has in memory may have been lost. */
  look(forgets: boolean): void {
    const plan = planRestart(
      {
        request: this.request,
        containers: new Map([...this.containers].map(([name, one]) => [name, seen(name, one)])),
        podStatuses: [...this.containers].map(([name, { id, ready }]) => ({
          name,
          containerID: `containerd://${name}-${id}`,
          ready,
          restartCount: id,
        })),
        restartPolicy: "Always",
        runtimeName: "containerd",
        stoppedHere: forgets ? new Map() : this.#stoppedHere,
      },
      this.now,
    );
    let { states } = plan;
    if (plan.kill !== undefined && plan.completed === undefined) {
      const { kill } = plan;
      this.kills.push(kill);
      const one = this.containers.get(kill);
      if (one !== undefined) {
        this.#stoppedHere.set(kill, `${kill}-${one.id}`);
        Object.assign(one, { running: false, ready: false });
      }
      states = states.map((state) =>
        state.name === kill ? { name: kill, phase: "Recreating" as const, isKilled: true } : state,
      );
    }
    const status = restartStatus({ ...plan, states }, this.now);
    this.request = { ...this.request, status: { phase: "Recreating", ...this.request.status, ...status } };
  }

  get phases(): (string | undefined)[] {
    return (this.request.status?.containerRecreateStates ?? []).map(({ phase }) => phase);
  }
}

function seen(name: string, one: Instance): RuntimeContainer {
  return {
    name,
    id: `${name}-${one.id}`,
    restartCount: one.id,
    hash: "",
    state: one.running ? "running" : "exited",
    startedAt: one.startedAt,
    exitCode: 0,
  };
}

const histories: fc.Arbitrary<History> = fc.record({
  names: fc.constantFrom(["a"], ["a", "b"], ["a", "b", "c"]),
  strategy: fc.record({
    orderedRecreate: fc.boolean(),
    forceRecreate: fc.boolean(),
    failurePolicy: fc.constantFrom("Fail" as const, "Ignore" as const),
    minStartedSeconds: fc.constantFrom(0, 3),
  }),
  happenings: fc.array(
    fc.record({
      at: fc.nat(2),
      what: fc.constantFrom("start" as const, "ready" as const, "crash" as const, "nothing" as const),
    }),
    { maxLength: 25 },
  ),
  crashAt: fc.nat(30),
});

/** Undefined when the history keeps the rules, else what broke. */
function violationIn(history: History): string | undefined {
  const model = new Model(history);
  const { names, strategy } = history;
  for (let step = 0; step < 120; step++) {
    const happening = history.happenings[step];
    // After the random part every container starts and becomes ready in its time.
    if (happening !== undefined) model.happens(names[happening.at] ?? "", happening.what);
    else for (const name of names) model.happens(name, step % 2 === 0 ? "start" : "ready");
    model.now += 1_000;
    const [killsBefore, phasesBefore] = [model.kills.length, model.phases];
    model.look(step >= history.crashAt && model.kills.length > 0 && step % 5 === 0);
    const killed = model.kills[killsBefore];
    if (killed !== undefined) {
      if (model.kills.indexOf(killed) !== killsBefore) return `${killed} was stopped twice`;
      const earlier = names.slice(0, names.indexOf(killed));
      const done = earlier.every((_, index) => model.phases[index] === "Succeeded");
      if (strategy.orderedRecreate === true && !done)
        return `${killed} was stopped before those ahead of it are back`;
      if (strategy.forceRecreate !== true && model.restartedBefore.has(killed)) {
        return `${killed} had restarted by itself`;
      }
    }
    for (const [index, phase] of phasesBefore.entries()) {
      if (phase === "Succeeded" && model.phases[index] !== "Succeeded") return "a success was taken back";
    }
    if (model.request.status?.phase === "Completed") return undefined;
  }
  return `never completed: ${JSON.stringify(model.request.status)}`;
}

t.test("any request ends, in its order, and stops nothing twice", async (t) => {
  fc.assert(
    fc.property(histories, (history) => {
      const broken = violationIn(history);
      if (broken !== undefined) throw new Error(broken);
    }),
    { seed: 47, numRuns: 2000 },
  );
  t.pass("held in all runs");
});
