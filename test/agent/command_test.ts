/** `refit agent`: the agent as a command of the other program. */
import t from "tap";
import { builtProgram } from "../built.ts";
import { eventually, startFake, startNode } from "./fixture.ts";

const command = [process.execPath, builtProgram("refit"), "agent"];

t.test("finds its runtime, gets ready, and ends with 0 at SIGTERM", async (t) => {
  const under = await startNode(t, { program: () => command });
  await startFake(t, under);
  await under.agent.start(`--socket-file=${under.socket}`, "--v", "5");
  await under.agent.ready();
  process.kill(under.agent.pid, "SIGTERM");
  await eventually("the process has ended", async () => under.agent.exitCode() !== undefined);
  t.equal(under.agent.exitCode(), 0, under.agent.log);
  t.match(under.agent.log, /"the agent stops"/);
});

t.test("refuses what the agent refuses, on one line", async (t) => {
  const under = await startNode(t, { program: () => command });
  under.agent.launch(["--frob"], { NODE_NAME: "node-1" });
  await eventually("the process has ended", async () => under.agent.exitCode() !== undefined);
  t.equal(under.agent.exitCode(), 1);
  t.match(under.agent.log, /^error: unknown flag --frob; there are --addr/m);
});
