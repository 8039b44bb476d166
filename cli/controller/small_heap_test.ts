import t from "tap";
import { heapFlags, type Restartable, restartWithSmallHeap } from "./small_heap.ts";

function restarted(change: Partial<Restartable>): { args: readonly string[]; env: Record<string, string> }[] {
  const calls: { args: readonly string[]; env: Record<string, string> }[] = [];
  restartWithSmallHeap({
    argv: ["/node", "/refit", "controller", "--v=2"],
    execArgv: ["--no-warnings"],
    execPath: "/node",
    env: { HOME: "/root", EMPTY: undefined },
    execve(_file, args, env) {
      calls.push({ args, env });
    },
    ...change,
  });
  return calls;
}

t.test("the controller begins anew with its arguments and its environment", async (t) => {
  t.same(restarted({}), [
    {
      args: ["/node", ...heapFlags, "--no-warnings", "/refit", "controller", "--v=2"],
      env: { HOME: "/root", MALLOC_ARENA_MAX: "1" },
    },
  ]);
});

t.test("once, and never against its user's choice", async (t) => {
  t.same(restarted({ execArgv: heapFlags }), []);
  t.same(restarted({ env: { NODE_OPTIONS: "--max-semi-space-size=64" } }), []);
  t.same(restarted({ execArgv: ["--inspect"] }), []);
  t.same(restarted({ argv: ["/node", "/refit", "rollout", "status"] }), []);
  t.same(restarted({ execve: undefined }), []);
  t.equal(restarted({ env: { MALLOC_ARENA_MAX: "4" } })[0]?.env["MALLOC_ARENA_MAX"], "4");
});
