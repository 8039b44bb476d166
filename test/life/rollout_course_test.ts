import t from "tap";
import type { Moment } from "../cases/trail.ts";
import type { Item } from "../cluster/api.ts";
import { courseOfRollout, otherwiseChanged } from "./rollout_course.ts";

function pod(name: string, image: string, restartCount = 0, uid = `uid-${name}`): Item {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, uid, resourceVersion: "1", generation: 1, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { containers: [{ name: "main", image }] },
    status: { containerStatuses: [{ name: "main", image, imageID: "", ready: true, restartCount }] },
  };
}

t.test("the longest pause is between pods that get the image, not between other changes", async (t) => {
  const moment = (at: number, object: Item, type = "MODIFIED"): Moment => ({ at, type, object });
  const moments = [
    moment(1_000, pod("a", "app:1"), "PRESENT"),
    moment(1_500, pod("a", "app:2")),
    moment(2_000, pod("a", "app:2", 1)),
    moment(2_500, pod("b", "app:1")),
    moment(9_500, pod("b", "app:2")),
    moment(60_000, pod("b", "app:2"), "DELETED"),
  ];
  t.same(courseOfRollout(moments, "app:2", 1_000), { updated: 2, longestPauseMs: 8_000 });
  t.same(courseOfRollout(moments, "app:3", 1_000), { updated: 0, longestPauseMs: 0 });
});

t.test("pods that were restarted twice, recreated, lost or added are named", async (t) => {
  const before = ["a", "b", "c", "d"].map((name) => pod(name, "app:1", 3));
  const after = [
    pod("a", "app:2", 4),
    pod("b", "app:2", 5),
    pod("c", "app:2", 4, "another"),
    pod("e", "app:2", 0),
  ];
  t.same(otherwiseChanged(before, after, 1), ["b", "c", "d", "e"]);
  t.same(otherwiseChanged(before, before, 0), []);
});
