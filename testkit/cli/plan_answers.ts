/** Plans that are made up. */
import type { PlanAnswer } from "../../cli/ui/shared/plans.ts";

/** Of the pods web-0 to web-7 and two new ones: every form of what can become of a pod. */
export function planAnswer(over: Partial<PlanAnswer> = {}): PlanAnswer {
  const namespace = "default";
  return {
    summary: "8 of 9 pods, 1 at revision web-new, 7 available",
    revision: "new",
    pods: [
      {
        way: "in place",
        namespace,
        name: "web-1",
        text: "update pod web-1 in place: web web:1 -> web:2 (2 requests)",
        requests: 2,
      },
      { way: "deleted", namespace, name: "web-2", text: "delete pod web-2", requests: 1 },
      { way: "new", namespace, name: "web-8", text: "create pod web-8", requests: 1 },
      { way: "new", namespace, name: "web-9", text: "create pod web-9", requests: 1 },
      { way: "marked", namespace, name: "web-3", text: "mark pod web-3 (1 request)", requests: 1 },
    ],
    steps: ["create revision web-new"],
    requests: 7,
    reasons: [
      {
        code: "Partition",
        outlook: "held",
        text: "2 pods stay at an old revision by partition 2",
        end: "ends when partition is lowered",
        pods: ["web-4", "web-5"],
        command: "refit rollout promote cloneset.apps.kruise.io/web -n default",
      },
      {
        code: "InPlace",
        outlook: "moving",
        text: "web-6 is being updated in place",
        end: "ends when its container runs",
        pods: ["web-6"],
        command: "",
      },
    ],
    about: [
      ["Partition", ["default/web-4", "default/web-5"]],
      ["InPlace", ["default/web-6"]],
    ],
    notices: ["something is to be known"],
    againSeconds: 5,
    ...over,
  };
}
