/** The built agent on one of its runtimes, as its suites start it. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import t from "tap";
import type { AgentRuntime } from "../../agent/index.ts";
import { seededRandom, systemClock } from "../../kube/index.ts";
import { startFakeCri } from "../../testkit/cri/fake_cri.ts";
import { startNode } from "../agent/fixture.ts";
import { bundleProgram } from "../agent/mounted.ts";
import { plainGarbage } from "./plain.ts";
import { recordGarbage } from "./records.ts";
import { bears } from "./thrower.ts";

export function agentBearsGarbage(runtime: AgentRuntime, seed: number): void {
  t.test(`the agent on ${runtime} bears garbage, seed ${seed}`, async (t) => {
    const random = seededRandom(seed);
    const node = await startNode(t, {
      program: (place) => bundleProgram(runtime, dirname(place.stateFolder), place),
    });
    const fake = await startFakeCri({ socket: node.socket, clock: systemClock });
    t.teardown(() => fake.stop());
    const { agent } = node;
    await agent.start(`--socket-file=${node.socket}`);
    const port = { number: agent.port, behind: "nothing" } as const;
    await bears(
      t,
      {
        pid: agent.pid,
        exitCode: () => agent.exitCode(),
        log: () => agent.log,
        async ask() {
          assert.equal((await agent.get("/healthz")).status, 200);
          assert.equal((await agent.get("/metrics")).status, 200);
        },
      },
      [{ port, garbage: [...plainGarbage(random), ...recordGarbage(random)] }],
    );
  });
}
