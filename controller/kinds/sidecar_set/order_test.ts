import { test } from "tap";
import { barePod } from "../../../testkit/controller/pod_builder.ts";
import { SidecarModel, sidecarSetOf } from "../../../testkit/controller/sidecar_set_model.ts";
import { updateOrder } from "./order.ts";
import { memberOf, rolloutOf, type SidecarSetMember } from "./rollout.ts";

/** Candidates `pod-0`, `pod-1`, … with these labels, which differ in nothing else. */
function membersWith(labels: readonly Record<string, string>[]): SidecarSetMember[] {
  const set = sidecarSetOf();
  const model = new SidecarModel(set);
  return labels.flatMap((each) => {
    const pod = model.inject({ labels: each, createdAt: 0 });
    return memberOf(pod, false, rolloutOf(set)) ?? [];
  });
}

const indexes = (members: Iterable<SidecarSetMember>) =>
  [...members].map(({ pod }) => Number(pod.name.slice(4)));

test("three of ten matching pods are the first, the sixth and the tenth", async (t) => {
  const members = membersWith(Array.from({ length: 10 }, (_, index) => ({ zone: index < 3 ? "a" : "b" })));
  const all = members.map(({ pod }) => pod);
  const scatter = [{ key: "zone", value: "a" }];
  const places = [...updateOrder(members, () => all, { priority: undefined, scatter })].flatMap(
    ({ pod }, place) => (pod.labels["zone"] === "a" ? [place + 1] : []),
  );
  t.same(places, [1, 6, 10]);
});

test("a term for every value is one for each value that a pod has", async (t) => {
  const members = membersWith(["a", "a", "a", "b", "b", "b"].map((zone) => ({ zone })));
  const all = [...members.map(({ pod }) => pod), barePod("other", { labels: { size: "1" } })];
  const order = (scatter: { key: string; value: string }[]) =>
    indexes(updateOrder(members, () => all, { priority: undefined, scatter }));
  t.same(
    order([{ key: "zone", value: "*" }]),
    order([
      { key: "zone", value: "a" },
      { key: "zone", value: "b" },
    ]),
  );
  t.same(order([{ key: "none", value: "*" }]), [0, 1, 2, 3, 4, 5]);
});

test("weights come before activity", async (t) => {
  const members = membersWith([{ tier: "low" }, { tier: "high" }, {}]);
  const term = (tier: string, weight: number) => ({ weight, matchSelector: { matchLabels: { tier } } });
  const priority = { weightPriority: [term("high", 20), term("low", 10)] };
  t.same(indexes(updateOrder(members, () => [], { priority, scatter: undefined })), [1, 0, 2]);
});
