import t from "tap";
import { imagePullJob, kindReader } from "../../../crds/index.ts";
import { validateSelector } from "../../../kube/core/index.ts";
import { pullJob } from "./pre_download.ts";

t.test("the job of a workload with a long name selects pods that are not at the revision", async (t) => {
  const selectorOf = (name: string) => {
    const action = pullJob(
      {
        owner: { kind: "DaemonSet", name, namespace: "ns", uid: "uid" },
        template: { spec: { containers: [{ name: "main", image: "app:2" }] } },
        selector: { matchLabels: { app: "a" } },
        update: { name: `${name}-6f9c5b7d44`, number: 2, data: "", stored: undefined },
        hashLabel: "controller-revision-hash",
        parallelism: 1,
        timeoutSeconds: 300,
      },
      "main",
      "app:2",
    );
    const [effect] = action.effects;
    const read = effect?.type === "create" ? kindReader(imagePullJob).read(effect.body) : undefined;
    return read !== undefined && "object" in read ? read.object.spec?.podSelector : undefined;
  };
  const named = (values: string[]) => ({
    matchLabels: { app: "a" },
    matchExpressions: [{ key: "controller-revision-hash", operator: "NotIn", values }],
  });
  t.strictSame(selectorOf("short"), named(["short-6f9c5b7d44", "6f9c5b7d44"]));
  const long = selectorOf("n".repeat(60));
  t.strictSame(long, named(["6f9c5b7d44"]));
  t.strictSame(validateSelector(long, "spec.podSelector"), []);
});
