import t from "tap";
import { agentTable, ratiosOf } from "./command.ts";
import { labSettings } from "./node_options.ts";
import type { Turn } from "./real_node.ts";

const turn = (by: Turn["by"], round: number, readyMs: number, what: Turn["what"] = "restart"): Turn => ({
  what,
  by,
  round,
  readyMs,
  gapMs: readyMs / 2,
});
const pull = (jobMs: number) => ({ round: 1, nodes: 3, jobMs, runtimeMs: 100 });

t.test("the first restart of a pod is compared apart from the repeated ones", (t) => {
  const turns = [
    turn("kubelet", 1, 1000),
    turn("agent", 1, 500),
    turn("kubelet", 2, 10_000),
    turn("kubelet", 3, 20_000),
    turn("agent", 2, 300),
    turn("agent", 3, 600),
    turn("kubelet", 3, 8_000, "back"),
    turn("agent", 3, 80, "back"),
  ];
  const ratios = ratiosOf(turns, [pull(100), pull(400), pull(300)]);
  t.equal(ratios["restart, first"], 0.5);
  t.equal(ratios["restart, repeated"], 0.03);
  t.equal(ratios["back to the image before, gap"], 0.01);
  t.equal(ratios["pull job / runtimes alone"], 3);
  t.end();
});

t.test("nodes are named with their sockets", (t) => {
  const images = "a:1,a:2";
  t.same(labSettings({ kubeconfig: "k", nodes: "n1=/s1,n2=/s2", images }), {
    kubeconfig: "k",
    nodes: [
      { node: "n1", socket: "/s1" },
      { node: "n2", socket: "/s2" },
    ],
    images: ["a:1", "a:2"],
  });
  t.equal(labSettings({ images }), undefined);
  t.throws(() => labSettings({ kubeconfig: "k", images }), /--nodes NODE=SOCKET/);
  t.throws(() => labSettings({ kubeconfig: "k", nodes: "n1", images }), /`n1` must be NODE=SOCKET/);
  t.throws(() => labSettings({ kubeconfig: "k", nodes: "n=s", images: "a" }), /two images/);
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
    calls: { calls: 10, ms: 0.25 },
    node: {
      runtime: "containerd://1",
      load: [1.25, 2, 3],
      turns: [{ ...turn("agent", 1, 500), completedMs: 21 }],
      pulls: [pull(900)],
      ratios: { "restart, first": 0.5 },
    },
  }).join("\n");
  t.match(text, /node +321 ms +62\.6 MB +42\.8 +1\.46 +0 in 20 s/);
  t.match(text, /one call to the runtime: 0\.250 ms/);
  t.match(
    text,
    /restart +agent +1 +ready after +500 ms, Completed 21 ms after it, not all running for +250 ms/,
  );
  t.match(text, /pull to 3 nodes: job +900 ms, runtimes alone +100 ms/);
  t.match(text, /restart, first +ratio 0\.500/);
  t.match(text, /load average at the end: 1\.3 2\.0 3\.0 \(containerd:\/\/1\)/);
  t.end();
});
