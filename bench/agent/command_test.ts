import t from "tap";
import { agentTable, ratiosOf } from "./command.ts";
import type { Turn } from "./real_node.ts";

const turn = (by: Turn["by"], round: number, readyMs: number): Turn => ({
  what: "restart",
  by,
  round,
  readyMs,
  gapMs: readyMs / 2,
});

t.test("the first of a pod is compared apart from the repeated ones", (t) => {
  const turns = [
    turn("kubelet", 1, 1000),
    turn("agent", 1, 500),
    turn("kubelet", 2, 10_000),
    turn("kubelet", 3, 20_000),
    turn("agent", 2, 300),
    turn("agent", 3, 600),
  ];
  const ratios = ratiosOf(turns);
  t.equal(ratios["restart first readyMs"], 0.5);
  t.equal(ratios["restart repeated readyMs"], 0.03);
  t.equal(ratios["restart repeated gapMs"], 0.03);
  t.end();
});

t.test("the table names each figure with its unit", (t) => {
  const text = agentTable({
    processes: [
      {
        runtime: "node",
        readyMs: 321.4,
        residentMb: 62.61,
        bareMb: 42.8,
        ratio: 1.463,
        cpuSeconds: 0.2,
        requests: 0,
        idleSeconds: 20,
      },
    ],
    calls: { calls: 10, ownMs: 0.25, libraryMs: 0.5, ratio: 0.5 },
    node: {
      runtime: "containerd://1",
      turns: [turn("agent", 1, 500)],
      ratios: { "restart first readyMs": 0.5 },
    },
  }).join("\n");
  t.match(text, /node +321 ms +62\.6 MB +42\.8 +1\.46 +0 in 20 s/);
  t.match(text, /0\.250 ms, by the gRPC library 0\.500 ms, ratio 0\.50/);
  t.match(text, /restart +agent +1 +ready after +500 ms, none running for +250 ms/);
  t.match(text, /restart first readyMs +agent \/ kubelet 0\.50/);
  t.end();
});
